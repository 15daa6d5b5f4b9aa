import { expect, test } from 'vitest'
import { RoundRobin } from '#notifications/round-robin'

const one = (tenant: string, id: string) => ({ tenant, id })
const of = (tenant: string, ...ids: string[]) => ids.map((id) => one(tenant, id))

/** All that is left, in its order, as `tenant/id`. */
function taken(ring: RoundRobin): string[] {
  const order: string[] = []
  for (let who = ring.take(); who; who = ring.take()) order.push(`${who.tenant}/${who.id}`)
  return order
}

test('one of each tenant in turn, of each in the order in which they came', () => {
  const ring = new RoundRobin()
  for (const who of [...of('a', '1', '2', '3', '4'), ...of('b', '1'), ...of('c', '1', '2')]) ring.add(who)
  expect(ring.size).toBe(7)
  expect(taken(ring)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'c/2', 'a/3', 'a/4'])
  expect(ring.size).toBe(0)
})

test('who comes again is behind his own, his tenant is not behind the others for it', () => {
  const ring = new RoundRobin()
  const first = one('a', '1')
  for (const who of [first, one('a', '2'), one('b', '1')]) ring.add(who)
  expect(ring.take()).toBe(first)
  ring.add(first)
  // In turn already: he keeps his place.
  ring.add(one('a', '2'))
  expect(taken(ring)).toEqual(['b/1', 'a/2', 'a/1'])
})

test('a tenant that ends leaves nothing', () => {
  const ring = new RoundRobin()
  for (const who of [...of('a', '1', '2'), ...of('b', '1')]) ring.add(who)
  ring.forget('a')
  ring.forget('nowhere')
  expect([ring.size, [...ring.of('a')], ring.has(one('a', '1'))]).toEqual([1, [], false])
  expect(taken(ring)).toEqual(['b/1'])
  ring.add(one('a', '1'))
  ring.clear()
  expect([ring.size, ring.take()]).toEqual([0, undefined])
})
