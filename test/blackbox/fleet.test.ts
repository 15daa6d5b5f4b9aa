import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fleet } from '#bench/fleet/fleet'
import { controlsService, levelService } from '#bench/fleet/kinds'
import { putSchemas } from '#bench/fleet/schemas'
import type { StreamEvent } from '#model/event'
import { EventClient } from '#test/blackbox/event-client'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** `npm run fleet -- --writes mixed --flap 2` against a server. */

let server: StartedServer
let fleet: Fleet

beforeAll(async () => {
  server = await StartedServer.start({ WRITE_TIMEOUT_S: '5' })
  const { origin } = new URL(server.base)
  fleet = new Fleet({ url: origin.replace('http', 'ws'), devices: 4, links: 2, rate: 80, writes: 'mixed', flap: 2 })
  await putSchemas(origin, fleet.kinds)
})
afterAll(async () => {
  await fleet?.stop()
  await server?.finish()
})

const pathOf = (place: number) =>
  `/devices/${fleet.devices[place]?.identifier}/services/${controlsService.serviceIdentifier}`
const put = (place: number, body: object) => server.ask(`${pathOf(place)}/properties`, { method: 'PUT', body })

test('a fleet answers writes in its various ways, and its levels change alarms', async () => {
  const { status } = await server.ask('/alarms', {
    method: 'POST',
    body: {
      name: 'High',
      severity: 'info',
      serviceIdentifier: levelService.serviceIdentifier,
      condition: { '>': [{ var: 'Level' }, 50] },
    },
  })
  expect(status).toBe(201)
  const events = await EventClient.open(server, { offset: 'now', types: 'ALARM_STATUS_ACTIVE,ALARM_STATUS_INACTIVE' })
  fleet.start()
  expect(await fleet.allOnline(20_000)).toBe(true)

  const [done, slow, rejected, left] = await Promise.all([0, 1, 2, 3].map((place) => put(place, { Setpoint: 21.5 })))
  const ok = { updates: [{ propId: 0x2000, status: 'OK' }] }
  expect([done?.status, done?.json]).toEqual([200, ok])
  expect([slow?.status, slow?.json]).toEqual([200, ok])
  expect([rejected?.status, rejected?.json]).toMatchObject([200, { updates: [{ status: 'REJECTED' }] }])
  expect(left?.status).toBe(504)
  expect((await put(0, { Reset: true, Mode: 'Manual' })).status).toBe(200)
  expect((await put(0, { Setpoint: 'warm' })).status).toBe(400)

  const setpointOf = async (place: number) => {
    const { properties } = (await server.get(pathOf(place))).json as {
      properties: Record<string, { propId: number; value: unknown }>
    }
    return Object.values(properties).find(({ propId }) => propId === 0x2000)?.value
  }
  for (const place of [0, 1]) await until(async () => (await setpointOf(place)) === 21.5, 'the device to report it')
  for (const place of [2, 3]) expect(await setpointOf(place)).toBe(20)

  const names = fleet.devices.map(({ identifier }) => identifier)
  const activated = () => new Set(events.events.map((event) => 'deviceIdentifier' in event && event.deviceIdentifier))
  for (const isActive of [true, false]) {
    const type = isActive ? 'ALARM_STATUS_ACTIVE' : 'ALARM_STATUS_INACTIVE'
    for (const name of names) {
      const isIt = (event: StreamEvent) => event.type === type && event.deviceIdentifier === name
      await until(() => events.events.some(isIt), `${type} of ${name}`)
    }
  }
  expect([...activated()].sort()).toEqual([...names].sort())
  fleet.pause()
  expect(await fleet.settled(10_000)).toBe(true)
  expect(fleet.report()).toMatchObject({
    faultCount: 0,
    writes: { received: 5, repeated: 0, done: 3, rejected: 1, left: 1 },
  })
})
