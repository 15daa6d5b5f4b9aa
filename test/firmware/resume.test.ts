import { describe, expect, test } from 'vitest'
import type { FirmwareStatusMessage } from '#model/link-message'
import type { UpdateQuestion } from '#model/update-offer'
import { offered, offerTimeoutMs, UpdateStage } from '#test/firmware/update-stage'

/** A server that dies while an update is there, and the one after it. What comes of it then: its state, and what was offered. */

const answers = ({ firmware }: UpdateQuestion) => (firmware === '2.0.0' ? undefined : offered())

async function died(...said: readonly FirmwareStatusMessage['status'][]): Promise<UpdateStage> {
  const stage = await UpdateStage.open()
  stage.checks.answer = answers
  const device = await stage.linked()
  for (const status of said) await device.say(status)
  const next = await stage.reborn()
  next.checks.answer = answers
  return next
}

describe('killed while it is', () => {
  test('asking the update server: it asks again, and goes on', async () => {
    const stage = await UpdateStage.open({ options: { isConnectUpdateDisabled: true } })
    stage.checks.isHeld = true
    await stage.linked()
    stage.trigger()
    await stage.settle()
    const next = new UpdateStage({ world: stage.world, place: stage.room.stage.place })
    stage.room.stage.crash()
    next.checks.answer = answers
    await next.room.stage.open()
    const opened = next.updater.open()
    await next.settle()
    await opened
    expect([next.checks.asked.length, next.stored()?.state]).toEqual([1, 'offering'])
    const device = await next.linked()
    expect(device.offers).toHaveLength(1)
  })

  test('offering: the device is offered the same when it comes', async () => {
    const next = await died()
    expect([next.stored()?.state, next.updater.underWay]).toEqual(['offering', 1])
    const device = await next.linked()
    expect(device.offers.map(({ id }) => id)).toEqual([next.stored()?.context.id])
    const asked = next.trigger()
    await device.say('STARTED')
    expect(asked.outcome).toBe('STARTED')
  })

  test('offering, and the device does not come: its time is over', async () => {
    const next = await died()
    await next.world.advance(offerTimeoutMs)
    expect([next.stored()?.state, next.stored()?.context.reason, next.updater.underWay]).toEqual([
      'failed',
      'offline',
      0,
    ])
  })

  test.each([
    [['STARTED'], 'started', 1],
    [['STARTED', 'DOWNLOADING'], 'started', 1],
    [['STARTED', 'INSTALLING'], 'started', 1],
  ] as const)('under way (%j): the device goes on, or begins anew when it started anew', async (said, state, count) => {
    const same = await died(...said)
    const before = same.stored()?.state
    const device = await same.linked()
    expect([same.stored()?.state, device.offers.length]).toEqual([before, 0])
    const anew = await died(...said)
    const other = await anew.linked('A', { session: 'boot-2' })
    expect([anew.stored()?.state, other.offers.length]).toEqual([state, count])
  })

  test.each([
    ['2.0.0', 'done'],
    ['1.0.0', 'failed'],
  ])('rebooting: it comes back with %s', async (firmware, state) => {
    const next = await died('INSTALLED')
    await next.linked('A', { firmware, session: 'boot-2' })
    expect(next.stored()?.state).toBe(state)
  })

  test('under way, and its time is over meanwhile', async () => {
    const stage = await UpdateStage.open()
    stage.checks.answer = answers
    const device = await stage.linked()
    await device.say('STARTED')
    stage.room.stage.crash()
    stage.world.spend(11 * 60_000)
    const next = await UpdateStage.open({ world: stage.world, place: stage.room.stage.place })
    await next.world.advance(1)
    expect([next.stored()?.state, next.stored()?.context.reason]).toEqual(['failed', 'timeout'])
  })
})

test('what is under way keeps its place', async () => {
  const stage = await UpdateStage.open({ options: { underWayMax: 1 } })
  stage.checks.answer = answers
  const device = await stage.linked()
  await device.say('STARTED')
  const next = await stage.reborn({ options: { underWayMax: 1 } })
  next.checks.answer = answers
  const other = await next.linked('B')
  expect([next.updater.underWay, other.offers.length]).toEqual([1, 0])
})
