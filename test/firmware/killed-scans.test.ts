import { afterEach, describe, expect, test } from 'vitest'
import type { ProjectCommand } from '#actors/project/commands'
import type { UpdateOptions } from '#firmware/options'
import { graceMs } from '#link/presence'
import { putRelease, putRollout, walk } from '#test/actors/acting-project'
import { FirmwareUpdatesFixture } from '#test/firmware/firmware-updates-fixture'
import type { TestDevice } from '#test/firmware/update-fixture'

/** Triggers of many updates, and a process that is killed before all have begun. Updates on connect are disabled. */

const quiet: Partial<UpdateOptions> = { isConnectUpdateDisabled: true, underWayMax: 2 }
const names = Array.from({ length: 7 }, (_, number) => `D-${number}`)

let fixture: FirmwareUpdatesFixture
afterEach(() => {
  expect([fixture.warnings, fixture.linkFixture.runtime.bugs]).toEqual([[], []])
})

const connectAll = (firmwareOf: (device: string) => string = () => '1.0.0') =>
  Promise.all(names.map((device) => fixture.connect(device, { firmware: firmwareOf(device) })))

const firmwareNow = (device: string) => fixture.linkFixture.device(device).firmwares[0]?.firmware ?? ''

/** Installs offers until there are no more. */
async function installAll(devices: readonly TestDevice[]): Promise<void> {
  for (let rounds = 0; rounds < 3 * names.length; rounds++) {
    const offered = devices.filter(({ offers }) => offers.length > 0)
    if (offered.length === 0) return
    for (const device of offered) await device.install()
    await fixture.world.advance(1_000)
  }
  throw new Error('the offers do not end')
}

const rollout = putRollout('2.0.0')
const triggers: [string, ProjectCommand][] = [
  ['a rollout', rollout],
  ['the hook', walk('hook', null)],
  ['the hook, for listed devices', walk('hook', names)],
  ['the schedule', walk('cron', null)],
]

describe.each(triggers)('%s', (_, command) => {
  async function begin(): Promise<TestDevice[]> {
    fixture = await FirmwareUpdatesFixture.open({ options: quiet })
    const devices = await connectAll()
    await fixture.ask(putRelease('2.0.0'))
    await fixture.ask(command)
    return devices
  }

  test('updates each device that waited for a slot when the process was killed once', async () => {
    const before = await begin()
    expect(before.filter(({ offers }) => offers.length > 0)).toHaveLength(2)
    fixture = await fixture.restart()
    const after = await connectAll()
    expect(after.filter(({ offers }) => offers.length > 0)).toHaveLength(2)
    await installAll(after)
    expect(names.map(firmwareNow)).toEqual(names.map(() => '2.0.0'))
    expect(names.map((name) => fixture.stored(name)?.state)).toEqual(names.map(() => 'done'))
    expect(fixture.project.openScans).toEqual([])
  })

  test('is not repeated after a restart', async () => {
    await installAll(await begin())
    expect(fixture.project.openScans).toEqual([])
    await fixture.ask({ type: 'delete_rollout' })
    await fixture.ask(putRelease('3.0.0'))
    fixture = await fixture.restart()
    const devices = await connectAll(firmwareNow)
    await fixture.world.advance(2 * graceMs)
    expect(devices.flatMap(({ offers }) => offers)).toEqual([])
  })
})
