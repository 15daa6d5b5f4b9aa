import { beforeEach, expect, test } from 'vitest'
import { PendingTriggers, pendingTriggersMax } from '#firmware/pending-triggers'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let waiters: PendingTriggers
let heard: string[]

beforeEach(() => {
  world = new ManualWorld()
  waiters = new PendingTriggers(world, 1_000)
  heard = []
})

function wait(name: string, device = 'A', tenant = 'default', signal = new AbortController().signal): void {
  waiters.add(tenant, device, {
    signal,
    late: () => ({ status: 'SERVER_ERROR' }),
    answered: ({ status }) => heard.push(`${name} ${status}`),
    refused: ({ code }) => heard.push(`${name} ${code}`),
  })
}

test('each who waits for a device hears once', () => {
  wait('one')
  wait('two')
  wait('other', 'B')
  expect([waiters.size, waiters.has('default', 'A'), waiters.has('default', 'C')]).toEqual([3, true, false])
  waiters.settle('default', 'A', { status: 'STARTED' })
  waiters.settle('default', 'A', { status: 'NO_UPDATE' })
  waiters.refuse('default', 'B', new Problem('not_found'))
  expect(heard).toEqual(['one STARTED', 'two STARTED', 'other not_found'])
  expect([waiters.size, waiters.has('default', 'A'), world.timerCount]).toEqual([0, false, 0])
})

test('who waited too long hears what is said then, each at his own time', async () => {
  wait('one')
  await world.advance(500)
  wait('two')
  await world.advance(500)
  expect(heard).toEqual(['one SERVER_ERROR'])
  await world.advance(500)
  expect(heard).toEqual(['one SERVER_ERROR', 'two SERVER_ERROR'])
})

test('who is gone is waited with no more, also when he was gone before', () => {
  const aborter = new AbortController()
  wait('one', 'A', 'default', aborter.signal)
  aborter.abort()
  wait('two', 'A', 'default', aborter.signal)
  waiters.settle('default', 'A', { status: 'STARTED' })
  expect([heard, waiters.size, world.timerCount]).toEqual([['one stopping', 'two stopping'], 0, 0])
})

test('all hear, or all of one tenant', () => {
  wait('one', 'A', 'acme')
  wait('two')
  waiters.refuseAll(new Problem('not_found'), 'acme')
  expect(heard).toEqual(['one not_found'])
  wait('three', 'B', 'acme')
  waiters.settleAll({ status: 'SERVER_ERROR' })
  expect(heard).toEqual(['one not_found', 'two SERVER_ERROR', 'three SERVER_ERROR'])
})

test(`at most ${pendingTriggersMax} wait`, () => {
  for (let count = 0; count < pendingTriggersMax; count++) wait('one', `D${count}`)
  wait('one more')
  expect(heard).toEqual(['one more overloaded'])
  waiters.settle('default', 'D0', { status: 'STARTED' })
  wait('another')
  expect(waiters.size).toBe(pendingTriggersMax)
})
