import { beforeEach, describe, expect, test } from 'vitest'
import { ImageUrls } from '#access/signed-urls'
import { deviceAddress } from '#actors/device/device'
import { offerUrl } from '#link/offers'
import { updateStates } from '#model/firmware'
import { Problem } from '#model/problem'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import { offered, type RecordedTrigger, TestDevice, UpdateFixture } from '#test/firmware/update-fixture'
import { ManualWorld } from '#test/runtime/manual-world'

/** No update in any state. */
const noUpdates = Object.fromEntries(updateStates.map((state) => [state, 0]))

let fixture: UpdateFixture

beforeEach(async () => {
  // Automatic updates have their own tests.
  fixture = await UpdateFixture.open({ options: { isConnectUpdateDisabled: true } })
  fixture.checks.answer = () => offered()
})

async function trigger(device = 'A', seed = 1): Promise<RecordedTrigger> {
  const triggered = fixture.trigger(device, seed)
  await fixture.settle()
  return triggered
}

/** A device with an offer that a trigger waits for. */
async function openOffer(): Promise<{ device: TestDevice; asked: RecordedTrigger }> {
  const device = await fixture.connect()
  const asked = await trigger()
  expect([asked.outcome, device.offers.length]).toEqual([undefined, 1])
  return { device, asked }
}

test.each(['json', 'msgpack'] as const)(
  'a triggered update sends the offer, and is answered when it has started (%s)',
  async (protocol) => {
    fixture.checks.answer = () => offered('2.0.0', { hardware: 'B', size: 2 ** 33 })
    const device = await fixture.connect('A', {}, protocol)
    const asked = await trigger()
    const { id } = fixture.stored()?.context ?? {}
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
    expect([asked.outcome, fixture.statuses]).toEqual([undefined, ['checking', 'offering']])
    expect(fixture.updater.starter.states).toEqual({ ...noUpdates, offering: 1 })
    await device.report('STARTED')
    expect(fixture.updater.starter.states).toEqual({ ...noUpdates, started: 1 })
    expect([asked.outcome, fixture.statuses.at(-1)]).toEqual(['STARTED', 'started'])
    expect(fixture.checks.queries).toEqual([
      { tenant: 'default', device: 'A', project: 'boiler', firmware: '1.0.0', index: 0, isAutomatic: false },
    ])
  },
)

describe('a trigger is answered', () => {
  test.each([
    ['busy', new UpdateServerBusy('later'), 'UPDATE_SERVER_OUT_OF_RESOURCES later'],
    ['failed', new UpdateServerFailed('no answer'), 'UPDATE_SERVER_ERROR no answer'],
    ['failed by a bug', new TypeError('a bug'), 'SERVER_ERROR'],
    ['not asked because of overload', new Problem('overloaded'), 'overloaded'],
  ])('when the update server is %s', async (_, error, expected) => {
    fixture.checks.answer = () => error
    await fixture.connect()
    const asked = await trigger()
    expect([asked.outcome, fixture.stored()?.state]).toEqual([expected, 'failed'])
    expect(fixture.bugs).toHaveLength(error instanceof TypeError ? 1 : 0)
  })

  test.each<[string, Parameters<UpdateFixture['connect']>[1]]>([
    ['no project', { project: undefined }],
    ['no firmware', { firmwares: undefined }],
    ['an empty list of firmwares', { firmwares: [] }],
  ])('NO_UPDATE without a query for a device with %s', async (_, more) => {
    await fixture.connect('A', more)
    expect((await trigger()).outcome).toBe('NO_UPDATE')
    expect([fixture.checks.queries, fixture.statuses, fixture.stored()]).toEqual([[], [], undefined])
  })

  test('DEVICE_OFFLINE for a disconnected device, even if there is an update', async () => {
    const device = await fixture.connect()
    device.link.close()
    expect((await trigger()).outcome).toBe('DEVICE_OFFLINE')
    expect([fixture.checks.queries, fixture.statuses]).toEqual([[], []])
  })

  test('not_found for an unknown device', async () => {
    expect((await trigger('B')).outcome).toBe('not_found')
  })

  test.each<[string, (device: TestDevice) => void]>([
    ['the connection breaks', ({ link }) => link.close()],
    ['the device sends BYE', ({ link }) => link.transmit({ type: 'BYE', flakeAddress: link.address })],
  ])('DEVICE_OFFLINE at once when %s', async (_, cut) => {
    const { device, asked } = await openOffer()
    cut(device)
    await fixture.settle()
    expect([asked.outcome, fixture.stored()?.context.reason]).toEqual([
      'DEVICE_OFFLINE the connection of the device was lost',
      'offline',
    ])
  })

  test('DEVICE_OFFLINE if the connection broke while the server was asked', async () => {
    fixture.checks.isHeld = true
    const device = await fixture.connect()
    const asked = await trigger()
    device.link.close()
    fixture.checks.release()
    await fixture.settle()
    expect(asked.outcome).toMatch(/^DEVICE_OFFLINE/)
  })

  test.each([
    [null, /^SERVER_ERROR no address/, 0],
    ['https://elsewhere.example/', undefined, 1],
  ])('SERVER_ERROR if the address of this server is needed and unknown (image at %s)', async (url, outcome, count) => {
    const world = new ManualWorld()
    const imageUrls = new ImageUrls(() => new Uint8Array(32))
    fixture = await UpdateFixture.open({ world, offerUrl: offerUrl({ world, imageUrls, publicUrls: [] }) })
    const device = new TestDevice(fixture, 'A', fixture.linkFixture.connect({ origin: '' }))
    await device.hello()
    fixture.checks.answer = () => offered('2.0.0', { url })
    const asked = await trigger()
    if (outcome) expect(asked.outcome).toMatch(outcome)
    else expect(asked.outcome).toBeUndefined()
    expect(device.offers).toHaveLength(count)
  })

  test('not_found if the device is removed', async () => {
    const { asked } = await openOffer()
    fixture.linkFixture.runtime.ask(deviceAddress('default', 'A'), { type: 'remove' })
    await fixture.settle()
    expect([asked.outcome, fixture.stored(), fixture.updater.starter.runningCount]).toEqual(['not_found', undefined, 0])
  })

  test('stopping if the server stops', async () => {
    const { device, asked } = await openOffer()
    fixture.updater.stop()
    device.link.close()
    await fixture.settle()
    // The next process continues the update, because the stop closed the connection.
    expect([asked.outcome, (await trigger()).outcome, fixture.stored()?.state]).toEqual([
      'stopping',
      'stopping',
      'offering',
    ])
  })

  test('only if its client is still connected', async () => {
    const device = await fixture.connect()
    const aborter = new AbortController()
    const gone = fixture.trigger('A', 1, aborter.signal)
    const waiting = await trigger('A', 2)
    aborter.abort()
    await fixture.settle()
    expect([gone.outcome, waiting.outcome]).toEqual(['stopping', undefined])
    await device.report('STARTED')
    expect([gone.outcome, waiting.outcome]).toEqual(['stopping', 'STARTED'])
  })
})

