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

describe.each(['json', 'msgpack'] as const)('a link in %s', (protocol) => {
  const clients = new DeviceClients(protocol, () => server)
  afterEach(() => clients.cutAll())

  test('HELLO, UPDATE in both forms, an error, a refused value, and BYE', async () => {
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

  test('values of every type arrive in events and answers', async () => {
    const bytes = Buffer.from([0, 1, 127, 128, 255, 10])
    const isText = protocol === 'json'
    const values: readonly (readonly [type: string, sent: unknown, shown?: unknown])[] = [
      ['UINT64', isText ? '18446744073709551615' : 18_446_744_073_709_551_615n, '18446744073709551615'],
      ['INT64', isText ? -9_007_199_254_740_991 : -9_007_199_254_740_991n, -9_007_199_254_740_991],
      ['BINARY', isText ? bytes.toString('base64') : bytes, bytes.toString('base64')],
      ['DATETIME', isText ? 1_790_000_000_123 : 1_790_000_000_123n, 1_790_000_000_123],
      ['STRING', 'žluťoučký 😀 "\\\u0000\u2028'],
      ['FLOAT64', 5e-324],
      ['BOOL-ARRAY', [true, false]],
    ]
    const properties = values.map(([type], propId) => ({ propId, type }))
    const { link, device, address } = await clients.sensor({ services: [{ serviceIdentifier: 'types', properties }] })
    const events = await clients.eventsOf(device)
    const updates = values.map(([, value], propId) => ({ propId, value }))
    await link.report(address, 1, 'types', updates)
    link.send(['U', address, 2, 0, updates.flatMap(({ propId, value }) => [propId, value])])
    await link.take(['A', address, 2])
    const shown = values.map(([type, sent, value = sent], propId) => ({ propId, type, value }))
    expect(await events.caughtUp(server)).toMatchObject([{ updates: shown }, { updates: shown }])
    expect(Object.values(await clients.properties(device, 'types'))).toMatchObject(shown)
  })
})

test('POST /link declares and reports, and a faulty body is refused as a whole', async () => {
  const post = (body: unknown) => server.ask('/link', { method: 'POST', body })
  const update = (value: unknown) => ({ serviceIdentifier: climate, propId: temperature, value })
  expect((await post({ deviceIdentifier: 'post-1', services: sensor, updates: [update(20)] })).status).toBe(204)
  const answer = await post({ deviceIdentifier: 'POST-1', updates: [update(5), update('warm')] })
  expect([answer.status, answer.json]).toMatchObject([400, { details: [{ path: 'updates.1.value' }] }])
  const { json } = await server.get(`/devices/POST-1/services/${climate}/properties`)
  expect(json).toMatchObject({ [temperature]: { value: 20 } })
  expect((await post({ deviceIdentifier: 'POST-2', services: sensor, updates: [update('warm')] })).status).toBe(400)
  const services = [{ serviceIdentifier: 's', properties: [{ propId: 1, type: 'UINT8', value: -1 }] }]
  const unknown = await post({ deviceIdentifier: 'POST-2', updates: [update(1)] })
  expect([unknown.status, unknown.json]).toMatchObject([400, { details: [{ path: 'services' }] }])
  const bad = await post({ deviceIdentifier: 'POST-2', services, updates: [] })
  const details = [{ path: 'services.0.properties.0.value', message: 'must be an integer from 0 to 255' }]
  expect([bad.status, bad.json]).toEqual([400, { error: 'Validation Error', details }])
  expect((await server.get('/devices/POST-2')).status).toBe(404)
})
