import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { isServerMadeId, randomId } from '#model/identifier'

/** Returns the same bytes each time. */
function seededRandom() {
  let turn = 0
  return (byteCount: number) => {
    const blocks: Buffer[] = []
    for (let bytes = 0; bytes < byteCount; bytes += 32) blocks.push(createHash('sha256').update(`${turn++}`).digest())
    return new Uint8Array(Buffer.concat(blocks).subarray(0, byteCount))
  }
}

test.each([1, 9, 10, 16, 22, 200])('%i characters are returned as requested', (characters) => {
  expect(randomId(seededRandom(), characters)).toMatch(new RegExp(`^[1-9A-HJ-NP-Za-km-z]{${characters}}$`))
})

test('an id has ten characters by default and a valid format', () => {
  const id = randomId(seededRandom())
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
  const letters = randomId(seededRandom(), 58_000)
  const counts = new Map<string, number>()
  for (const letter of letters) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  expect(counts.size).toBe(58)
  // 1 000 expected of each; six standard deviations.
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(190)
})
