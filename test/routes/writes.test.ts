import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ConnectedSensor, DeviceClients } from '#test/blackbox/device-clients'
import type { Declaration, Fields, LinkClient } from '#test/blackbox/link-client'
import { climate, degrees } from '#test/blackbox/sensor'
import { type Answer, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Writes to devices over the API. `test/link/writes.test.ts` covers the link. Contract 3.5. */

const controls = 'controls'
const setpoint = 0x2000
const key = 0x2001
const total = 0x2002
const reset = 0x2010
const mode = 0x2011
const serial = 0x2012
const note = 0x2013

const services: readonly Declaration[] = [
  {
    serviceIdentifier: controls,
    properties: [
      { propId: setpoint, type: 'FLOAT' },
      { propId: key, type: 'BINARY' },
      { propId: total, type: 'INT64' },
      { propId: reset, type: 'BOOL', modifier: { isActionable: true } },
      { propId: mode, type: 'UINT8' },
      { propId: serial, type: 'UINT8', modifier: { isReadOnly: true } },
      { propId: note, type: 'STRING' },
    ],
  },
]

const schema = {
  name: 'Controls',
  properties: {
    '0x2000': { name: 'setpoint', type: 'float', unit: '°C', rangeMin: 5, rangeMax: 30 },
    '0x2010': { name: 'reset', type: 'bool', actionable: true },
    '0x2011': { name: 'mode', type: 'uint8', enum: { '0': { name: 'OFF' }, '1': { name: 'HEATING' } } },
    '0x2013': { name: 'note', type: 'string', readonly: true },
  },
}

const trees = {
  devices: (device: string, service: string) => `/devices/${device}/services/${service}/properties`,
  services: (device: string, service: string) => `/services/${service}/devices/${device}/properties`,
} as const

interface Write extends Fields {
  readonly id: string
  readonly updates: readonly Fields[]
}

function put(server: StartedServer, path: string, body: unknown): Promise<Answer> {
  return server.ask(path, { method: 'PUT', body })
}

async function asked(link: LinkClient): Promise<Write> {
  return (await link.take({ type: 'WRITE' })) as Write
}

function answerWith(link: LinkClient, flakeAddress: number, id: string, ...results: Fields[]): void {
  link.send({ type: 'RESULT', flakeAddress, id, results })
}

function all(status: string, { updates }: Write): Fields[] {
  return updates.map(({ propId }) => ({ propId, status }))
}

let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.here()
  expect((await put(server, `/schemas/${controls}`, schema)).status).toBe(200)
})
afterAll(() => server?.finish())

describe('a write', () => {
  const clients = new DeviceClients('json', () => server)
  afterEach(() => clients.cutAll())
  const controlled = (more: { link?: LinkClient } = {}): Promise<ConnectedSensor> =>
    clients.sensor({ services, ...more })

  test.each(['devices', 'services'] as const)(
    'below /%s reaches the device, and the new value is shown',
    async (tree) => {
      const { link, device, address } = await controlled()
      const events = await clients.events({ offset: 'now', devices: device })
      const answer = put(server, trees[tree](device.toLowerCase(), controls), { setpoint: 22.5, '0x2011': 'HEATING' })
      const write = await asked(link)
      expect(write).toEqual({
        type: 'WRITE',
        flakeAddress: address,
        id: expect.stringMatching(/^w:[\w-]{22}$/),
        serviceIdentifier: controls,
        updates: [
          { propId: setpoint, value: 22.5 },
          { propId: mode, value: 1 },
        ],
      })
      // A write changes no value until the device reports it.
      expect((await clients.properties(device, controls))[setpoint]).not.toHaveProperty('value')
      link.send({ type: 'UPDATE', flakeAddress: address, seq: 1, serviceIdentifier: controls, updates: write.updates })
      answerWith(link, address, write.id, ...all('OK', write))
      const { status, json, headers } = await answer
      expect([status, json]).toEqual([
        200,
        {
          updates: [
            { propId: setpoint, status: 'OK' },
            { propId: mode, status: 'OK' },
          ],
        },
      ])
      expect(headers.get('content-type')).toMatch(/^application\/json/)
      const shown = await server.get(`${trees[tree](device, controls)}?raw=false`)
      expect(shown.json).toEqual({ setpoint: 22.5, mode: 'HEATING' })
      // One event for one report; the write itself causes none.
      expect(await events.caughtUp(server)).toMatchObject([{ type: 'OBJECT_UPDATED' }])
    },
  )

  test('returns a result for each property with the text of the device', async () => {
    const { link, device, address } = await controlled()
    const answer = put(server, trees.devices(device, controls), { mode: 0, setpoint: 20 })
    const { id } = await asked(link)
    answerWith(link, address, id, { propId: setpoint, status: 'REJECTED', message: 'window open' })
    answerWith(link, address, id, { propId: mode, status: 'OK' })
    expect((await answer).json).toEqual({
      updates: [
        { propId: mode, status: 'OK' },
        { propId: setpoint, status: 'REJECTED', message: 'window open' },
      ],
    })
  })

  test('returns at once with wait=0', async () => {
    const { link, device, address } = await controlled()
    const answer = await put(server, `${trees.services(device, controls)}?wait=0`, { setpoint: 20, mode: 'OFF' })
    expect([answer.status, answer.json]).toEqual([
      202,
      {
        updates: [
          { propId: setpoint, status: 'SENT' },
          { propId: mode, status: 'SENT' },
        ],
      },
    ])
    const write = await asked(link)
    answerWith(link, address, write.id, ...all('REJECTED', write))
    await link.report(address, 1, controls, [{ propId: mode, value: 1 }])
    expect(link.waiting).toEqual([])
  })

  test('to a device that is removed meanwhile is 404', async () => {
    const { link, device } = await controlled()
    const answer = put(server, trees.devices(device, controls), { setpoint: 20 })
    await asked(link)
    expect((await server.ask(`/devices/${device}`, { method: 'DELETE' })).status).toBe(204)
    expect(await answer).toMatchObject({ status: 404, text: '{"error":"Not Found"}' })
  })

  test('to a device that left, or never had a link, is 503', async () => {
    const { link, device, address } = await controlled()
    link.send({ type: 'BYE', flakeAddress: address })
    const posting = clients.newName()
    expect(
      (await server.ask('/link', { method: 'POST', body: { deviceIdentifier: posting, services, updates: [] } }))
        .status,
    ).toBe(204)
    expect((await server.get(`/meta/${posting}`)).json).toMatchObject({ status: 'online' })
    await until(async () => {
      const { json } = await server.get(`/meta/${device}`)
      return (json as { status: string }).status === 'offline'
    }, 'the device to be offline')
    for (const [name, query] of [
      [device, ''],
      [device, '?wait=0'],
      [posting, ''],
    ]) {
      const answer = await put(server, `${trees.devices(name as string, controls)}${query}`, { setpoint: 20 })
      expect([answer.status, answer.text]).toEqual([409, '{"error":"DEVICE_OFFLINE"}'])
    }
    // The write is not kept for later.
    await link.hello(device, services)
    await link.report(address, 1, controls, [{ propId: mode, value: 1 }])
    expect(link.waiting).toEqual([])
  })
})

