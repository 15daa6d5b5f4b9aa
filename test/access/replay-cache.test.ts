import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Nonces } from '#access/proof'
import { FingerprintSet, generationMs, ReplayCache } from '#access/replay-cache'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'

const jkt = 'k'.repeat(43)

function replaysOf(entriesMax?: number) {
  const world = new ManualWorld()
  const random = (bytes: number) => world.random(bytes)
  return { world, replays: new ReplayCache({ now: () => world.now(), random, ...(entriesMax && { entriesMax }) }) }
}

describe('used proofs', () => {
  test('are stored for 121 s to 183 s, and unused proofs are not stored', () => {
    const step = fc.record({ waitMs: fc.nat({ max: 20_000 }), jti: fc.nat({ max: 20 }), isRecorded: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { world, replays } = replaysOf()
        const plain = new Map<string, number>()
        for (const { waitMs, jti, isRecorded } of steps) {
          world.spend(waitMs)
          const age = world.now() - (plain.get(`${jti}`) ?? Number.NEGATIVE_INFINITY)
          const isUsed = replays.isUsed(jkt, `${jti}`)
          if (age <= 121_000) expect(isUsed).toBe(true)
          if (age > 183_000) expect(isUsed).toBe(false)
          if (isRecorded && !isUsed) {
            replays.record(jkt, `${jti}`)
            plain.set(`${jti}`, world.now())
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  test.each([0, 1, generationMs - 1])('are stored for 121 s, also if recorded %i ms into a generation', (intoMs) => {
    const { world, replays } = replaysOf()
    world.spend(generationMs - (world.now() % generationMs) + intoMs)
    replays.record(jkt, 'a')
    world.spend(121_000)
    expect(replays.isUsed(jkt, 'a')).toBe(true)
    world.spend(62_001)
    expect(replays.isUsed(jkt, 'a')).toBe(false)
  })

  test('belong to their key', () => {
    const { replays } = replaysOf()
    replays.record(jkt, 'a')
    expect(replays.isUsed('l'.repeat(43), 'a')).toBe(false)
    expect(replays.isUsed(jkt, 'b')).toBe(false)
    expect(replays.isUsed(jkt, 'a')).toBe(true)
  })

  test('fill a generation, which then keeps them all and refuses others until the next generation starts', () => {
    const { world, replays } = replaysOf(3)
    world.spend(generationMs - (world.now() % generationMs) + 1_000)
    for (const jti of ['a', 'b', 'c']) replays.record(jkt, jti)
    const refusal = (() => {
      try {
        replays.record(jkt, 'd')
        return undefined
      } catch (error) {
        return error
      }
    })()
    expect(refusal).toBeInstanceOf(Problem)
    expect(refusal).toMatchObject({ code: 'overloaded', message: 'OVERLOADED', headers: { 'Retry-After': '60' } })
    for (const jti of ['a', 'b', 'c']) expect(replays.isUsed(jkt, jti)).toBe(true)
    expect(replays.isUsed(jkt, 'd')).toBe(false)
    world.spend(60_000)
    replays.record(jkt, 'd')
    for (const jti of ['a', 'b', 'c', 'd']) expect(replays.isUsed(jkt, jti)).toBe(true)
  })

  test('stay stored when the clock is set back, and are still recorded after it jumps forwards', () => {
    const { world, replays } = replaysOf()
    replays.record(jkt, 'a')
    world.spend(-500_000)
    expect(replays.isUsed(jkt, 'a')).toBe(true)
    replays.record(jkt, 'b')
    world.spend(500_000)
    expect(replays.isUsed(jkt, 'b')).toBe(true)
    world.spend(10_000_000)
    expect(replays.isUsed(jkt, 'a')).toBe(false)
    replays.record(jkt, 'c')
    expect(replays.isUsed(jkt, 'c')).toBe(true)
  })
})

describe('a set of fingerprints', () => {
  const fingerprintOf = (text: string) => {
    const hash = createHash('sha256').update(text).digest()
    return Uint32Array.from({ length: 4 }, (_, word) => hash.readUInt32LE(word * 4))
  }

  test.each([0, 2_000])('contains exactly the added fingerprints while it grows from %i', (expected) => {
    const set = new FingerprintSet(expected)
    for (let count = 0; count < 7_000; count++) {
      set.add(fingerprintOf(`${count}`))
      if (count % 7 === 0) set.add(fingerprintOf(`${count}`))
    }
    expect(set.size).toBe(7_000)
    for (let count = 0; count < 7_000; count++) {
      expect(set.has(fingerprintOf(`${count}`))).toBe(true)
      expect(set.has(fingerprintOf(`-${count}`))).toBe(false)
    }
  })

  test('distinguishes fingerprints that differ in one word, also if words are zero', () => {
    const all = [0, 1, 2, 0xffff_ffff].flatMap((a) =>
      [0, 1, 0xffff_ffff].flatMap((b) => [0, 1].flatMap((c) => [0, 1].map((d) => [a, b, c, d]))),
    )
    const set = new FingerprintSet()
    // A first word of 0 is stored as 1, so that these two fingerprints are the same.
    const distinct = all.filter(([a]) => a !== 0)
    for (const words of distinct) {
      expect(set.has(Uint32Array.from(words))).toBe(false)
      set.add(Uint32Array.from(words))
    }
    for (const words of all) expect(set.has(Uint32Array.from(words))).toBe(true)
    expect(set.size).toBe(distinct.length)
  })
})

describe('a nonce', () => {
  const key = new Uint8Array(32).fill(1)
  const start = 1_700_000_100_000

  test.each([
    [0, 'current'],
    [299_999, 'current'],
    [300_000, 'ageing'],
    [599_999, 'ageing'],
    [600_000, undefined],
    [900_000, undefined],
    [-1, undefined],
  ])('%i ms after the start of its window is %s', (ms, verdict) => {
    const world = new ManualWorld({ now: start })
    const nonces = new Nonces({ now: () => world.now(), key })
    const nonce = nonces.current
    expect(nonce).toMatch(/^[\w-]{22}$/)
    world.spend(ms)
    expect(nonces.ageOf(nonce)).toBe(verdict)
    expect(nonces.ageOf(nonces.current)).toBe('current')
    expect(nonces.current === nonce).toBe(verdict === 'current')
  })

  test.each(['', 'a', undefined, null, 0, {}, ['a']])('is not %j', (value) => {
    const nonces = new Nonces({ now: () => start, key })
    expect(nonces.ageOf(value)).toBeUndefined()
  })

  test('follows the clock in both directions, and belongs to its key', () => {
    const world = new ManualWorld({ now: start })
    const nonces = new Nonces({ now: () => world.now(), key })
    const seen = [0, 300_000, 300_000, -600_000, 3_000_000, -3_000_000].map((ms) => {
      world.spend(ms)
      const fresh = new Nonces({ now: () => world.now(), key })
      expect(nonces.current).toBe(fresh.current)
      const before = new Nonces({ now: () => world.now() - 300_000, key })
      expect(nonces.ageOf(before.current)).toBe('ageing')
      return nonces.current
    })
    expect(seen[0]).toBe(seen[3])
    expect(new Set(seen).size).toBe(4)
    expect(new Nonces({ now: () => start, key: new Uint8Array(32) }).current).not.toBe(seen[0])
  })
})
