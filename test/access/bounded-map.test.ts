import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BoundedMap, ExpiringMap, RecentMap } from '#access/bounded-map'
import { ManualWorld } from '#test/runtime/manual-world'

test('a bounded map keeps the entries that were set last', () => {
  const step = fc.tuple(fc.constantFrom('set', 'set', 'get', 'delete', 'oldest'), fc.nat({ max: 9 }), fc.nat())
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), fc.integer({ min: 1, max: 5 }), (steps, sizeMax) => {
      const map = new BoundedMap<number, number>(sizeMax)
      let plain: [number, number][] = []
      for (const [kind, key, value] of steps) {
        if (kind === 'oldest') expect(map.oldest).toBe(plain[0]?.[0])
        if (kind === 'set' || kind === 'delete') plain = plain.filter(([other]) => other !== key)
        if (kind === 'delete') map.delete(key)
        if (kind === 'set') {
          map.set(key, value)
          plain = [...plain, [key, value] as [number, number]].slice(-sizeMax)
        }
        for (let each = 0; each < 10; each++) {
          expect(map.get(each)).toBe(plain.find(([other]) => other === each)?.[1])
        }
        expect(map.size).toBe(plain.length)
      }
      const inOrder: number[] = []
      for (let oldest = map.oldest; oldest !== undefined; oldest = map.oldest) {
        inOrder.push(oldest)
        map.delete(oldest)
      }
      expect(inOrder).toEqual(plain.map(([key]) => key))
    }),
    { numRuns: 200 },
  )
})

describe('a map of recently used entries', () => {
  const generationMs = 1_000
  const make = () => new RecentMap<string, number>({ generationMs, sizeMax: 3 })

  test('drops the oldest entry when it is full', () => {
    const map = make()
    for (const key of ['a', 'b', 'c', 'd']) map.set(key, 1, 0)
    expect(['a', 'b', 'c', 'd'].filter((key) => map.get(key, 0))).toEqual(['b', 'c', 'd'])
  })

  test.each([
    [generationMs - 1, 1],
    [generationMs, 1],
    [2 * generationMs - 1, 1],
    [2 * generationMs, undefined],
    [100 * generationMs, undefined],
    [-1, 1],
    [-2 * generationMs, undefined],
  ])('an entry that is not used again has, after %i ms, the value %s', (ms, expected) => {
    const map = make()
    map.set('a', 1, 0)
    expect(map.get('a', ms)).toBe(expected)
  })

  test('keeps an entry that is used, and drops an unused one', () => {
    const map = make()
    for (const key of ['a', 'b']) map.set(key, 1, 0)
    for (let generation = 1; generation <= 4; generation++) expect(map.get('a', generation * generationMs)).toBe(1)
    expect(map.get('b', 4 * generationMs)).toBeUndefined()
  })
})

describe('a map of entries that expire', () => {
  const world = new ManualWorld()
  const ann = { tenant: 'acme', user: 'ann' }
  const make = (sizeMax = 3) => new ExpiringMap<string, number>({ now: () => world.now(), lifetimeMs: 1_000, sizeMax })

  test.each([
    [0, 1],
    [1_000, 1],
    [1_001, undefined],
  ])('still has an entry or not after %i ms', (ms, expected) => {
    const map = make()
    map.set('a', 1, ann)
    world.spend(ms)
    expect(map.get('a')).toBe(expected)
    expect(map.take('a')).toBe(expected)
    expect(map.take('a')).toBeUndefined()
    expect(map.get('a')).toBeUndefined()
  })

  test('drops expired entries when an entry is added, and the oldest entry when it is full', () => {
    const map = make()
    map.set('a', 1, ann)
    world.spend(600)
    map.set('b', 2, ann)
    world.spend(600)
    map.set('c', 3, ann)
    expect(map.size).toBe(2)
    map.set('d', 4, ann)
    map.set('e', 5, ann)
    expect([map.get('b'), map.get('c'), map.size]).toEqual([undefined, 3, 3])
    map.delete('c')
    expect(map.size).toBe(2)
  })

  test('extends the life of an entry that is set again', () => {
    const map = make()
    map.set('a', 1, ann)
    world.spend(900)
    map.set('a', 2, ann)
    world.spend(900)
    expect(map.get('a')).toBe(2)
  })

  /** `a.1` is the first entry of user `a` of tenant `A`. Each tenant has three users: `a`, `b`, `c` are of `A`. */
  const ownerOf = (key: string) => ({
    tenant: 'ABC'[('abcdefghi'.indexOf(key[0] ?? '') / 3) | 0] ?? '',
    user: key[0] ?? '',
  })

  test('a full map drops an entry of the largest user of the largest tenant, after any steps', () => {
    const step = fc.tuple(
      fc.constantFrom('set', 'set', 'set', 'delete'),
      fc.constantFrom(...'abcdefghi'),
      fc.nat({ max: 5 }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const map = make(8)
        let held: string[] = []
        const sizeOf = (field: 'tenant' | 'user', key: string) =>
          held.filter((other) => ownerOf(other)[field] === ownerOf(key)[field]).length
        for (const [kind, user, index] of steps) {
          const key = `${user}.${index}`
          held = held.filter((other) => other !== key)
          if (kind === 'delete') map.delete(key)
          else {
            map.set(key, 1, ownerOf(key))
            const gone = held.filter((other) => map.get(other) === undefined)
            expect(gone.length).toBe(held.length === 8 ? 1 : 0)
            for (const other of gone) {
              const largest = Math.max(...held.map((each) => sizeOf('tenant', each)))
              expect(sizeOf('tenant', other)).toBe(largest)
              const users = held.filter((each) => ownerOf(each).tenant === ownerOf(other).tenant)
              expect(sizeOf('user', other)).toBe(Math.max(...users.map((each) => sizeOf('user', each))))
              expect(held.find((each) => ownerOf(each).user === ownerOf(other).user)).toBe(other)
            }
            held = [...held.filter((other) => !gone.includes(other)), key]
          }
          expect(map.size).toBe(held.length)
        }
      }),
    )
  })
})
