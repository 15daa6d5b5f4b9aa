import { afterAll, afterEach, expect, test } from 'vitest'
import { DeviceClients } from '#test/blackbox/device-clients'
import type { Declaration, Fields, LinkClient } from '#test/blackbox/link-client'
import { StartedServer } from '#test/blackbox/started-server'

/** Writes to devices over the API. `test/link/writes.test.ts` covers the link. Contract 3.5. */

const controls = 'controls'
const setpoint = 0x2000
const mode = 0x2011

const services: readonly Declaration[] = [
  {
    serviceIdentifier: controls,
    properties: [
      { propId: setpoint, type: 'FLOAT' },
      { propId: mode, type: 'UINT8' },
    ],
  },
]

const schema = {
  name: 'Controls',
  properties: {
    '0x2000': { name: 'setpoint', type: 'float', unit: '°C', rangeMin: 5, rangeMax: 30 },
    '0x2011': { name: 'mode', type: 'uint8', enum: { '0': { name: 'OFF' }, '1': { name: 'HEATING' } } },
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

const server = await StartedServer.here()
afterAll(() => server.finish())
const put = (path: string, body: unknown) => server.ask(path, { method: 'PUT', body })
expect((await put(`/schemas/${controls}`, schema)).status).toBe(200)

const clients = new DeviceClients('json', () => server)
afterEach(() => clients.cutAll())

const nextWrite = async (link: LinkClient) => (await link.take({ type: 'WRITE' })) as Write
const resultsOf = (status: string) => [setpoint, mode].map((propId) => ({ propId, status }))

test.each(['devices', 'services'] as const)(
  'a write below /%s reaches the device, and the new value is shown',
  async (tree) => {
    const { link, device, address } = await clients.sensor({ services })
    const events = await clients.events({ offset: 'now', devices: device })
    const answer = put(trees[tree](device.toLowerCase(), controls), { setpoint: 22.5, '0x2011': 'HEATING' })
    const write = await nextWrite(link)
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
    link.send({ type: 'RESULT', flakeAddress: address, id: write.id, results: resultsOf('OK') })
    const { status, json, headers } = await answer
    expect([status, json]).toEqual([200, { updates: resultsOf('OK') }])
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    const shown = await server.get(`${trees[tree](device, controls)}?raw=false`)
    expect(shown.json).toEqual({ setpoint: 22.5, mode: 'HEATING' })
    // One event for one report; the write itself causes none.
    expect(await events.caughtUp(server)).toMatchObject([{ type: 'OBJECT_UPDATED' }])
  },
)

test('a write with wait=0 is answered at once', async () => {
  const { link, device } = await clients.sensor({ services })
  const answer = await put(`${trees.services(device, controls)}?wait=0`, { setpoint: 20, mode: 'OFF' })
  expect([answer.status, answer.json]).toEqual([202, { updates: resultsOf('SENT') }])
  expect((await nextWrite(link)).updates).toHaveLength(2)
})

test.each<[string, string, unknown, string]>([
  ['no properties', '', {}, ''],
  ['a value out of range', '', { setpoint: 30 }, 'setpoint'],
  ['an invalid wait', '?wait=false', { setpoint: 20 }, 'wait'],
  ['two wait parameters', '?wait=0&wait=1', { setpoint: 20 }, 'wait'],
])('a write with %s is refused before anything is sent', async (_, query, body, path) => {
  const { link, device } = await clients.sensor({ services })
  const answer = await put(`${trees.devices(device, controls)}${query}`, body)
  expect([answer.status, (answer.json as { details: Fields[] }).details.map((each) => each.path)]).toEqual([
    400,
    [path],
  ])
  // A message to the device would have arrived before this one.
  await link.hello(device, services)
  expect(link.waiting).toEqual([])
})
