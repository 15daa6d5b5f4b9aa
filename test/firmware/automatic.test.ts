import { beforeEach, describe, expect, test } from 'vitest'
import type { UpdateOptions } from '#firmware/options'
import { silentMs } from '#firmware/update-slots'
import { UpdateServerFailed } from '#model/update-offer'
import { offered, type TestDevice, UpdateStage } from '#test/firmware/update-stage'

let stage: UpdateStage

async function open(options: Partial<UpdateOptions> = {}): Promise<void> {
  stage = await UpdateStage.open({ options })
  stage.checks.answer = ({ firmware }) => (firmware === '2.0.0' ? undefined : offered())
}

beforeEach(() => open())

async function consider(...[device, by, only]: [string, 'cron' | 'hook', (readonly number[])?]): Promise<void> {
  const considered = stage.updater.consider('default', device, by, only && { only })
  await stage.settle()
  await considered
}

describe('a device that comes', () => {
  test.each([true, false])(
    'is offered what there is for it, which is the first that is told (embedded: %s)',
    async (is) => {
      stage.checks.isEmbedded = is
      const device = await stage.linked()
      expect([device.offers.length, stage.told]).toEqual([1, ['offering']])
      expect(stage.checks.asked.map(({ isAutomatic }) => isAutomatic)).toEqual([true])
      await device.install()
      expect([stage.stored()?.state, stage.updater.counts]).toEqual(['done', { offered: 1, done: 1, failed: 0 }])
      // It came again, and has what there is.
      expect(stage.checks.asked).toHaveLength(2)
    },
  )

  test('is not, when there is nothing, it refuses, or says too little: nothing is told, and no update is made', async () => {
    stage.checks.answer = () => undefined
    await stage.linked('A')
    stage.checks.answer = () => offered()
    await stage.linked('B', { autoUpdate: false })
    await stage.linked('C', { project: undefined })
    await stage.linked('D', { firmwares: [] })
    expect(stage.checks.asked.map(({ device }) => device)).toEqual(['A'])
    expect([stage.told, ['A', 'B', 'C', 'D'].map((device) => stage.stored(device))]).toEqual([
      [],
      [undefined, undefined, undefined, undefined],
    ])
  })

  test('is not, when updates on connect are off', async () => {
    await open({ isConnectUpdateDisabled: true })
    await stage.linked()
    expect([stage.checks.asked, stage.told]).toEqual([[], []])
  })

  test('is not, when the server fails; it is found by the next trigger', async () => {
    const { answer } = stage.checks
    stage.checks.answer = () => new UpdateServerFailed('no')
    const device = await stage.linked()
    expect([stage.told, stage.bugs]).toEqual([[], []])
    stage.checks.answer = answer
    await consider('A', 'cron')
    expect(device.offers).toHaveLength(1)
  })

  test('and went while the server was asked is left alone', async () => {
    stage.checks.isEmbedded = false
    stage.checks.isHeld = true
    const device = await stage.linked()
    device.link.close()
    stage.checks.release()
    await stage.settle()
    expect(stage.told).toEqual([])
  })

  test('with another firmware since the server was asked is left alone', async () => {
    stage.checks.isEmbedded = false
    stage.checks.isHeld = true
    const device = await stage.linked()
    await device.hello({ firmware: '2.0.0' })
    stage.checks.release()
    await stage.settle()
    expect(stage.told).toEqual([])
  })

  test('fifteen thousand of them, with nothing due: nothing is stored of updates, and none is woken', async () => {
    stage.checks.answer = () => undefined
    const gateway = stage.room.connect()
    for (let count = 0; count < 15_000; count++) {
      gateway.hello(`D${count}`, { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], services: [] })
      if (count % 5_000 === 0) await stage.settle()
    }
    await stage.settle()
    expect(stage.checks.asked).toHaveLength(15_000)
    expect([stage.told, stage.room.stage.system.registry.isAsleep('update', 'default')]).toEqual([[], true])
  })
})

