import { describe, expect, test } from 'vitest'
import type { FirmwareStatusMessage } from '#model/link-message'
import { offered, type TestDevice, UpdateFixture } from '#test/firmware/update-fixture'

/** Devices whose HELLO during an update refuses automatic updates. */

let fixture: UpdateFixture
let device: TestDevice

/** Starts an update by this trigger; `joined` is an automatic update that a manual trigger joins. */
async function begin(by: 'connect' | 'cron' | 'hook' | 'joined' | 'post'): Promise<void> {
  const isConnectUpdateDisabled = by !== 'connect' && by !== 'joined'
  fixture = await UpdateFixture.open({ options: { isConnectUpdateDisabled } })
  fixture.checks.answer = ({ firmware }) => (firmware === '2.0.0' ? undefined : offered())
  device = await fixture.connect()
  const considered = by === 'cron' || by === 'hook' ? fixture.updater.consider('default', 'A', by) : undefined
  if (by === 'joined' || by === 'post') fixture.trigger()
  await fixture.settle()
  await considered
  expect(device.offers).toHaveLength(1)
}

type Case = readonly [Parameters<typeof begin>[0], FirmwareStatusMessage['status'] | 'nothing', string, number, string]

const startedStatuses = ['STARTED', 'DOWNLOADING', 'INSTALLING'] as const

test.each([
  ['2.0.0', 'done', 0],
  ['1.0.0', 'started', 1],
])(
  'if two HELLOs arrive before WELCOME, the later one counts: with firmware %s the update is %s, with %i more offers',
  async (firmware, state, times) => {
    await begin('post')
    await device.report('STARTED')
    const { length } = device.offers
    const common = { project: 'boiler', services: [] }
    device.link.hello('A', { ...common, firmwares: [{ firmware: '1.0.0', index: 0 }], session: 'boot-2' })
    device.link.hello('A', { ...common, firmwares: [{ firmware, index: 0 }], session: 'boot-3' })
    await fixture.settle()
    expect([fixture.stored()?.state, device.offers.length - length]).toEqual([state, times])
  },
)

describe('a device that refuses after an offer', () => {
  test.each<Case>([
    ['connect', 'nothing', 'boot-1', 1, 'failed'],
    ['connect', 'nothing', 'boot-2', 1, 'failed'],
    ['cron', 'nothing', 'boot-2', 1, 'failed'],
    ['hook', 'nothing', 'boot-2', 1, 'failed'],
    ['joined', 'nothing', 'boot-2', 2, 'offering'],
    ['post', 'nothing', 'boot-1', 2, 'offering'],
    ['post', 'nothing', 'boot-2', 2, 'offering'],
    ...startedStatuses.map((status) => ['connect', status, 'boot-1', 1, status.toLowerCase()] as const),
    ...startedStatuses.map((status) => ['connect', status, 'boot-2', 1, 'failed'] as const),
    ...startedStatuses.map((status) => ['post', status, 'boot-2', 2, 'started'] as const),
  ])(
    'by %s, after status %s, in session %s: %i offers, and the update is %s',
    async (by, status, session, count, state) => {
      await begin(by)
      await device.hello({ session: 'boot-1' })
      const { length } = device.offers
      if (status !== 'nothing') await device.report(status)
      await device.hello({ session, autoUpdate: false })
      expect([device.offers.length - length + 1, fixture.stored()?.state]).toEqual([count, state])
    },
  )

  test('on another connection without firmware: no offer', async () => {
    await begin('connect')
    device.link = fixture.linkFixture.connect()
    await device.hello({ firmwares: undefined, autoUpdate: false })
    expect([device.offers.length, fixture.stored()?.state]).toEqual([0, 'failed'])
  })

  test('after a restart: no offer', async () => {
    await begin('connect')
    const next = await fixture.restart()
    const back = await next.connect('A', { autoUpdate: false })
    expect([back.offers.length, next.stored()?.state]).toEqual([0, 'failed'])
    next.checks.answer = () => offered()
    next.trigger()
    await next.settle()
    expect(back.offers).toHaveLength(1)
  })

  test('gets no automatic offer later, and is done if it installed the firmware anyway', async () => {
    await begin('connect')
    await device.hello({ autoUpdate: false })
    expect(fixture.stored()?.context.message).toBe('DEVICE_NOT_OK: the device refuses automatic updates')
    await fixture.world.advance(60 * 60_000)
    expect(device.offers).toHaveLength(1)
    await device.hello({ firmware: '2.0.0', session: 'boot-2', autoUpdate: false })
    expect(fixture.stored()?.state).toBe('done')
  })

  test('gets the offer again after it accepts automatic updates', async () => {
    await begin('connect')
    await device.hello({ autoUpdate: false })
    await fixture.world.advance(60 * 60_000)
    await device.hello()
    expect([device.offers.length, fixture.stored()?.state]).toEqual([2, 'offering'])
  })
})
