import { beforeEach, describe, expect, test } from 'vitest'
import type { UpdateOptions } from '#firmware/options'
import { UpdateServerFailed } from '#model/update-offer'
import { offered, type TestDevice, UpdateFixture } from '#test/firmware/update-fixture'

let fixture: UpdateFixture

async function open(options: Partial<UpdateOptions> = {}): Promise<void> {
  fixture = await UpdateFixture.open({ options })
  fixture.checks.answer = ({ firmware }) => (firmware === '2.0.0' ? undefined : offered())
}

beforeEach(() => open())

async function consider(...[device, by, only]: [string, 'cron' | 'hook', (readonly number[])?]): Promise<void> {
  const considered = fixture.updater.consider('default', device, by, only && { only })
  await fixture.settle()
  await considered
}

describe('a connecting device', () => {
  test.each([true, false])('is offered an update, without a checking event (embedded: %s)', async (isEmbedded) => {
    fixture.checks.isEmbedded = isEmbedded
    const device = await fixture.connect()
    expect([device.offers.length, fixture.statuses]).toEqual([1, ['offering']])
    expect(fixture.checks.queries.map(({ isAutomatic }) => isAutomatic)).toEqual([true])
    await device.install()
    expect([fixture.stored()?.state, fixture.updater.counts]).toEqual(['done', { offered: 1, done: 1, failed: 0 }])
    // The device is checked again when it reconnects.
    expect(fixture.checks.queries).toHaveLength(2)
  })

  test('without an update, consent, project or firmware causes no event and no stored update', async () => {
    fixture.checks.answer = () => undefined
    await fixture.connect('A')
    fixture.checks.answer = () => offered()
    await fixture.connect('B', { autoUpdate: false })
    await fixture.connect('C', { project: undefined })
    await fixture.connect('D', { firmwares: [] })
    expect(fixture.checks.queries.map(({ device }) => device)).toEqual(['A'])
    expect([fixture.statuses, ['A', 'B', 'C', 'D'].map((device) => fixture.stored(device))]).toEqual([
      [],
      [undefined, undefined, undefined, undefined],
    ])
  })

  test('gets no offer if the server fails, until the next trigger', async () => {
    const { answer } = fixture.checks
    fixture.checks.answer = () => new UpdateServerFailed('no')
    const device = await fixture.connect()
    expect([fixture.statuses, fixture.bugs]).toEqual([[], []])
    fixture.checks.answer = answer
    await consider('A', 'cron')
    expect(device.offers).toHaveLength(1)
  })

  test.each<[name: string, change: (device: TestDevice) => unknown]>([
    ['disconnects', ({ link }) => link.close()],
    ['changes its firmware', (device) => device.hello({ firmware: '2.0.0' })],
    ['refuses automatic updates', (device) => device.hello({ autoUpdate: false })],
  ])('that %s while the server is asked gets no offer', async (_, change) => {
    fixture.checks.isEmbedded = false
    fixture.checks.isHeld = true
    const device = await fixture.connect()
    await change(device)
    fixture.checks.release()
    await fixture.settle()
    expect([device.offers, fixture.statuses]).toEqual([[], []])
  })

  test('causes no stored update and wakes no actor, even for 3 000 devices without an update', async () => {
    fixture.checks.answer = () => undefined
    const gateway = fixture.linkFixture.connect()
    for (let count = 0; count < 3_000; count++) {
      gateway.hello(`D${count}`, { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], services: [] })
      if (count % 1_000 === 0) await fixture.settle()
    }
    await fixture.settle()
    expect(fixture.checks.queries).toHaveLength(3_000)
    expect([fixture.statuses, fixture.linkFixture.runtime.system.registry.isAsleep('update', 'default')]).toEqual([
      [],
      true,
    ])
  })
})

describe('the schedule and the hook', () => {
  test('skip devices that are offline or already updating', async () => {
    await open({ isConnectUpdateDisabled: true })
    const device = await fixture.connect()
    await consider('A', 'cron')
    await consider('A', 'hook')
    await consider('B', 'hook')
    expect([device.offers.length, fixture.checks.queries.length]).toEqual([1, 1])
  })

  test('check only the given indexes', async () => {
    await open({ isConnectUpdateDisabled: true })
    const firmwares = [0, 1, 2].map((index) => ({ firmware: '1.0.0', index }))
    await fixture.connect('A', { firmwares })
    fixture.checks.answer = () => undefined
    await consider('A', 'hook', [2, 1])
    expect(fixture.checks.queries.map(({ index }) => index)).toEqual([1, 2])
  })
})

describe('slots of automatic updates', () => {
  async function fleet(count: number): Promise<TestDevice[]> {
    const devices: TestDevice[] = []
    for (let number = 0; number < count; number++) devices.push(await fixture.connect(`D${number}`))
    return devices
  }
  const offeredTo = (devices: readonly TestDevice[]) => devices.filter(({ offers }) => offers.length > 0).length

  test('limit concurrent downloads', async () => {
    await open({ underWayMax: 2 })
    const devices = await fleet(4)
    expect(offeredTo(devices)).toBe(2)
    await devices[0]?.report('DOWNLOADING', { progress: 50 })
    expect(offeredTo(devices)).toBe(2)
    await devices[0]?.report('INSTALLING')
    expect(offeredTo(devices)).toBe(3)
    await devices[1]?.report('NOT_OK')
    expect([offeredTo(devices), fixture.updater.starter.runningCount]).toEqual([4, 3])
  })

  test('go to waiting devices after another check', async () => {
    await open({ underWayMax: 1 })
    const devices = await fleet(3)
    devices[1]?.link.close()
    fixture.checks.answer = ({ device }) => (device === 'D2' ? offered('2.0.1') : undefined)
    await devices[0]?.report('NOT_OK')
    expect([devices[1]?.offers.length, devices[2]?.offers.map(({ firmware }) => firmware)]).toEqual([0, ['2.0.1']])
  })

  test('stay with updates in progress after a restart', async () => {
    const options = { underWayMax: 1 }
    await open(options)
    const device = await fixture.connect()
    await device.report('STARTED')
    const next = await fixture.restart({ options })
    next.checks.answer = () => offered()
    const other = await next.connect('B')
    expect([next.updater.starter.runningCount, other.offers.length]).toEqual([1, 0])
  })

  test('do not delay manual triggers', async () => {
    await open({ underWayMax: 1 })
    const devices = await fleet(2)
    fixture.trigger('D1')
    await fixture.settle()
    expect(offeredTo(devices)).toBe(2)
  })

  test('serve a thousand devices of a gateway; a broken connection fails their offers', async () => {
    const gateway = fixture.linkFixture.connect()
    const offers = () => gateway.received.filter(({ type }) => type === 'FIRMWARE')
    for (let count = 0; count < 1_000; count++) {
      gateway.hello(`D${count}`, { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], services: [] })
    }
    await fixture.settle()
    expect(offers()).toHaveLength(64)
    for (let answered = 0; answered < 900; answered++) {
      const { flakeAddress, id } = offers()[answered] as { flakeAddress: number; id: string }
      gateway.transmit({ type: 'FIRMWARE_STATUS', flakeAddress, id, status: 'INSTALLING' })
      // The rate of starts allows these answers in time.
      if (answered % 50 === 0) await fixture.world.advance(500)
    }
    await fixture.world.advance(1_000)
    expect(offers()).toHaveLength(964)
    gateway.close()
    await fixture.settle()
    expect(fixture.statuses.filter((status) => status === 'failed')).toHaveLength(64)
    expect(fixture.updater.starter.runningCount).toBe(900)
  })
})
