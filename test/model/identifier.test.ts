import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import {
  DeviceIdentifier,
  deviceIdentifierOf,
  FirmwareVersion,
  FlakeAddress,
  formatPropertyIdHex,
  isPropertyId,
  isServerMadeId,
  isShortName,
  isTenantIdentifier,
  Offset,
  PropertyId,
  parsePropertyKey,
  randomId,
  ServerMadeId,
  ServiceIdentifier,
  ShortName,
  seededRandom,
  serviceIdentifierOf,
  TenantIdentifier,
  Timestamp,
  timestampMsMax,
  uint32Max,
} from '#model/identifier'
import { isFirmwareVersion } from '#model/name-forms'
import { forAll } from '#test/kit/for-all'

function parsed<T>(
  schema: { safeParse(value: unknown): { success: boolean; data?: T } },
  value: unknown,
): T | undefined {
  const result = schema.safeParse(value)
  return result.success ? result.data : undefined
}

describe('device identifier', () => {
  const good: [string, string][] = [
    ['a', 'A'],
    ['dev-1', 'DEV-1'],
    ['00=A', '00=A'],
    ['D_x1', 'D_X1'],
    ['! abc', '! ABC'],
    ['a b', 'A B'],
    ['{}abc', '{}ABC'],
    ['..a', '..A'],
    ['__a', '__A'],
    ['x'.repeat(64), 'X'.repeat(64)],
  ]
  test.each(good)('%j becomes %j', (text, normal) => {
    expect(parsed(DeviceIdentifier, text)).toBe(normal)
    expect(deviceIdentifierOf(text)).toBe(normal)
  })

  const bad = [
    ...['', '*', 'a*', ' ', ' xabc', 'ab c', 'ab ', 'abc.d', 'a:b', ':xabc', 'x:abc', 'x,abc', '/xabc', 'x/abc'],
    ...['%xabc', 'x?abc', '#xabc', '\\xabc', 'x\\abc', '..', '.', '__proto__', 'é1', 'xéabc', 'a\n', '\nxabc'],
    ...['x\nabc', '\u007fxa', 'x'.repeat(65)],
  ]
  test.each(bad)('%j is refused', (text) => {
    expect(parsed(DeviceIdentifier, text)).toBeUndefined()
    expect(deviceIdentifierOf(text)).toBeUndefined()
  })

  test('the schema and the function agree, and the normal form does not change again', () => {
    forAll([fc.oneof(fc.string({ maxLength: 8 }), fc.stringMatching(/^[ -~]{2}[a-z0-9=-]{0,66}$/))], (text) => {
      const normal = deviceIdentifierOf(text)
      expect(parsed(DeviceIdentifier, text)).toBe(normal)
      if (normal !== undefined) expect(deviceIdentifierOf(normal)).toBe(normal)
    })
  })
})

describe('service identifier', () => {
  const good: [string, string][] = [
    ['A', 'A'],
    ['Temp.Sensor_1:a-b', 'Temp.Sensor_1:a-b'],
    ['0F8FAD5B-D9CB-469F-A165-70867728950E', '0f8fad5b-d9cb-469f-a165-70867728950e'],
    ['0F8FAD5B-D9CB-469F-A165-70867728950', '0F8FAD5B-D9CB-469F-A165-70867728950'],
    ['...', '...'],
    ['constructor', 'constructor'],
    ['x'.repeat(64), 'x'.repeat(64)],
  ]
  test.each(good)('%j becomes %j', (text, normal) => {
    expect(parsed(ServiceIdentifier, text)).toBe(normal)
    expect(serviceIdentifierOf(text)).toBe(normal)
  })

  const bad = ['', '.', '..', '__proto__', 'a b', 'a/b', 'é', 'a\n', '*', 'x'.repeat(65)]
  test.each(bad)('%j is refused', (text) => {
    expect(parsed(ServiceIdentifier, text)).toBeUndefined()
    expect(serviceIdentifierOf(text)).toBeUndefined()
  })
})

const versions = ['0.0.0', '1.2.3-rc.1+build.5', '1.0.0-0A.is.legal', `1.2.3-${'a'.repeat(122)}`]
const noVersions = ['1', '1.2', '01.2.3', 'v1.2.3', '1.2.3-', '1.2.3-01', '1.2.3+', '', `1.2.3-${'a'.repeat(123)}`]
const notMade = ['z'.repeat(17), 'z'.repeat(8), 'IIIIIIIIII', 'OOOOOOOOOO', 'llllllllll', '*********']
const notTenants = ['x'.repeat(64), '', 'A', 'a_b', 'a.b', 'a\n']
const notShort = ['x'.repeat(65), '', '.', '..', '__proto__', 'a:b', 'a/b']

