import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { jsonMemoryOf, memoryOf } from '#actors/device/value-memory'
import type { PropertyState } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import { propertyTypeOf } from '#model/property-type'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapBytes(): number {
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/**
 * The heap bytes of a value that `make` returns, as the mean of `count` values. The median of three measurements, because
 * the test runner uses the same heap.
 */
function measuredBytes(make: (index: number) => unknown, count: number): number {
  const [, median = 0] = [0, 1, 2].map(() => measureOnce(make, count)).sort((one, other) => one - other)
  return median
}

function measureOnce(make: (index: number) => unknown, count: number): number {
  const kept = new Array<unknown>(count).fill(null)
  const before = heapBytes()
  for (let index = 0; index < count; index++) kept[index] = make(index)
  return (heapBytes() - before) / kept.length
}

function acceptedValue(type: string, value: unknown): PropertyState {
  return propertyTypeOf(type)?.accept(JSON.parse(JSON.stringify(value))) ?? null
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index % 200)

/** A large integer. If it is too large for a number, it is a text. */
const largeInteger = (each: number) => (each % 2 ? 2 ** 40 + each : '18446744073709551615')

// biome-ignore format: one block of data
const kinds: readonly [string, (index: number) => PropertyState, number][] = [
  ['a long text', (index) => acceptedValue('string', String(index).padEnd(2_000, 'x')), 2_000],
  ['a long text beyond Latin-1', (index) => acceptedValue('string', String(index).padEnd(2_000, '中')), 2_000],
  ['a short text', (index) => acceptedValue('string', `text ${index}`), 20_000],
  ['BINARY', (index) => acceptedValue('binary', Buffer.from(String(index).padEnd(3_000, 'x')).toString('base64')), 2_000],
  ['one number in an array', (index) => acceptedValue('uint8-array', [index % 200]), 20_000],
  ['many small numbers', () => acceptedValue('uint8-array', numbers(5_000)), 200],
  ['many fractions', () => acceptedValue('float64-array', numbers(3_000).map((each) => each / 3)), 200],
  ['many booleans', () => acceptedValue('bool-array', numbers(5_000).map((each) => each % 3 === 0)), 200],
  ['many texts', (index) => acceptedValue('string-array', numbers(2_000).map((_, place) => `text ${index} at ${place}`)), 100],
  ['large integers', () => acceptedValue('uint64-array', numbers(1_000).map(largeInteger)), 100],
  ['an error', (index) => JSON.parse(JSON.stringify({ error: `broken ${index}` })), 20_000],
]

test.each(kinds)('the counted memory is about the real memory: %s', (_, make, count) => {
  const bytes = measuredBytes(make, count)
  const counted = memoryOf(make(0))
  expect(counted).toBeGreaterThan(bytes * 0.8)
  expect(counted).toBeLessThan(bytes * 3.2 + 32)
})

test.each<[string, (index: number) => JsonValue]>([
  ['empty objects', () => Array.from({ length: 5_000 }, () => ({}))],
  ['empty lists', () => Array.from({ length: 5_000 }, () => [])],
  ['many keys', (index) => Object.fromEntries(numbers(4_000).map((_, place) => [`k${index}.${place}`, true]))],
  ['many keys with objects', () => Object.fromEntries(numbers(2_000).map((_, place) => [`k${place}`, {}]))],
])('the counted memory of metadata is about the real memory: %s', (_, make) => {
  const bytes = measuredBytes((index) => JSON.parse(JSON.stringify(make(index))), 20)
  const counted = jsonMemoryOf(make(0))
  expect(counted).toBeGreaterThan(bytes * 0.8)
  expect(counted).toBeLessThan(bytes * 1.6)
})