describe('a write that fails', () => {
  test('answers waiting triggers with SERVER_ERROR; the update continues after the reload', async () => {
    const { device, asked } = await openOffer()
    fixture.linkFixture.faults.next = { fail: 'full', reachedDisk: false }
    await device.report('STARTED')
    expect(asked.outcome).toMatch(/^SERVER_ERROR/)
    await fixture.world.advance(5_000)
    expect(fixture.linkFixture.runtime.log).toContain('reloaded')
    expect([fixture.stored()?.state, fixture.updater.starter.runningCount]).toEqual(['offering', 1])
    const back = await fixture.connect()
    expect(back.offers.map(({ id }) => id)).toEqual(device.offers.map(({ id }) => id))
    await back.report('STARTED')
    expect(fixture.stored()?.state).toBe('started')
  })

  test('before the update began is 503', async () => {
    fixture = await UpdateFixture.open()
    await fixture.connect()
    fixture.linkFixture.faults.next = { fail: 'full', reachedDisk: false }
    expect((await trigger()).outcome).toBe('storage')
  })
})

test('fifty triggers at once join the same update', async () => {
  const device = await fixture.connect()
  const asked = Array.from({ length: 50 }, (_, seed) => fixture.trigger('A', seed))
  await fixture.settle()
  expect([device.offers.length, fixture.checks.queries.length]).toEqual([1, 1])
  await device.report('STARTED')
  expect(new Set(asked.map(({ outcome }) => outcome))).toEqual(new Set(['STARTED']))
  expect(fixture.statuses).toEqual(['checking', 'offering', 'started'])
})

describe('a trigger survives', () => {
  test('another connection, on which the offer is sent again', async () => {
    const { device, asked } = await openOffer()
    const other = await fixture.connect()
    expect(other.offers.map(({ id }) => id)).toEqual(device.offers.map(({ id }) => id))
    device.link.close()
    await fixture.settle()
    expect(asked.outcome).toBeUndefined()
    await other.report('STARTED')
    expect(asked.outcome).toBe('STARTED')
  })

  test('the end of the old connection before the new one is welcomed', async () => {
    const { device, asked } = await openOffer()
    const other = fixture.linkFixture.connect()
    other.hello('A', { project: 'boiler', firmwares: [{ firmware: '1.0.0', index: 0 }] })
    device.link.close()
    await fixture.settle()
    expect([asked.outcome, other.lines]).toEqual([undefined, ['WELCOME @1 0', 'FIRMWARE @1']])
  })

  test('another HELLO on the same connection', async () => {
    const { device, asked } = await openOffer()
    await device.hello({ session: 'boot-2' })
    expect([asked.outcome, new Set(device.offers.map(({ id }) => id)).size, device.offers.length]).toEqual([
      undefined,
      1,
      2,
    ])
  })
})

test('a server that was killed during a query asks the update server again', async () => {
  fixture.checks.isHeld = true
  await fixture.connect()
  await trigger()
  const next = new UpdateFixture({ world: fixture.world, backend: fixture.linkFixture.runtime.backend })
  fixture.linkFixture.runtime.crash()
  next.checks.answer = () => offered()
  await next.start()
  expect([next.checks.queries.length, next.stored()?.state]).toEqual([1, 'offering'])
  const device = await next.connect()
  expect(device.offers).toHaveLength(1)
})

test('a status for an unknown offer is ignored, and wakes no actor', async () => {
  const device = await fixture.connect()
  const { registry } = fixture.linkFixture.runtime.system
  const { awakeCount } = registry
  device.link.transmit({ type: 'FIRMWARE_STATUS', flakeAddress: 1, id: 'other', status: 'STARTED' })
  await fixture.settle()
  expect([fixture.statuses, device.link.closedWith, registry.awakeCount]).toEqual([[], undefined, awakeCount])
})
