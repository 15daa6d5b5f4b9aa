import { beforeEach, describe, expect, test } from 'vitest'
import { ImageUrls } from '#access/image-urls'
import { deviceAddress } from '#actors/device/device'
import { offerUrl } from '#link/offers'
import { updateStates } from '#model/firmware'
import { Problem } from '#model/problem'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import { offered, TestDevice, type Triggered, UpdateStage } from '#test/firmware/update-stage'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace } from '#test/runtime/runtime-fixture'

/** No update is in any state. */
const nowhere = Object.fromEntries(updateStates.map((state) => [state, 0]))

let stage: UpdateStage

beforeEach(async () => {
  // What begins by itself is tested elsewhere.
  stage = await UpdateStage.open({ options: { isConnectUpdateDisabled: true } })
  stage.checks.answer = () => offered()
})

async function trigger(device = 'A', seed = 1): Promise<Triggered> {
  const triggered = stage.trigger(device, seed)
  await stage.settle()
  return triggered
}

/** A device that was offered an update that somebody waits for. */
async function offering(): Promise<{ device: TestDevice; asked: Triggered }> {
  const device = await stage.linked()
  const asked = await trigger()
  expect([asked.outcome, device.offers.length]).toEqual([undefined, 1])
  return { device, asked }
}

describe('a device that is asked to update', () => {
  test.each(['json', 'msgpack'] as const)(
    'hears what is offered, and who asked that it began (%s)',
    async (protocol) => {
      stage.checks.answer = () => offered('2.0.0', { hardware: 'B', size: 2 ** 33 })
      const device = await stage.linked('A', {}, protocol)
      const asked = await trigger()
      const { id } = stage.stored()?.context ?? {}
      expect(device.link.received.at(-1)).toEqual({
        type: 'FIRMWARE',
        flakeAddress: 1,
        id,
        firmware: '2.0.0',
        hardware: 'B',
        index: 0,
        url: 'https://images.example/2.0.0',
        sha256: 'ab'.repeat(32),
        size: 2 ** 33,
      })
      expect([asked.outcome, stage.told]).toEqual([undefined, ['checking', 'offering']])
      expect(stage.updater.states).toEqual({ ...nowhere, offering: 1 })
      await device.say('STARTED')
      expect(stage.updater.states).toEqual({ ...nowhere, started: 1 })
      expect([asked.outcome, stage.told.at(-1)]).toEqual(['STARTED', 'started'])
      expect(stage.checks.asked).toEqual([
        { tenant: 'default', device: 'A', project: 'boiler', firmware: '1.0.0', index: 0, isAutomatic: false },
      ])
    },
  )

  test('is asked whatever it refuses to do by itself', async () => {
    const device = await stage.linked('A', { autoUpdate: false })
    await trigger()
    expect(device.offers).toHaveLength(1)
  })
})

describe('who asks hears', () => {
  test.each([
    ['busy', new UpdateServerBusy('later'), 'UPDATE_SERVER_OUT_OF_RESOURCES later'],
    ['failed', new UpdateServerFailed('no answer'), 'UPDATE_SERVER_ERROR no answer'],
    ['failed, and we with it', new TypeError('a bug'), 'SERVER_ERROR'],
    ['not asked, for too much waits', new Problem('overloaded'), 'overloaded'],
  ])('of an update server that is %s', async (_, error, expected) => {
    stage.checks.answer = () => error
    await stage.linked()
    const asked = await trigger()
    expect([asked.outcome, stage.stored()?.state]).toEqual([expected, 'failed'])
    expect(stage.bugs).toHaveLength(error instanceof TypeError ? 1 : 0)
  })

  test.each<[string, Parameters<UpdateStage['linked']>[1]]>([
    ['no project', { project: undefined }],
    ['no firmware', { firmwares: undefined }],
    ['an empty list of firmwares', { firmwares: [] }],
  ])('NO_UPDATE of a device that says %s, and nothing is asked', async (_, more) => {
    await stage.linked('A', more)
    expect((await trigger()).outcome).toBe('NO_UPDATE')
    expect([stage.checks.asked, stage.told, stage.stored()]).toEqual([[], [], undefined])
  })

  test('DEVICE_OFFLINE of a device without a link, whatever there is for it', async () => {
    const device = await stage.linked()
    device.link.close()
    expect((await trigger()).outcome).toBe('DEVICE_OFFLINE')
    expect([stage.checks.asked, stage.told]).toEqual([[], []])
  })

  test('that there is no such device', async () => {
    expect((await trigger('B')).outcome).toBe('not_found')
  })

  test.each<[string, (device: TestDevice) => void]>([
    ['the link breaks', ({ link }) => link.close()],
    ['the device says BYE', ({ link }) => link.transmit({ type: 'BYE', flakeAddress: link.address })],
  ])('DEVICE_OFFLINE at once when %s', async (_, cut) => {
    const { device, asked } = await offering()
    cut(device)
    await stage.settle()
    expect([asked.outcome, stage.stored()?.context.reason]).toEqual([
      'DEVICE_OFFLINE its connection was lost',
      'offline',
    ])
  })

  test('DEVICE_OFFLINE when the link broke while the server was asked', async () => {
    stage.checks.isHeld = true
    const device = await stage.linked()
    const asked = await trigger()
    device.link.close()
    stage.checks.release()
    await stage.settle()
    expect(asked.outcome).toMatch(/^DEVICE_OFFLINE/)
  })

  test.each([
    [null, /^SERVER_ERROR no address/, 0],
    ['https://elsewhere.example/', undefined, 1],
  ])(
    'SERVER_ERROR when no address of this server can be told, and one is needed (image at %s)',
    async (url, outcome, count) => {
      const world = new ManualWorld()
      const imageUrls = new ImageUrls(() => new Uint8Array(32))
      stage = await UpdateStage.open({ world, offerUrl: offerUrl({ world, imageUrls, publicUrls: [] }) })
      const device = new TestDevice(stage, 'A', stage.room.connect({ origin: '' }))
      await device.hello()
      stage.checks.answer = () => offered('2.0.0', { url })
      const asked = await trigger()
      if (outcome) expect(asked.outcome).toMatch(outcome)
      else expect(asked.outcome).toBeUndefined()
      expect(device.offers).toHaveLength(count)
    },
  )

  test('that the device was removed', async () => {
    const { asked } = await offering()
    stage.room.stage.ask(deviceAddress('default', 'A'), { type: 'remove' })
    await stage.settle()
    expect([asked.outcome, stage.stored(), stage.updater.underWay]).toEqual(['not_found', undefined, 0])
  })

  test('that the server stops', async () => {
    const { device, asked } = await offering()
    stage.updater.stop()
    device.link.close()
    await stage.settle()
    // The next process goes on with it: the link did not break by itself.
    expect([asked.outcome, (await trigger()).outcome, stage.stored()?.state]).toEqual([
      'stopping',
      'stopping',
      'offering',
    ])
  })

  test('nothing more when he went away, and others do', async () => {
    const device = await stage.linked()
    const aborter = new AbortController()
    const gone = stage.trigger('A', 1, aborter.signal)
    const waiting = await trigger('A', 2)
    aborter.abort()
    await stage.settle()
    expect([gone.outcome, waiting.outcome]).toEqual(['stopping', undefined])
    await device.say('STARTED')
    expect([gone.outcome, waiting.outcome]).toEqual(['stopping', 'STARTED'])
  })
})

