import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FirmwareVersion } from '#model/identifier'
import { byPrecedence, hasReachedVersion, isNewer } from '#model/release'
import { forAll } from '#test/kit/for-all'

/** Semantic Versioning §11 with its examples: each version follows the one before. */
const ordered = [
  ...['0.0.0-0', '0.0.0', '0.0.1-rc.1', '0.9.10', '0.10.0', '1.0.0-1', '1.0.0-2', '1.0.0-10', '1.0.0-10.0'],
  ...['1.0.0-9007199254740990', '1.0.0--', '1.0.0-10a', '1.0.0-A', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta'],
  ...['1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.0.1', '2.0.0', '2.1.0', '2.1.1'],
  ...['10.0.0', '9007199254740991.0.0'],
]

/** Numbers above the integers of a double. */
const unordered = [
  ...['1.0.9007199254740992', '20261121123456789.0.0', '1.0.0-9007199254740993', '1.0.0-rc.99999999999999999999+1'],
]

test('versions are compared in the order of the list', () => {
  for (const [place, version] of ordered.entries()) {
    expect(FirmwareVersion.parse(version)).toBe(version)
    for (const [other, than] of ordered.entries()) {
      expect(isNewer(version, than), `${version} > ${than}`).toBe(place > other)
      expect(Math.sign(byPrecedence(version, than)), `${version} ~ ${than}`).toBe(Math.sign(place - other))
    }
  }
})

test('sorting keeps all versions, and puts those without an order first', () => {
  const all = [...[...unordered].sort(), ...ordered]
  const places = fc.shuffledSubarray([...all.keys()])
  forAll([places], (some) => {
    const sorted = some.map((place) => all[place] as string).sort(byPrecedence)
    expect(sorted).toEqual(some.toSorted((a, b) => a - b).map((place) => all[place]))
  })
})

test.each(unordered)('%s has no order: it is newer than no version, and no version is newer', (version) => {
  expect(FirmwareVersion.safeParse(version).success).toBe(true)
  for (const other of [...ordered, ...unordered]) {
    expect(isNewer(version, other)).toBe(false)
    expect(isNewer(other, version)).toBe(false)
  }
  expect(byPrecedence(version, version)).toBe(0)
})

test('build metadata does not make a version newer', () => {
  expect(isNewer('1.0.0+2', '1.0.0+1')).toBe(false)
  expect(isNewer('1.0.0+1', '1.0.0')).toBe(false)
  expect(isNewer('1.0.1+1', '1.0.0+9')).toBe(true)
  expect(byPrecedence('1.0.0+2', '1.0.0')).toBe(0)
})

test('the longest versions are compared', () => {
  const long = (last: string) => `1.0.0-${'a.'.repeat(60)}${last}`.padEnd(128, 'b')
  expect(FirmwareVersion.safeParse(long('2')).success).toBe(true)
  expect(long('2')).toHaveLength(128)
  expect(isNewer(long('c'), long('b'))).toBe(true)
  expect(isNewer(long('c'), '1.0.0')).toBe(false)
})

test.each([
  ['at the same version', '2.0.0', '2.0.0', '1.0.0', true],
  ['without the build metadata', '2.0.0', '2.0.0+7', '1.0.0', true],
  ['with other build metadata', '2.0.0+8', '2.0.0+7', '1.0.0', true],
  ['at another build of its old version', '1.0.0+2', '1.0.0+2', '1.0.0+1', true],
  ['at a version without an order', '1.0.0-9007199254740993', '1.0.0-9007199254740993', '1.0.0', true],
  ['at its old version, which was the target', '1.0.0', '1.0.0', '1.0.0', true],
  ['at its old version', '1.0.0', '2.0.0', '1.0.0', false],
  ['at its old version with another build', '1.0.0+1', '1.0.0+2', '1.0.0+1', false],
  ['at a third version', '1.5.0', '2.0.0', '1.0.0', false],
  ['at a newer version', '3.0.0', '2.0.0', '1.0.0', false],
  ['at a prerelease of the target', '2.0.0-rc.1', '2.0.0', '1.0.0', false],
  ['at another version without an order', '1.0.0-9007199254740993', '1.0.0-9007199254740992', '1.0.0', false],
])('a device %s (%s) has the firmware of its update to %s from %s: %s', (_, reported, target, from, hasIt) => {
  expect(hasReachedVersion(reported, target, from)).toBe(hasIt)
})
