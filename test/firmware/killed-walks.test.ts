import { afterEach, describe, expect, test } from 'vitest'
import type { ProjectCommand } from '#actors/project/commands'
import type { UpdateOptions } from '#firmware/options'
import { graceMs } from '#link/presence'
import { putRelease, putRollout, walk } from '#test/actors/acting-project'
import { FirmwareStage } from '#test/firmware/firmware-stage'
import { offerTimeoutMs, type TestDevice } from '#test/firmware/update-stage'
import { startMs } from '#test/runtime/manual-world'

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
    expect(stage.project.openWalks).toEqual([])
  })

  test('also when it dies again and again, before anybody is back and behind each that is done', async () => {
    await begun()
    for (let count = 0; count <= names.length; count++) {
      stage = await stage.reborn()
      stage = await stage.reborn({ afterMs: 5_000 })
      const devices = await linkAll(firmwareNow)
      await devices.find(({ offers }) => offers.length > 0)?.install()
    }
    expect(names.map(firmwareNow)).toEqual(names.map(() => '2.0.0'))
  })

  test.each([0, 1, 2])('killed at once, with %i writes kept: all of them or none', async (writesKept) => {
    stage = await FirmwareStage.open({ options: quiet })
    await linkAll()
    await stage.ask(putRelease('2.0.0'))
    const { system } = stage.room.stage
    let isTaken = false
    void system.ask({ kind: 'project', tenant: 'default', id: 'boiler' }, command).then(
      () => {
        isTaken = true
      },
      () => {},
    )
    for (let step = 0; step < writesKept * 3; step++) stage.world.step()
    stage = await stage.reborn({ writesKept })
    await installAll(await linkAll())
    const updated = names.filter((device) => firmwareNow(device) === '2.0.0').length
    expect(isTaken ? [names.length] : [0, names.length]).toContain(updated)
  })

  test('leaves nothing behind that would begin it once more', async () => {
    await installAll(await begun())
    expect(stage.project.openWalks).toEqual([])
    await stage.ask({ type: 'delete_rollout' })
    await stage.ask(putRelease('3.0.0'))
    stage = await stage.reborn()
    const devices = await linkAll(firmwareNow)
    await stage.world.advance(2 * graceMs)
    expect(devices.flatMap(({ offers }) => offers)).toEqual([])
  })
})

test('who was away when the process died is passed over, as it would have been; so is who comes late', async () => {
  stage = await FirmwareStage.open({ options: quiet })
  const devices = await linkAll()
  devices[6]?.link.close()
  await stage.settle()
  await stage.ask(putRelease('2.0.0'))
  await stage.ask(rollout)
  stage = await stage.reborn()
  const away = await stage.linked('D-6')
  expect(away.offers).toEqual([])
  await stage.world.advance(graceMs)
  const late = await stage.linked('D-5')
  expect(late.offers).toEqual([])
})

test('a rollout that is paused while devices are awaited reaches them when it is resumed; one that is deleted does not', async () => {
  stage = await FirmwareStage.open({ options: quiet })
  await linkAll()
  await stage.ask(putRelease('2.0.0'))
  await stage.ask(putRelease('3.0.0'))
  await stage.ask(rollout)
  stage = await stage.reborn({ afterMs: offerTimeoutMs })
  await stage.world.advance(1)
  await stage.ask({ type: 'pause', author: 'crn#user:ann' })
  const devices = await linkAll()
  expect(devices.flatMap(({ offers }) => offers)).toEqual([])
  await stage.ask({ type: 'resume', author: 'crn#user:ann' })
  expect(devices.flatMap(({ offers }) => offers.map(({ firmware }) => firmware))).toEqual(['2.0.0', '2.0.0'])
  stage = await stage.reborn({ afterMs: offerTimeoutMs })
  await stage.world.advance(1)
  await stage.ask({ type: 'delete_rollout' })
  expect((await linkAll()).flatMap(({ offers }) => offers)).toEqual([])
})

test('what was to be tried again while the process was away is, when the device comes', async () => {
  stage = await FirmwareStage.open({ options: quiet })
  const device = await stage.linked('D-0')
  await stage.ask(putRelease('2.0.0'))
  await stage.ask(rollout)
  await device.say('FAILED')
  stage = await stage.reborn({ afterMs: 60 * 60_000 })
  const back = await stage.linked('D-0')
  expect(back.offers).toHaveLength(1)
  await back.say('FAILED')
  const again = await stage.linked('D-0')
  expect(again.offers).toEqual([])
  // Away when it is to be tried for the third time.
  again.link.close()
  await stage.world.advance(60 * 60_000)
  expect((await stage.linked('D-0')).offers).toHaveLength(1)
})

describe('the schedule', () => {
  const hourMs = 3_600_000
  /** Three hours behind the beginning, once a day. */
  const at = new Date(startMs + 3 * hourMs)
  const autoUpdate = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`

  test('missed while nobody was there runs once, and reaches those that come back', async () => {
    stage = await FirmwareStage.open({ options: { ...quiet, autoUpdate } })
    await linkAll()
    await stage.ask(putRelease('2.0.0'))
    stage = await stage.reborn({ afterMs: 5 * hourMs })
    await installAll(await linkAll())
    expect(names.map(firmwareNow)).toEqual(names.map(() => '2.0.0'))
    await stage.ask(putRelease('3.0.0'))
    stage = await stage.reborn({ afterMs: hourMs })
    expect((await linkAll(firmwareNow)).flatMap(({ offers }) => offers)).toEqual([])
  })
})
