import { beforeEach, expect, test } from 'vitest'
import { keyGenerationMs, type ProofKey, ProofKeys } from '#access/proof'
import { ManualWorld } from '#test/runtime/manual-world'

const publicKey = {} as ProofKey['key']
let world: ManualWorld
let keys: ProofKeys

beforeEach(() => {
  world = new ManualWorld()
  keys = new ProofKeys({ now: () => world.now(), sizeMax: 3 })
})

function admit(header: string): void {
  keys.admit(header, { jkt: `of ${header}`, key: publicKey })
}

test('a key is found only by the proof header that contained it', () => {
  admit('a')
  expect(keys.find('a')).toEqual({ jkt: 'of a', key: publicKey })
  expect(keys.find('b')).toBeUndefined()
})

test('a header that is too long is not stored', () => {
  admit('x'.repeat(1_024))
  admit('x'.repeat(1_025))
  expect([1_024, 1_025].map((length) => keys.find('x'.repeat(length)) !== undefined)).toEqual([true, false])
})

test('a full store drops the oldest key', () => {
  for (const header of ['a', 'b', 'a', 'c', 'd']) admit(header)
  expect(['a', 'b', 'c', 'd'].filter((header) => keys.find(header))).toEqual(['b', 'c', 'd'])
})

test.each([
  [keyGenerationMs - 1, true],
  [keyGenerationMs, true],
  [2 * keyGenerationMs - 1, true],
  [2 * keyGenerationMs, false],
  [100 * keyGenerationMs, false],
  [-1, true],
  [-2 * keyGenerationMs, false],
])('a key that is not used again is still stored after %i ms: %s', (ms, isStored) => {
  admit('a')
  world.spend(ms)
  expect(keys.find('a') !== undefined).toBe(isStored)
})

test('a key that is used is kept, and an unused key is dropped', () => {
  for (const header of ['a', 'b']) admit(header)
  for (let generation = 0; generation < 4; generation++) {
    world.spend(keyGenerationMs)
    expect(keys.find('a')).toBeDefined()
  }
  expect(keys.find('b')).toBeUndefined()
})
