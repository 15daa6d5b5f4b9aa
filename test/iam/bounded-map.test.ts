import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BoundedMap } from '#iam/bounded-map'
import { ExpiringMap } from '#iam/expiring-map'
import { ManualWorld } from '#test/runtime/manual-world'

describe('a bounded map', () => {
  test('is a map of the last ones that were set', () => {
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
      { numRuns: 1_000 },
    )
  })

  test('takes a new one in as quickly when it is full', () => {
    const map = new BoundedMap<number, number>(65_536)
    const began = performance.now()
    for (let key = 0; key < 1_000_000; key++) map.set(key, key)
    // A quarter of a second; looking for the oldest from the beginning took half a minute.
    expect(performance.now() - began).toBeLessThan(5_000)
    expect([map.size, map.oldest]).toEqual([65_536, 1_000_000 - 65_536])
  })
})

describe('a map whose entries end', () => {
  const world = new ManualWorld()
  const make = (sizeMax = 3) => new ExpiringMap<string, number>({ now: () => world.now(), lifetimeMs: 1_000, sizeMax })

  test.each([
    [0, 1],
    [1_000, 1],
    [1_001, undefined],
  ])('after %i ms', (ms, expected) => {
    const map = make()
    map.set('a', 1)
    world.spend(ms)
    expect(map.get('a')).toBe(expected)
    expect(map.take('a')).toBe(expected)
    expect(map.take('a')).toBeUndefined()
    expect(map.get('a')).toBeUndefined()
  })

  test('lets go of what has ended when another comes, and of the oldest when it is full', () => {
    const map = make()
    map.set('a', 1)
    world.spend(600)
    map.set('b', 2)
    world.spend(600)
    map.set('c', 3)
    expect(map.size).toBe(2)
    map.set('d', 4)
    map.set('e', 5)
    expect([map.get('b'), map.get('c'), map.size]).toEqual([undefined, 3, 3])
    map.delete('c')
    expect(map.size).toBe(2)
  })

  test('lives anew when it is set again', () => {
    const map = make()
    map.set('a', 1)
    world.spend(900)
    map.set('a', 2)
    world.spend(900)
    expect(map.get('a')).toBe(2)
  })
})
