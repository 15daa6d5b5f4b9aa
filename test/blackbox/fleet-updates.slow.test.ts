import { afterAll, beforeAll, expect, test } from 'vitest'
import { Fleet } from '#bench/fleet/fleet'
import { updateBehaviours } from '#bench/fleet/updates'
import type { StreamEvent } from '#model/event'
import { EventClient } from '#test/blackbox/event-client'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** `npm run fleet -- --updates mixed` against a server. */

const image = Buffer.alloc(200_000, 'of a firmware, ')

let server: StartedServer
let fleet: Fleet

beforeAll(async () => {
  server = await StartedServer.start()
  const { origin } = new URL(server.base)
  const url = origin.replace('http', 'ws')
  fleet = new Fleet({ url, devices: 6, links: 3, rate: 60, updates: 'mixed' })
})
afterAll(async () => {
  await fleet?.stop()
  await server?.finish()
})

/** The last status of the update and the installed firmware, for each behaviour. */
const ends = {
  well: ['DONE', '1.5.0'],
  slow: ['DONE', '1.5.0'],
  fail: ['FAILED', '1.4.2'],
  refuse: ['REFUSED', '1.4.2'],
  vanish: ['DONE', '1.5.0'],
  wrong: ['FAILED', '1.4.2'],
} as const

test('a fleet updates in its various ways, and the server has the right status of each device', async () => {
  const events = await EventClient.open(server, { offset: 'now', types: 'UPDATE_STATUS' })
  fleet.start()
  expect(await fleet.allOnline(20_000)).toBe(true)
  expect(fleet.devices.map(({ firmware }) => firmware.behaviour)).toEqual(updateBehaviours)
  for (const { code } of fleet.kinds) {
    const path = `${server.base}/updates/projects/${code.toLowerCase()}/releases/1.5.0`
    expect((await fetch(path, { method: 'PUT', body: image })).status).toBe(201)
  }
  for (const { code } of fleet.kinds) {
    expect((await server.ask(`/updates/hook/${code.toLowerCase()}`, { method: 'POST' })).status).toBe(204)
  }
  for (const { identifier, firmware } of fleet.devices) {
    const [status, version] = ends[firmware.behaviour]
    const isIt = (event: StreamEvent) =>
      event.type === 'UPDATE_STATUS' && event.deviceIdentifier === identifier && event.status === status
    await until(
      () => events.events.some(isIt),
      () => `${status} of ${identifier}: ${JSON.stringify(events.events.slice(-5))}`,
    )
    const shown = await server.get(`/updates/${identifier}?depth=2`)
    expect(shown.json).toMatchObject({ firmwares: [{ firmware: version, update: { status, firmware: '1.5.0' } }] })
  }
  fleet.pause()
  expect(await fleet.settled(10_000)).toBe(true)
  const { updates, faults } = fleet.report()
  expect(faults).toEqual([])
  expect(updates).toMatchObject({ installed: 4, updated: 3, wrong: 1, failed: 1, refused: 1, vanished: 1, resumed: 1 })
  expect(updates.bytes).toBe(5 * image.length)
})
