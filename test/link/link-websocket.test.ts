import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { DeviceClients } from '#test/blackbox/device-clients'
import { climate, degrees, label, mode, sensor, shownDegrees, temperature } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** The device connection over real sockets, in both formats. Other tests check each rule without a socket. */

let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.here()
})
afterAll(() => server?.finish())

describe.each(['json', 'msgpack'] as const)('a device connection in %s', (protocol) => {
  const clients = new DeviceClients(protocol, () => server)
  afterEach(() => clients.cutAll())

  test('answers HELLO, UPDATE in both forms, an invalid frame, a refused value, and BYE', async () => {
    const link = await clients.link()
    const events = await clients.events()
    const device = clients.newName()
    const hello = { session: 'a', project: 'boiler', firmwares: [{ firmware: '1.4.2', index: 0 }], colour: 'green' }
    const welcome = await link.hello(device.toLowerCase(), sensor, hello)
    const { flakeAddress } = welcome
    expect(welcome).toEqual({
      ...{ type: 'WELCOME', deviceIdentifier: device, flakeAddress: expect.any(Number), seq: 0, window: 1024 },
      timestamp: expect.any(Number),
    })
    await link.report(flakeAddress, 1, climate, [degrees(21.5), { propId: mode, value: 3 }])
    link.send(['U', flakeAddress, 2, 0, [temperature, 20.5], 1_700_000_000_000])
    await link.take(['A', flakeAddress, 2])
    await link.report(flakeAddress, 3, climate, [{ propId: temperature, error: 'broken "×"' }])
    link.send(['U', flakeAddress, 4, 0, [temperature, 'warm']], ['U', flakeAddress, 5, 0, [label, 'hall']])
    expect(await link.take({ type: 'ERROR', seq: 4 })).toMatchObject({ code: 'BAD_VALUE', flakeAddress })
    await link.take(['A', flakeAddress, 5])
    await events.caughtUp(server)
    expect(events.ofDevice(device).map(({ type }) => type)).toEqual([
      ...['DEVICE_ADD', 'DEVICE_DISCOVERY', 'META_STATUS_CHANGE'],
      ...Array(4).fill('OBJECT_UPDATED'),
    ])
    expect(events.of('OBJECT_UPDATED')).toMatchObject([
      { flakeAddress, serviceIdentifier: climate, updates: [shownDegrees(21.5), { propId: mode, value: 3 }] },
      { updates: [shownDegrees(20.5)], timestamp: 1_700_000_000_000 },
      { updates: [{ tag: 'error', error: 'broken "×"' }] },
      { updates: [{ propId: label, value: 'hall' }] },
    ])
    expect(await clients.properties(device, climate)).toMatchObject({
      [temperature]: { tag: 'error' },
      [label]: { value: 'hall' },
    })
    link.send({ type: 'BYE', flakeAddress }, ['U', flakeAddress, 6, 0, [temperature, 1]])
    await link.take({ type: 'ERROR', code: 'UNKNOWN_DEVICE', flakeAddress, seq: 6 })
    const statusOf = async () => (await server.get(`/meta/${device}`)).json as { status: string }
    await until(async () => (await statusOf()).status === 'offline', 'the device to be offline')
    expect(link.waiting).toEqual([])
  })
})
