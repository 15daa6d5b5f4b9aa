import { expect, test } from 'vitest'
import { RoundRobin } from '#notifications/round-robin'

const itemOf = (tenant: string, id: string) => ({ tenant, id })
const itemsOf = (tenant: string, ...ids: string[]) => ids.map((id) => itemOf(tenant, id))

/** Takes all items in order, as `tenant/id`. */
function takeAll(ring: RoundRobin<ReturnType<typeof itemOf>>): string[] {
  const order: string[] = []
  for (let item = ring.take(); item; item = ring.take()) order.push(`${item.tenant}/${item.id}`)
  return order
}

test('tenants take turns, with the items of each in order', () => {
  const ring = new RoundRobin<ReturnType<typeof itemOf>>()
  for (const item of [...itemsOf('a', '1', '2', '3', '4'), ...itemsOf('b', '1'), ...itemsOf('c', '1', '2')])
    ring.add(item)
  expect(ring.size).toBe(7)
  expect(takeAll(ring)).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'c/2', 'a/3', 'a/4'])
  expect(ring.size).toBe(0)
})

test('an item that is added again is the last of its tenant, and the tenant keeps its turn', () => {
  const ring = new RoundRobin<ReturnType<typeof itemOf>>()
  const first = itemOf('a', '1')
  for (const item of [first, itemOf('a', '2'), itemOf('b', '1')]) ring.add(item)
  expect(ring.take()).toBe(first)
  ring.add(first)
  // An item that is already waiting keeps its place.
  ring.add(itemOf('a', '2'))
  expect(takeAll(ring)).toEqual(['b/1', 'a/2', 'a/1'])
})

test('forgetting a tenant removes its items', () => {
  const ring = new RoundRobin<ReturnType<typeof itemOf>>()
  for (const item of [...itemsOf('a', '1', '2'), ...itemsOf('b', '1')]) ring.add(item)
  ring.forget('a')
  ring.forget('nowhere')
  expect([ring.size, [...ring.of('a')], ring.has(itemOf('a', '1'))]).toEqual([1, [], false])
  expect(takeAll(ring)).toEqual(['b/1'])
  ring.add(itemOf('a', '1'))
  ring.clear()
  expect([ring.size, ring.take()]).toEqual([0, undefined])
})