test.each<[string, z.ZodType, (text: string) => boolean, good: string[], bad: string[]]>([
  ['tenant', TenantIdentifier, isTenantIdentifier, ['default', 'a-1', 'x'.repeat(63)], notTenants],
  ['generated id', ServerMadeId, isServerMadeId, ['123456789', '0ABCDEFGHJ', 'z'.repeat(16)], notMade],
  ['short name', ShortName, isShortName, ['Rev._-B2', 'x'.repeat(64)], notShort],
  ['firmware', FirmwareVersion, isFirmwareVersion, versions, noVersions],
])('a %s has a valid text', (_, schema, isValid, good, bad) => {
  for (const text of [...good, ...bad]) {
    const isGood = good.includes(text)
    expect([text, isValid(text), schema.safeParse(text).success]).toEqual([text, isGood, isGood])
  }
})

describe('property id', () => {
  test.each([
    ['0', 0],
    ['8192', 8192],
    ['08192', 8192],
    ['4294967295', uint32Max],
    ['0x0', 0],
    ['0x2000', 8192],
    ['0X2000', 8192],
    ['0xFFFFFFFF', uint32Max],
    ['0x00002000', 8192],
  ])('%j is %j', (text, id) => {
    expect(parsePropertyKey(text)).toBe(id)
  })

  test.each([
    ...['', ' ', '-1', '+1', '1.0', '1e3', '4294967296', '99999999999', '0x', '0x100000000', '0xg', 'x2000', '2000 '],
    ...['0b1', '٣', '__proto__'],
  ])('%j is refused', (text) => {
    expect(parsePropertyKey(text)).toBeUndefined()
  })

  test.each([
    [0, '0x0000'],
    [8192, '0x2000'],
    [0xabcde, '0xabcde'],
    [uint32Max, '0xffffffff'],
  ])('%j is formatted as %j', (id, text) => {
    expect(formatPropertyIdHex(id)).toBe(text)
  })

  test('is the same in both notations', () => {
    forAll([fc.integer({ min: 0, max: uint32Max })], (id) => {
      expect(parsePropertyKey(formatPropertyIdHex(id))).toBe(id)
      expect(parsePropertyKey(String(id))).toBe(id)
    })
  })
})

describe('numbers', () => {
  const bad = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, true, [], 1n]
  test.each([
    ['property id', PropertyId, 0, uint32Max],
    ['flake address', FlakeAddress, 1, uint32Max],
    ['timestamp', Timestamp, 0, timestampMsMax],
    ['offset', Offset, 0, Number.MAX_SAFE_INTEGER],
  ])('a %s is an integer in its range', (_name, schema, min, max) => {
    expect(schema.safeParse(min).success).toBe(true)
    expect(schema.safeParse(max).success).toBe(true)
    for (const value of [min - 1, max + 1, ...bad]) expect(schema.safeParse(value).success).toBe(false)
  })

  test('the predicate of property ids agrees with the schema', () => {
    for (const value of [0, -0, 1, uint32Max, ...bad, uint32Max + 1]) {
      expect(isPropertyId(value)).toBe(PropertyId.safeParse(value).success)
    }
  })
})

const random = seededRandom(new Uint8Array(16))

test.each([1, 9, 10, 16, 22, 200])('%i characters are returned as requested', (characters) => {
  expect(randomId(random, characters)).toMatch(new RegExp(`^[1-9A-HJ-NP-Za-km-z]{${characters}}$`))
})

test('an id has ten characters by default and a valid format', () => {
  const id = randomId(random)
  expect([id.length, isServerMadeId(id)]).toEqual([10, true])
})

test('bytes that would favour some letters are dropped', () => {
  const given = [[255, 232, 0], [231, 254], [57]]
  const asked: number[] = []
  const id = randomId((byteCount) => {
    asked.push(byteCount)
    return new Uint8Array(given.shift() ?? [])
  }, 3)
  expect([id, asked]).toEqual(['1zz', [3, 2, 1]])
})

test('all letters are equally likely', () => {
  const letters = randomId(random, 58_000)
  const counts = new Map<string, number>()
  for (const letter of letters) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  expect(counts.size).toBe(58)
  // 1 000 expected of each; six standard deviations.
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(190)
})

const seed = Uint8Array.from({ length: 16 }, (_, index) => index)

test('the same seed gives the same bytes, and another seed gives others', () => {
  const other = Uint8Array.from(seed, (byte, index) => (index === 15 ? byte ^ 1 : byte))
  const idsOf = (of: Uint8Array) => {
    const random = seededRandom(of)
    return Array.from({ length: 1000 }, () => randomId(random))
  }
  expect(idsOf(seed)).toEqual(idsOf(Uint8Array.from(seed)))
  expect(new Set([...idsOf(seed), ...idsOf(other)]).size).toBe(2000)
})

test('the bytes are SHA-256 of the seed and a counter, one call after the other', () => {
  const block = (count: number) =>
    createHash('sha256')
      .update(seed)
      .update(Uint8Array.of(0, 0, 0, count))
      .digest()
  const random = seededRandom(seed)
  expect(Buffer.from(random(5))).toEqual(block(0).subarray(0, 5))
  expect(Buffer.from(random(70))).toEqual(Buffer.concat([block(1), block(2), block(3).subarray(0, 6)]))
  expect(random(0)).toHaveLength(0)
  expect(Buffer.from(random(32))).toEqual(block(4))
})
