import { beforeEach, expect, test } from 'vitest'
import { keyGenerationMs, type ProofKey, ProofKeys } from '#access/proof-keys'
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

test('a key is found by the header that brought it, and by no other', () => {
  admit('a')
  expect(keys.find('a')).toEqual({ jkt: 'of a', key: publicKey })
  expect(keys.find('b')).toBeUndefined()
})

test('a header that is too long is not kept', () => {
  admit('x'.repeat(1_024))
  admit('x'.repeat(1_025))
  expect([1_024, 1_025].map((length) => keys.find('x'.repeat(length)) !== undefined)).toEqual([true, false])
})

test('of more than there is room for the first that came is forgotten', () => {
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
])('%i ms after it came, and nobody asked for it, a key is there: %s', (ms, isThere) => {
  admit('a')
  world.spend(ms)
  expect(keys.find('a') !== undefined).toBe(isThere)
})

test('a key that is asked for again and again stays, one that is not goes', () => {
  for (const header of ['a', 'b']) admit(header)
  for (let generation = 0; generation < 4; generation++) {
    world.spend(keyGenerationMs)
    expect(keys.find('a')).toBeDefined()
  }
  expect(keys.find('b')).toBeUndefined()
})
