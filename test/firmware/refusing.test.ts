import { beforeEach, describe, expect, test } from 'vitest'
import type { FirmwareStatusMessage } from '#model/link-message'
import { offered, type TestDevice, UpdateStage } from '#test/firmware/update-stage'

/** Devices that take no firmware by themselves any more, by the HELLO that they say while one is on its way. */

let stage: UpdateStage
let device: TestDevice

async function open(isConnectUpdateDisabled: boolean): Promise<void> {
  stage = await UpdateStage.open({ options: { isConnectUpdateDisabled } })
  stage.checks.answer = ({ firmware }) => (firmware === '2.0.0' ? undefined : offered())
}

beforeEach(() => open(false))

/** Begun by this; `joined`: by itself, and somebody asks by hand behind it. */
async function begun(by: 'connect' | 'cron' | 'hook' | 'joined' | 'post'): Promise<void> {
  const isByItself = by === 'connect' || by === 'joined'
  await open(!isByItself)
  device = await stage.linked()
  const considered = by === 'cron' || by === 'hook' ? stage.updater.consider('default', 'A', by) : undefined
  if (by === 'joined' || by === 'post') stage.trigger()
  await stage.settle()
  await considered
  expect(device.offers).toHaveLength(1)
}

type Case = readonly [Parameters<typeof begun>[0], FirmwareStatusMessage['status'] | 'nothing', string, number, string]

const begins = ['STARTED', 'DOWNLOADING', 'INSTALLING'] as const

describe('one that was offered firmware, and says HELLO again before it was welcomed', () => {
  test.each([
    ['2.0.0', 'done', 0],
    ['1.0.0', 'started', 1],
  ])('the later one counts: it has %s, it is %s, and it is offered it so often: %i', async (firmware, state, times) => {
    await begun('post')
    await device.say('STARTED')
    const { length } = device.offers
    const said = { project: 'boiler', services: [] }
    device.link.hello('A', { ...said, firmwares: [{ firmware: '1.0.0', index: 0 }], session: 'boot-2' })
    device.link.hello('A', { ...said, firmwares: [{ firmware, index: 0 }], session: 'boot-3' })
    await stage.settle()
    expect([stage.stored()?.state, device.offers.length - length]).toEqual([state, times])
  })
})

describe('one that was offered firmware, and refuses from then on', () => {
  test.each<Case>([
    ['connect', 'nothing', 'boot-1', 1, 'failed'],
    ['connect', 'nothing', 'boot-2', 1, 'failed'],
    ['cron', 'nothing', 'boot-2', 1, 'failed'],
    ['hook', 'nothing', 'boot-2', 1, 'failed'],
    ['joined', 'nothing', 'boot-2', 2, 'offering'],
    ['post', 'nothing', 'boot-1', 2, 'offering'],
    ['post', 'nothing', 'boot-2', 2, 'offering'],
    ...begins.map((said) => ['connect', said, 'boot-1', 1, said.toLowerCase()] as const),
    ...begins.map((said) => ['connect', said, 'boot-2', 1, 'failed'] as const),
    ...begins.map((said) => ['post', said, 'boot-2', 2, 'started'] as const),
  ])('by %s, having said %s, in session %s: it hears %i, and it is %s', async (by, said, session, count, state) => {
    await begun(by)
    await device.hello({ session: 'boot-1' })
    const { length } = device.offers
    if (said !== 'nothing') await device.say(said)
    await device.hello({ session, autoUpdate: false })
    expect([device.offers.length - length + 1, stage.stored()?.state]).toEqual([count, state])
  })

  test('on another link, naming no firmware: it hears nothing', async () => {
    await begun('connect')
    device.link = stage.room.connect()
    await device.hello({ firmwares: undefined, autoUpdate: false })
    expect([device.offers.length, stage.stored()?.state]).toEqual([0, 'failed'])
  })

  test('behind a new process: it hears nothing', async () => {
    await begun('connect')
    const next = await stage.reborn()
    const back = await next.linked('A', { autoUpdate: false })
    expect([back.offers.length, next.stored()?.state]).toEqual([0, 'failed'])
    next.checks.answer = () => offered()
    next.trigger()
    await next.settle()
    expect(back.offers).toHaveLength(1)
  })

  test('is not offered it later by itself, and is done if it installed it all the same', async () => {
    await begun('connect')
    await device.hello({ autoUpdate: false })
    expect(stage.stored()?.context.message).toBe('DEVICE_NOT_OK: it refuses automatic updates')
    await stage.world.advance(60 * 60_000)
    expect(device.offers).toHaveLength(1)
    await device.hello({ firmware: '2.0.0', session: 'boot-2', autoUpdate: false })
    expect(stage.stored()?.state).toBe('done')
  })

  test('and takes it by itself again later: it is offered it anew', async () => {
    await begun('connect')
    await device.hello({ autoUpdate: false })
    await stage.world.advance(60 * 60_000)
    await device.hello()
    expect([device.offers.length, stage.stored()?.state]).toEqual([2, 'offering'])
  })
})

test('one that refuses since the server was asked is left alone', async () => {
  stage.checks.isEmbedded = false
  stage.checks.isHeld = true
  device = await stage.linked()
  await device.hello({ autoUpdate: false })
  stage.checks.release()
  await stage.settle()
  expect([device.offers.length, stage.told]).toEqual([0, []])
})
