import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { deviceActor } from '#actors/device/device'
import { tenantActor } from '#actors/tenant/tenant'
import { entryKinds } from '#test/store/entry-arbitrary'
import { storedSamples } from '#test/store/stored-samples'

/**
 * Bytes as the first release wrote them: the key, and the value in hexadecimal. They are never written anew. A format
 * that changes keeps reading its old sample, and gets a new one beside it.
 */
const folder = new URL('samples/', import.meta.url)

function stored(name: string): { key: string; value: Buffer } {
  const [key = '', ...hex] = readFileSync(new URL(`${name}.hex`, folder), 'utf8').split('\n')
  return { key, value: Buffer.from(hex.join(''), 'hex') }
}

describe.each(storedSamples.map((sample) => [sample.name, sample] as const))('%s', (name, sample) => {
  test('is read by the code of today', () => {
    expect(sample.read(stored(name).value)).toEqual(sample.means)
  })

  test('has the same key', () => {
    expect(sample.key).toBe(stored(name).key)
  })

  test('written again reads the same', () => {
    expect(sample.read(sample.write())).toEqual(sample.means)
  })
})

test('every sample is looked at', () => {
  const names = readdirSync(folder).map((file) => file.replace('.hex', ''))
  expect(names.sort()).toEqual(storedSamples.map(({ name }) => name).sort())
})

test('every kind of entry has a sample', () => {
  const names = storedSamples.map(({ name }) => name)
  for (const kind of entryKinds) expect(names).toContain(`entry-${kind.replaceAll('_', '-')}`)
})

test('every record of our actors has a sample', () => {
  const device = deviceActor({ shapeById: () => expect.fail('no shape is asked for'), startedAt: 0 })
  expect(Object.keys(device.formats)).toEqual(['', 'secret'])
  expect(Object.keys(tenantActor.formats)).toEqual(['counters', '*'])
  // A record raised to a new version needs a sample of that version.
  for (const { formats } of [device, tenantActor]) {
    for (const format of Object.values(formats)) expect(format.version).toBe(1)
  }
})
