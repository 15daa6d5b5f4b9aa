import { beforeEach, expect, test } from 'vitest'
import { PendingTriggers, pendingTriggersMax } from '#firmware/pending-triggers'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let triggers: PendingTriggers
let answers: string[]

beforeEach(() => {
  world = new ManualWorld()
  triggers = new PendingTriggers(world, 1_000)
  answers = []
})

function wait(name: string, device = 'A', tenant = 'default', signal = new AbortController().signal): void {
  triggers.add(tenant, device, {
    signal,
    late: () => ({ status: 'SERVER_ERROR' }),
    answered: ({ status }) => answers.push(`${name} ${status}`),
    refused: ({ code }) => answers.push(`${name} ${code}`),
  })
}

test('each trigger of a device is answered once', () => {
  wait('one')
  wait('two')
  wait('other', 'B')
  expect([triggers.size, triggers.has('default', 'A'), triggers.has('default', 'C')]).toEqual([3, true, false])
  triggers.settle('default', 'A', { status: 'STARTED' })
  triggers.settle('default', 'A', { status: 'NO_UPDATE' })
  triggers.refuse('default', 'B', new Problem('not_found'))
  expect(answers).toEqual(['one STARTED', 'two STARTED', 'other not_found'])
  expect([triggers.size, triggers.has('default', 'A'), world.timerCount]).toEqual([0, false, 0])
})

test('each trigger has its own timeout', async () => {
  wait('one')
  await world.advance(500)
  wait('two')
  await world.advance(500)
  expect(answers).toEqual(['one SERVER_ERROR'])
  await world.advance(500)
  expect(answers).toEqual(['one SERVER_ERROR', 'two SERVER_ERROR'])
})

test('aborted triggers do not wait, including triggers that were aborted before they were added', () => {
  const aborter = new AbortController()
  wait('one', 'A', 'default', aborter.signal)
  aborter.abort()
  wait('two', 'A', 'default', aborter.signal)
  triggers.settle('default', 'A', { status: 'STARTED' })
  expect([answers, triggers.size, world.timerCount]).toEqual([['one stopping', 'two stopping'], 0, 0])
})

test('all triggers are answered, or all of one tenant', () => {
  wait('one', 'A', 'acme')
  wait('two')
  triggers.refuseAll(new Problem('not_found'), 'acme')
  expect(answers).toEqual(['one not_found'])
  wait('three', 'B', 'acme')
  triggers.settleAll({ status: 'SERVER_ERROR' })
  expect(answers).toEqual(['one not_found', 'two SERVER_ERROR', 'three SERVER_ERROR'])
})

test(`at most ${pendingTriggersMax} triggers wait`, () => {
  for (let count = 0; count < pendingTriggersMax; count++) wait('one', `D${count}`)
  wait('one more')
  expect(answers).toEqual(['one more overloaded'])
  triggers.settle('default', 'D0', { status: 'STARTED' })
  wait('another')
  expect(triggers.size).toBe(pendingTriggersMax)
})
