import { afterAll, afterEach, expect, test } from 'vitest'
import { DeviceClients } from '#test/blackbox/device-clients'
import type { Declaration, Fields, LinkClient } from '#test/blackbox/link-client'
import { answerOf } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Desired values over the API and device connections. `test/actors/desired.test.ts` covers the rules. Contract 12. */

const controls = 'controls'
const services: readonly Declaration[] = [
  {
    serviceIdentifier: controls,
    properties: [
      { propId: 0x2000, type: 'FLOAT' },
      { propId: 0x2001, type: 'UINT8' },
    ],
  },
]

const server = await StartedServer.here()
afterAll(() => server.finish())

const clients = new DeviceClients('json', () => server)
afterEach(() => clients.cutAll())

const paths = (device: string) => [
  `/devices/${device}/services/${controls}/desired`,
  `/services/${controls}/devices/${device}/desired`,
]
const desired = async (device: string) => (await server.get(paths(device)[0] ?? '')).json
const change = (device: string, method: string, body?: unknown) =>
  server.ask(paths(device)[0] ?? '', { method, ...(body !== undefined && { body }) })
const untilDesired = (device: string, expected: object) =>
  until(async () => JSON.stringify(await desired(device)) === JSON.stringify(expected), `${JSON.stringify(expected)}`)

/** Answers the next WRITE with this status, if any; returns its values. */
async function answerWrite(link: LinkClient, status?: string): Promise<unknown> {
  const { flakeAddress, id, updates } = (await link.take({ type: 'WRITE' })) as Fields & { updates: Fields[] }
  expect(id).toMatch(/^d:[\w-]+$/)
  const results = updates.map(({ propId }) => ({ propId, status, ...(status === 'REJECTED' && { message: 'no' }) }))
  if (status) link.send({ type: 'RESULT', flakeAddress, id, results })
  return Object.fromEntries(updates.map(({ propId, value }) => [propId, value]))
}

test('values are sent at once, and again on each connection until the device answers OK', async () => {
  const { link, device } = await clients.sensor({ services })
  const events = await clients.events({ offset: 'now', devices: device, types: 'DESIRED_UPDATED' })
  const answer = await change(device, 'PUT', { '0x2000': 22.5, '8193': 3 })
  const since = expect.any(Number)
  const pending = { since, status: 'PENDING' }
  expect(answerOf(answer)).toEqual([200, { 8192: { value: 22.5, ...pending }, 8193: { value: 3, ...pending } }])
  expect(await answerWrite(link)).toEqual({ 8192: 22.5, 8193: 3 })
  const sent = { since, status: 'SENT' }
  for (const path of paths(device)) {
    expect((await server.get(path)).json).toEqual({ 8192: { value: 22.5, ...sent }, 8193: { value: 3, ...sent } })
  }
  await change(device, 'PATCH', { '8193': null })
  // The new connection takes the device over.
  const other = await clients.link()
  await other.hello(device, services, { session: 'boot-2' })
  expect(await answerWrite(other, 'OK')).toEqual({ 8192: 22.5 })
  await untilDesired(device, {})
  await change(device, 'PATCH', { '8193': 4 })
  expect(await answerWrite(other, 'REJECTED')).toEqual({ 8193: 4 })
  const rejected = { value: 4, since, status: 'REJECTED', message: 'no' }
  await until(async () => JSON.stringify(await desired(device)).includes('REJECTED'), 'the refusal')
  expect(await desired(device)).toEqual({ 8193: rejected })
  expect((await change(device, 'DELETE')).status).toBe(204)
  expect((await server.get(`/devices/${device}/services/other/desired`)).status).toBe(404)
  const seen = (await events.caughtUp(server)).map((event) => (event as unknown as Fields).desired)
  expect(seen).toEqual([
    { 8192: { value: 22.5, ...pending }, 8193: { value: 3, ...pending } },
    { 8192: { value: 22.5, ...sent }, 8193: { value: 3, ...sent } },
    { 8192: { value: 22.5, ...sent } },
    {},
    { 8193: { value: 4, ...pending } },
    { 8193: { value: 4, ...sent } },
    { 8193: rejected },
    {},
  ])
})

test('values of a device that is not connected wait for HELLO, which ends the values that it reports', async () => {
  const { link, device } = await clients.sensor({ services })
  link.cut()
  await change(device, 'PUT', { '0x2000': 1, '0x2001': 2 })
  const again = await clients.link()
  const [service] = services
  const properties = [
    { propId: 0x2000, type: 'FLOAT', value: 1 },
    { propId: 0x2001, type: 'UINT8' },
  ]
  await again.hello(device, [{ ...service, properties }] as never, { session: 'boot-2' })
  expect(await answerWrite(again)).toEqual({ 8193: 2 })
  // A HELLO on the same connection asks again.
  await again.hello(device, services, { session: 'boot-3' })
  expect(await answerWrite(again, 'OK')).toEqual({ 8193: 2 })
  await untilDesired(device, {})
})

test('an action stores desired values for every device', async () => {
  const { link, device: connected } = await clients.sensor({ services })
  const { link: lost, device: offline } = await clients.sensor({ services })
  lost.cut()
  const body = {
    devices: [connected, offline, 'NONE'],
    serviceIdentifier: controls,
    updates: { '8193': 9 },
    desired: true,
  }
  const { id } = (await server.ask('/devices/actions', { method: 'POST', body })).json as { id: string }
  expect(await answerWrite(link, 'OK')).toEqual({ 8193: 9 })
  const action = await until(async () => {
    const read = (await server.get(`/devices/actions/${id}`)).json as Fields
    return read.state === 'done' && read
  }, 'the action to be done')
  expect(action).toMatchObject({ desired: true, counts: { total: 3, applied: 2, OK: 2, NOT_FOUND: 1 } })
  await untilDesired(connected, {})
  expect(await desired(offline)).toEqual({ 8193: { value: 9, since: expect.any(Number), status: 'PENDING' } })
})
