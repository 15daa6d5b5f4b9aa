import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { accountActor } from '#actors/account/account'
import { actionActor, actionPageActor } from '#actors/action/action'
import { deviceTokenActor } from '#actors/device-token/device-token'
import { directoryActor } from '#actors/directory/directory'
import { idempotencyActor, idempotencyAddress } from '#actors/idempotency/idempotency'
import { mqttSessionActor } from '#actors/mqtt-session/mqtt-session'
import { noticeBus } from '#actors/notice-bus'
import { sessionActor } from '#actors/session/session'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { tenantActor } from '#actors/tenant/tenant'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import { formatOf } from '#runtime/registry'
import { addressOf, keys, partNameOf } from '#store/key-space'
import { packRecord, unpack, unpackRecord } from '#store/record-codec'
import { RecordingTopics } from '#test/actors/acting-subscriber'
import { noopUpdates } from '#test/actors/update/acting-update'
import { entryKinds } from '#test/store/entry-arbitrary'
import { deviceDefinition, storedSamples } from '#test/store/stored-samples'

/**
 * Samples as the release that introduced them wrote them: the key, and the value in hexadecimal. They never change. A
 * format that changes must still read its old sample, and gets an additional one.
 */
const folder = new URL('samples/', import.meta.url)

function stored(name: string): { key: string; value: Buffer } {
  const [key = '', ...hex] = readFileSync(new URL(`${name}.hex`, folder), 'utf8').split('\n')
  return { key, value: Buffer.from(hex.join(''), 'hex') }
}

describe.each(storedSamples.map((sample) => [sample.name, sample] as const))('%s', (name, sample) => {
  test('is read under its key, and rewritten with the same content', () => {
    expect(sample.key).toBe(stored(name).key)
    expect(sample.read(stored(name).value)).toEqual(sample.means)
    expect(sample.read(sample.write())).toEqual(sample.means)
  })
})

const notices = noticeBus()
const definitions = [
  deviceDefinition,
  tenantActor(notices),
  directoryActor(notices),
  accountActor,
  sessionActor(notices),
  signingKeysActor(notices),
  idempotencyActor,
  actionActor,
  actionPageActor,
  noopUpdates,
  updateScheduleActor,
  mqttSessionActor,
  deviceTokenActor,
  subscriberActor(new RecordingTopics()),
] as unknown as AnyDefinition<Entry>[]

const names = readdirSync(folder).map((file) => file.replace('.hex', ''))
/** All other samples are records of the present version, so each has the content that any reader of msgpack finds in it. */
const plain = names.filter((name) => !storedSamples.some((sample) => sample.name === name))

test.each(plain)('%s is read under its key, and rewritten with the same content', (name) => {
  const { key, value } = stored(name)
  const [address, record] = [addressOf(key), partNameOf(key)]
  expect(keys.part(address, record)).toBe(key)
  const format = formatOf(definitions.find(({ kind }) => kind === address.kind) as AnyDefinition<Entry>, record)
  const [, content] = unpack(value) as [number, unknown]
  expect(unpackRecord(format, value)).toEqual(content)
  expect(unpackRecord(format, packRecord(format, content))).toEqual(content)
})

test('an idempotency key is found under the hash of its user and its text', () => {
  const address = idempotencyAddress('acme', 'crn#user:2Vb7qYx9Kd', '8e03978e-40d5-43e8-bc93-6894a57f9324')
  expect(stored('idempotency-open').key).toBe(keys.part(address, 'answer'))
})

test('every kind of entry has a sample', () => {
  for (const kind of entryKinds) expect(names).toContain(`entry-${kind.replaceAll('_', '-')}`)
})

test('every record of an actor has a sample', () => {
  for (const { kind, formats } of definitions) {
    for (const [record, format] of Object.entries(formats)) {
      const prefix = record === '' ? `actor/${kind}/` : `part/${kind}/`
      const rest = record.endsWith('/*') ? `/${record.slice(0, -1)}` : `/${record}`
      const isOf = (key: string) =>
        key.startsWith(prefix) && (record.endsWith('/*') ? key.includes(rest) : record === '' || key.endsWith(rest))
      const samples = names.map(stored).filter(({ key }) => isOf(key))
      const versions = new Set(samples.map(({ value }) => (unpack(value) as [number])[0]))
      // Each readable version has a sample.
      expect(
        [...versions].sort((a, b) => a - b),
        `${kind} ${record}`,
      ).toEqual([...Object.keys(format.upgrades).map(Number), format.version])
    }
  }
})