describe('a write that fails', () => {
  test('while somebody waits is SERVER_ERROR; the update goes on when the store was read', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    stage = await UpdateStage.open({ world, place, options: { isConnectUpdateDisabled: true } })
    stage.checks.answer = () => offered()
    const { device, asked } = await offering()
    faults.next = { fail: 'full', reachedDisk: false }
    await device.say('STARTED')
    expect(asked.outcome).toMatch(/^SERVER_ERROR/)
    await world.advance(5_000)
    expect(stage.room.stage.log).toContain('reloaded')
    expect([stage.stored()?.state, stage.updater.underWay]).toEqual(['offering', 1])
    const back = await stage.linked()
    expect(back.offers.map(({ id }) => id)).toEqual(device.offers.map(({ id }) => id))
    await back.say('STARTED')
    expect(stage.stored()?.state).toBe('started')
  })

  test('before anything was begun is 503', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    stage = await UpdateStage.open({ world, place })
    await stage.linked()
    faults.next = { fail: 'full', reachedDisk: false }
    expect((await trigger()).outcome).toBe('storage')
  })
})

describe('asking again', () => {
  test('joins what goes on: fifty who ask at once hear the same of one update', async () => {
    const device = await stage.linked()
    const asked = Array.from({ length: 50 }, (_, seed) => stage.trigger('A', seed))
    await stage.settle()
    expect([device.offers.length, stage.checks.asked.length]).toEqual([1, 1])
    await device.say('STARTED')
    expect(new Set(asked.map(({ outcome }) => outcome))).toEqual(new Set(['STARTED']))
    expect(stage.told).toEqual(['checking', 'offering', 'started'])
  })
})

describe('no cut is', () => {
  test('another link that takes over: it is offered the same there', async () => {
    const { device, asked } = await offering()
    const other = await stage.linked()
    expect(other.offers.map(({ id }) => id)).toEqual(device.offers.map(({ id }) => id))
    device.link.close()
    await stage.settle()
    expect(asked.outcome).toBeUndefined()
    await other.say('STARTED')
    expect(asked.outcome).toBe('STARTED')
  })

  test('the old link that closes before the new one is welcomed', async () => {
    const { device, asked } = await offering()
    const other = stage.room.connect()
    other.hello('A', { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }] })
    device.link.close()
    await stage.settle()
    expect([asked.outcome, other.lines]).toEqual([undefined, ['WELCOME @1 0', 'FIRMWARE @1']])
  })

  test('another HELLO on the same link', async () => {
    const { device, asked } = await offering()
    await device.hello({ session: 'boot-2' })
    expect([asked.outcome, new Set(device.offers.map(({ id }) => id)).size, device.offers.length]).toEqual([
      undefined,
      1,
      2,
    ])
  })
})

describe('what a device says late', () => {
  test('of what it was never offered means nothing, and wakes nobody', async () => {
    const device = await stage.linked()
    const { awakeCount } = stage.room.stage.system.registry
    device.link.transmit({ type: 'FIRMWARE_STATUS', flakeAddress: 1, id: 'other', status: 'STARTED' })
    await stage.settle()
    expect([stage.told, device.link.closedWith]).toEqual([[], undefined])
    expect(stage.room.stage.system.registry.awakeCount).toBe(awakeCount)
  })
})
