import { expect, test } from 'vitest'
import { isServerMadeId, randomId, seededRandom } from '#model/identifier'

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