describe('an invalid write is refused before anything is sent', () => {
  const clients = new DeviceClients('json', () => server)
  let device: string
  let link: LinkClient
  beforeAll(async () => {
    ;({ device, link } = await clients.sensor({ services }))
  })
  afterAll(() => clients.cutAll())
  afterEach(async () => {
    // A message to the device would have arrived before this one.
    await link.hello(device, services)
    expect(link.waiting).toEqual([])
  })

  test('read-only properties, other types and values out of range are 400, each by its key', async () => {
    const body = { '0x2012': 1, note: 'x', setpoint: 30, mode: 'COOLING', reset: 1, '8194': 1.5, '0x2001': null }
    const answer = await put(server, trees.devices(device, controls), body)
    expect([answer.status, answer.json]).toEqual([
      400,
      {
        error: 'Validation Error',
        details: [
          { path: '8194', message: expect.stringMatching(/^must be an integer/) },
          { path: '0x2012', message: 'is read-only' },
          { path: 'note', message: 'is read-only' },
          { path: 'setpoint', message: 'must be below 30' },
          { path: 'mode', message: 'must be an integer from 0 to 255, or a name of its enumeration' },
          { path: 'reset', message: 'must be true or false' },
          { path: '0x2001', message: expect.stringMatching(/^must be padded base64/) },
        ],
      },
    ])
  })

  test.each<[string, string, unknown, string]>([
    ['no properties', '', {}, ''],
    ['a body that is not an object', '', [1], ''],
    ['no body', '', undefined, ''],
    [
      'more than a service can have',
      '',
      Object.fromEntries(Array.from({ length: 1_025 }, (_, at) => [`p${at}`, 1])),
      '',
    ],
    ['an invalid wait', '?wait=false', { setpoint: 20 }, 'wait'],
    ['two wait parameters', '?wait=0&wait=1', { setpoint: 20 }, 'wait'],
  ])('%s: 400', async (_, query, body, path) => {
    const answer = await put(server, `${trees.devices(device, controls)}${query}`, body)
    expect([answer.status, (answer.json as { details: Fields[] }).details.map((each) => each.path)]).toEqual([
      400,
      [path],
    ])
  })
})

describe('a device that does not answer', () => {
  let impatient: StartedServer
  const clients = new DeviceClients('msgpack', () => impatient)
  beforeAll(async () => {
    impatient = await StartedServer.here({ WRITE_TIMEOUT_S: '1' })
  })
  afterEach(() => clients.cutAll())
  afterAll(() => impatient?.finish())

  test('gets 504, may answer late, and accepts another write', async () => {
    const { link, device, address } = await clients.sensor()
    const path = trees.devices(device, climate)
    const before = performance.now()
    const answer = await put(impatient, path, { '0x2000': 20 })
    expect([answer.status, answer.text]).toEqual([504, '{"error":"DEVICE_TIMEOUT"}'])
    expect(performance.now() - before).toBeGreaterThan(990)
    const late = await asked(link)
    answerWith(link, address, late.id, ...all('OK', late))
    await link.report(address, 1, climate, [degrees(20)])
    expect(link.waiting).toEqual([])
  })
})
