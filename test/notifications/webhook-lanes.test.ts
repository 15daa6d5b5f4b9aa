import { expect, test } from 'vitest'
import { type Started, WebhookLanes } from '#notifications/webhook-lanes'

const quick = 10
const slow = 5_000
const never = Number.POSITIVE_INFINITY

let lanes = new WebhookLanes<string>()
const add = (tenant: string, receiver: string, ...items: string[]) => {
  for (const item of items) lanes.add(tenant, receiver, item)
}

function startAll(): Started<string>[] {
  const all: Started<string>[] = []
  for (let started = lanes.start(); started; started = lanes.start()) all.push(started)
  return all
}
const itemsOf = (started: readonly Started<string>[]) => started.map(({ item }) => item)

/** Ends all attempts, and starts the next ones. */
function next(before: readonly Started<string>[], tookMs: number): Started<string>[] {
  for (const { end } of before) end(tookMs)
  return startAll()
}
const many = (count: number) => Array.from({ length: count }, (_, index) => String(index))

test('a receiver gets one at a time at first, and more with each quick answer, up to eight', () => {
  lanes = new WebhookLanes()
  add('a', 'x', ...many(60))
  let started = startAll()
  const counts: number[] = []
  for (; started.length > 0; started = next(started, quick)) counts.push(started.length)
  expect(counts).toEqual([1, 2, 4, 8, 8, 8, 8, 8, 8, 5])
})

test.each([slow, never])('a receiver gets one at a time after an answer in %s ms', (tookMs) => {
  lanes = new WebhookLanes()
  add('a', 'x', ...many(60))
  const started = next(next(startAll(), quick), quick)
  expect(started).toHaveLength(4)
  expect(next(started, tookMs)).toHaveLength(1)
})

test('a webhook that was not sent does not make its receiver count as quick or slow', () => {
  lanes = new WebhookLanes()
  add('a', 'x', ...many(9))
  const started = next(startAll(), quick)
  for (const { end } of started) end(undefined)
  expect(startAll()).toHaveLength(2)
})

test('receivers and tenants take turns', () => {
  lanes = new WebhookLanes()
  add('a', 'x', 'a-x-1', 'a-x-2')
  add('a', 'y', 'a-y-1')
  add('b', 'x', 'b-x-1')
  const started = startAll()
  expect(itemsOf(started)).toEqual(['a-x-1', 'b-x-1', 'a-y-1'])
  expect(itemsOf(next(started, quick))).toEqual(['a-x-2'])
})

test('a tenant whose receivers hang delays neither other tenants nor its own receivers that answer', () => {
  lanes = new WebhookLanes()
  for (const receiver of many(200)) add('a', receiver, `${receiver}-1`, `${receiver}-2`)
  const hanging = startAll()
  expect(hanging).toHaveLength(32)
  add('b', 'x', 'b-1')
  expect(itemsOf(startAll())).toEqual(['b-1'])
  for (const { end } of hanging) end(never)
  // The receivers that hung have places of their own.
  expect(startAll()).toHaveLength(64)
  add('c', 'x', 'c-1')
  expect(itemsOf(startAll())).toEqual(['c-1'])
})

test('a receiver that hung is remembered as slow while the tenant has webhooks', () => {
  lanes = new WebhookLanes()
  for (const receiver of many(32)) add('a', receiver, `${receiver}-1`)
  next(startAll(), never)
  for (const receiver of many(33)) add('a', receiver, `${receiver}-2`)
  // 32 slow ones, and the new one.
  expect(startAll()).toHaveLength(33)
})

test('a removed webhook, and the webhooks of a forgotten tenant, do not start', () => {
  lanes = new WebhookLanes()
  add('a', 'x', '1', '2', '3')
  add('b', 'x', '4')
  lanes.remove('a', 'x', '1')
  const [first] = startAll()
  expect(first?.item).toBe('2')
  lanes.forget('a')
  first?.end(quick)
  expect(startAll()).toEqual([])
})
