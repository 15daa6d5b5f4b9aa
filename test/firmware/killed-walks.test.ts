import { afterEach, describe, expect, test } from 'vitest'
import type { ProjectCommand } from '#actors/project/commands'
import type { UpdateOptions } from '#firmware/options'
import { graceMs } from '#link/presence'
import { putRelease, putRollout, walk } from '#test/actors/acting-project'
import { FirmwareStage } from '#test/firmware/firmware-stage'
import type { TestDevice } from '#test/firmware/update-stage'

/**
 * What begins updates, a process that dies before all of them have begun, and the one after it: devices come back, and
 * nobody does anything. Devices are not updated because they come.
 */

const quiet: Partial<UpdateOptions> = { isConnectUpdateDisabled: true, underWayMax: 2 }
const names = Array.from({ length: 7 }, (_, number) => `D-${number}`)

let stage: FirmwareStage
afterEach(() => {
  expect([stage.complaints, stage.room.stage.bugs]).toEqual([[], []])
})

const linkAll = (firmwareOf: (device: string) => string = () => '1.0.0') =>
  Promise.all(names.map((device) => stage.linked(device, { firmware: firmwareOf(device) })))

const firmwareNow = (device: string) => stage.room.device(device).firmwares[0]?.firmware ?? ''

/** Each installs what it is offered, until nobody is offered anything. */
async function installAll(devices: readonly TestDevice[]): Promise<void> {
  for (let rounds = 0; rounds < 3 * names.length; rounds++) {
    const offered = devices.filter(({ offers }) => offers.length > 0)
    if (offered.length === 0) return
    for (const device of offered) await device.install()
    await stage.world.advance(1_000)
  }
  throw new Error('they are offered something again and again')
}

const rollout = putRollout('2.0.0')
const triggers: [string, ProjectCommand][] = [
  ['a rollout', rollout],
  ['the hook', walk('hook', null)],
  ['the hook, for some', walk('hook', names)],
  ['the schedule', walk('cron', null)],
]

describe.each(triggers)('%s', (_, command) => {
  async function begun(): Promise<TestDevice[]> {
    stage = await FirmwareStage.open({ options: quiet })
    const devices = await linkAll()
    await stage.ask(putRelease('2.0.0'))
    await stage.ask(command)
    return devices
  }

  test('reaches all that waited for a place when the process died, each once', async () => {
    const before = await begun()
    expect(before.filter(({ offers }) => offers.length > 0)).toHaveLength(2)
    stage = await stage.reborn()
    const after = await linkAll()
    expect(after.filter(({ offers }) => offers.length > 0)).toHaveLength(2)
    await installAll(after)
    expect(names.map(firmwareNow)).toEqual(names.map(() => '2.0.0'))
    expect(names.map((name) => stage.stored(name)?.state)).toEqual(names.map(() => 'done'))
    expect(stage.project.openScans).toEqual([])
  })

  test('leaves nothing behind that would begin it once more', async () => {
    await installAll(await begun())
    expect(stage.project.openScans).toEqual([])
    await stage.ask({ type: 'delete_rollout' })
    await stage.ask(putRelease('3.0.0'))
    stage = await stage.reborn()
    const devices = await linkAll(firmwareNow)
    await stage.world.advance(2 * graceMs)
    expect(devices.flatMap(({ offers }) => offers)).toEqual([])
  })
})
