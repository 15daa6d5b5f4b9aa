import { describe, expect, test } from 'vitest'
import type { UpdateQuery } from '#model/update-offer'
import { offered, UpdateStage } from '#test/firmware/update-stage'

/** A server that dies while an update is there, and the one after it. What comes of it then: its state, and what was offered. */

const answers = ({ firmware }: UpdateQuery) => (firmware === '2.0.0' ? undefined : offered())

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