describe('the schedule and the hook', () => {
  test('pass over devices without a link, and those that update already', async () => {
    await open({ isConnectUpdateDisabled: true })
    const device = await stage.linked()
    await consider('A', 'cron')
    await consider('A', 'hook')
    await consider('B', 'hook')
    expect([device.offers.length, stage.checks.asked.length]).toEqual([1, 1])
  })

  test('look at the indexes that are meant', async () => {
    await open({ isConnectUpdateDisabled: true })
    const firmwares = [0, 1, 2].map((index) => ({ firmware: '1.0.0', index }))
    await stage.linked('A', { firmwares })
    stage.checks.answer = () => undefined
    await consider('A', 'hook', [2, 1])
    expect(stage.checks.asked.map(({ index }) => index)).toEqual([1, 2])
  })
})

describe('of those that begin by themselves', () => {
  async function fleet(count: number): Promise<TestDevice[]> {
    const devices: TestDevice[] = []
    for (let number = 0; number < count; number++) devices.push(await stage.linked(`D${number}`))
    return devices
  }
  const offeredTo = (devices: readonly TestDevice[]) => devices.filter(({ offers }) => offers.length > 0).length

  test('so many download at once: the next one begins when one is past that', async () => {
    await open({ underWayMax: 2 })
    const devices = await fleet(4)
    expect(offeredTo(devices)).toBe(2)
    await devices[0]?.say('DOWNLOADING', { progress: 50 })
    expect(offeredTo(devices)).toBe(2)
    await devices[0]?.say('INSTALLING')
    expect(offeredTo(devices)).toBe(3)
    await devices[1]?.say('NOT_OK')
    expect([offeredTo(devices), stage.updater.underWay]).toEqual([4, 3])
  })

  test('one that is silent for a minute gives its place up, and its update goes on', async () => {
    await open({ underWayMax: 1 })
    const devices = await fleet(2)
    await devices[0]?.say('STARTED')
    await stage.world.advance(silentMs - 1)
    expect(offeredTo(devices)).toBe(1)
    await stage.world.advance(1)
    expect([offeredTo(devices), stage.stored('D0')?.state]).toEqual([2, 'started'])
  })

  test('one that waited is looked at anew: there may be nothing for it any more', async () => {
    await open({ underWayMax: 1 })
    const devices = await fleet(3)
    devices[1]?.link.close()
    stage.checks.answer = ({ device }) => (device === 'D2' ? offered('2.0.1') : undefined)
    await devices[0]?.say('NOT_OK')
    expect([devices[1]?.offers.length, devices[2]?.offers.map(({ firmware }) => firmware)]).toEqual([0, ['2.0.1']])
  })

  test('who asks by hand waits for none', async () => {
    await open({ underWayMax: 1 })
    const devices = await fleet(2)
    stage.trigger('D1')
    await stage.settle()
    expect(offeredTo(devices)).toBe(2)
  })

  test('a gateway with a thousand: all are offered theirs in the end, and a broken link fails those that were', async () => {
    const gateway = stage.room.connect()
    const devices: TestDevice[] = []
    const heard = () => gateway.received.filter(({ type }) => type === 'FIRMWARE')
    for (let count = 0; count < 1_000; count++) {
      gateway.hello(`D${count}`, { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }], services: [] })
    }
    await stage.settle()
    expect(heard()).toHaveLength(64)
    for (let answered = 0; answered < 900; answered++) {
      const { flakeAddress, id } = heard()[answered] as { flakeAddress: number; id: string }
      gateway.transmit({ type: 'FIRMWARE_STATUS', flakeAddress, id, status: 'INSTALLING' })
      // So many begin a second; those that are offered theirs answer in time.
      if (answered % 50 === 0) await stage.world.advance(500)
    }
    await stage.world.advance(1_000)
    expect(heard()).toHaveLength(964)
    gateway.close()
    await stage.settle()
    expect(stage.told.filter((status) => status === 'failed')).toHaveLength(64)
    expect([devices, stage.updater.underWay]).toEqual([[], 900])
  })
})
