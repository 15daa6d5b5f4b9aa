import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ada } from '#test/actors/acting-project'
import { ScanFixture } from '#test/firmware/scan-fixture'

const hourMs = 3_600_000
/** From 02:00 to 03:00. */
const night = { cron: '0 2 * * *', minutes: 60 }

let fleet: ScanFixture
beforeEach(async () => {
  fleet = await ScanFixture.open()
  await fleet.addDevices(['A'])
})
afterEach(async () => {
  expect(fleet.runtime.bugs).toEqual([])
  expect(fleet.failures).toEqual([])
  await fleet.close()
})

/** The number of considered devices since the last call. */
function scanCount(): number {
  return fleet.considered.splice(0).length
}

/** Advances to a time of day; skips all but the last 65 s. */
async function advanceTo(time: string): Promise<void> {
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
  test('devices are scanned once, each time', async () => {
    await fleet.putRollout({ window: night })
    expect(scanCount()).toBe(1)
    await advanceTo('01:59:59.999')
    expect(scanCount()).toBe(0)
    await advanceTo('02:00:00')
    expect(scanCount()).toBe(1)
    await advanceTo('01:59:59.999')
    expect(scanCount()).toBe(0)
    await advanceTo('02:00:00')
    expect(scanCount()).toBe(1)
  })

  test.each<[name: string, change: () => Promise<unknown>, count: number]>([
    ['not of a paused rollout', () => fleet.ask({ type: 'pause', author: ada }), 0],
    ['not of a deleted rollout', () => fleet.ask({ type: 'delete_rollout' }), 0],
    ['not of a rollout that lost its window', () => fleet.putRollout(), 0],
    ['not of a rollout with another window', () => fleet.putRollout({ window: { ...night, cron: '0 3 * * *' } }), 0],
    ['of a changed rollout', () => fleet.putRollout({ window: night, percent: 50 }), 1],
    [
      'of a resumed rollout',
      () => fleet.ask({ type: 'pause', author: ada }).then(() => fleet.ask({ type: 'resume', author: ada })),
      1,
    ],
  ])('devices are scanned: %s', async (_, change, count) => {
    await fleet.putRollout({ window: night })
    await change()
    await advanceTo('01:59:59')
    scanCount()
    await advanceTo('02:00:00')
    expect(scanCount()).toBe(count)
  })

  test('never, if the window never opens', async () => {
    await fleet.putRollout({ window: { cron: '0 0 30 2 *', minutes: 60 } })
    scanCount()
    for (let days = 0; days < 7; days++) await advanceTo('00:00:00')
    expect(scanCount()).toBe(0)
  })

  test('not for a deleted tenant, and not after a stop', async () => {
    await fleet.putRollout({ window: night })
    scanCount()
    fleet.windows.tenantEnded('default')
    await advanceTo('02:00:00')
    expect(scanCount()).toBe(0)
    fleet.windows.rolloutChanged('default', 'boiler')
    fleet.windows.stop()
    await advanceTo('02:00:00')
    expect(scanCount()).toBe(0)
  })
})

test.each([
  ['is still open', '02:30:00', 1],
  ['is over', '03:00:00', 0],
  ['ends within a second', '02:59:59', 1],
  ['has not opened', '01:59:59', 0],
])('when a server starts again, the window %s at %s', async (_, time, count) => {
  await fleet.putRollout({ window: night })
  await advanceTo('23:00:00')
  scanCount()
  fleet.world.kill()
  fleet.world.spend(msUntil(time))
  fleet = await fleet.restart()
  await fleet.world.settle()
  expect(scanCount()).toBe(count)
  // Later windows open as planned.
  await advanceTo('01:59:59')
  scanCount()
  await advanceTo('02:00:00')
  expect(scanCount()).toBe(1)
})
