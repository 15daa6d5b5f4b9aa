import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { accountActor } from '#actors/account/account'
import { actionActor, actionPageActor } from '#actors/action/action'
import { deviceTokenActor } from '#actors/device-token/device-token'
import { directoryActor } from '#actors/directory/directory'
import { idempotencyActor } from '#actors/idempotency/idempotency'
import { mqttSessionActor } from '#actors/mqtt-session/mqtt-session'
import { noticeBus } from '#actors/notice-bus'
import { sessionActor } from '#actors/session/session'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { tenantActor } from '#actors/tenant/tenant'
import { updateScheduleActor } from '#actors/update-schedule/schedule'
import { unpack } from '#store/record-codec'
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

test('every sample is tested', () => {
  const names = readdirSync(folder).map((file) => file.replace('.hex', ''))
  expect(names.sort()).toEqual(storedSamples.map(({ name }) => name).sort())
})

test('every kind of entry has a sample', () => {
  const names = storedSamples.map(({ name }) => name)
  for (const kind of entryKinds) expect(names).toContain(`entry-${kind.replaceAll('_', '-')}`)
})

test('every record of an actor has a sample', () => {
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
  ]
  for (const { kind, formats } of definitions) {
    for (const [record, format] of Object.entries(formats)) {
      const prefix = record === '' ? `actor/${kind}/` : `part/${kind}/`
      const rest = record.endsWith('/*') ? `/${record.slice(0, -1)}` : `/${record}`
      const isOf = (key: string) =>
        key.startsWith(prefix) && (record.endsWith('/*') ? key.includes(rest) : record === '' || key.endsWith(rest))
      const samples = storedSamples.filter(({ key }) => isOf(key))
      const versions = new Set(samples.map(({ name }) => (unpack(stored(name).value) as [number])[0]))
      // Each readable version has a sample.
      expect(
        [...versions].sort((a, b) => a - b),
        `${kind} ${record}`,
      ).toEqual([...Object.keys(format.upgrades).map(Number), format.version])
    }
  }
})
