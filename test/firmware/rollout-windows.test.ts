import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ada } from '#test/actors/acting-project'
import { WalkStage } from '#test/firmware/walk-stage'

const hourMs = 3_600_000
/** From two in the morning, for an hour. */
const night = { cron: '0 2 * * *', minutes: 60 }

let fleet: WalkStage
beforeEach(async () => {
  fleet = await WalkStage.open()
  await fleet.bring(['A'])
})
afterEach(async () => {
  expect(fleet.stage.bugs).toEqual([])
  expect(fleet.failures).toEqual([])
  await fleet.close()
})

/** How often devices were gone through since the last look. */
function walksOf(): number {
  return fleet.considered.splice(0).length
}

/** To a time of day, of the next day if that is over. The last moments go by one by one. */
async function until(time: string): Promise<void> {
  const wait = msUntil(time)
  fleet.world.spend(Math.max(wait - 65_000, 0))
  await fleet.world.advance(Math.min(wait, 65_000))
}

function msUntil(time: string): number {
  const { world } = fleet
  const day = new Date(world.now()).toISOString().slice(0, 10)
  const at = Date.parse(`${day}T${time}Z`)
  return at > world.now() ? at - world.now() : at + 24 * hourMs - world.now()
}

describe('when a window opens', () => {
  test('devices are gone through, once, every time', async () => {
    await fleet.putRollout({ window: night })
    await fleet.world.settle()
    expect(walksOf()).toBe(1)
    await until('01:59:59.999')
    expect(walksOf()).toBe(0)
    await until('02:00:00')
    expect(walksOf()).toBe(1)
    await until('01:59:59.999')
    expect(walksOf()).toBe(0)
    await until('02:00:00')
    expect(walksOf()).toBe(1)
  })

  test.each<[what: string, change: () => Promise<unknown>, count: number]>([
    ['not of a rollout that is paused', () => fleet.ask({ type: 'pause', author: ada }), 0],
    ['not of one that is deleted', () => fleet.ask({ type: 'delete_rollout' }), 0],
    ['not of one that lost its window', () => fleet.putRollout(), 0],
    [
      'not of one whose window is at another time',
      () => fleet.putRollout({ window: { ...night, cron: '0 3 * * *' } }),
      0,
    ],
    ['of one that is put anew', () => fleet.putRollout({ window: night, percent: 50 }), 1],
    [
      'of one that is resumed',
      () => fleet.ask({ type: 'pause', author: ada }).then(() => fleet.ask({ type: 'resume', author: ada })),
      1,
    ],
  ])('%s', async (_, change, count) => {
    await fleet.putRollout({ window: night })
    await change()
    await until('01:59:59')
    walksOf()
    await until('02:00:00')
    expect(walksOf()).toBe(count)
  })

  test('nothing, where none will', async () => {
    await fleet.putRollout({ window: { cron: '0 0 30 2 *', minutes: 60 } })
    await fleet.world.settle()
    walksOf()
    for (let days = 0; days < 7; days++) await until('00:00:00')
    expect(walksOf()).toBe(0)
  })

  test('not any more for a tenant that ended, nor when it was stopped', async () => {
    await fleet.putRollout({ window: night })
    await fleet.world.settle()
    walksOf()
    fleet.windows.tenantEnded('default')
    await until('02:00:00')
    expect(walksOf()).toBe(0)
    fleet.windows.rolloutChanged('default', 'boiler')
    fleet.windows.stop()
    await until('02:00:00')
    expect(walksOf()).toBe(0)
  })
})

describe('a window that opened while the server was down', () => {
  test.each([
    ['is open still', '02:30:00', 1],
    ['is over', '03:00:00', 0],
    ['is just about to be over', '02:59:59', 1],
    ['has not opened', '01:59:59', 0],
  ])('and %s at %s', async (_, time, count) => {
    await fleet.putRollout({ window: night })
    await until('23:00:00')
    walksOf()
    fleet.world.kill()
    fleet.world.spend(msUntil(time))
    fleet = await fleet.restart()
    await fleet.world.settle()
    expect(walksOf()).toBe(count)
    // Those to come are known.
    await until('01:59:59')
    walksOf()
    await until('02:00:00')
    expect(walksOf()).toBe(1)
  })
})
