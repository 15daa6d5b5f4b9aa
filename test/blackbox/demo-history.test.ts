import { afterAll, beforeAll, expect, test } from 'vitest'
import { addToState, readState } from '#bench/demo/demo-content'
import { fillHistory } from '#bench/demo/demo-history'
import { Fleet } from '#bench/fleet/fleet'
import { startedAt } from '#bench/fleet/kinds'
import { StartedServer } from '#test/blackbox/started-server'

const dayMs = 86_400_000
const until = startedAt

let server: StartedServer
let fleet: Fleet

beforeAll(async () => {
  server = await StartedServer.start({ HISTORY: 'on' })
  const { origin } = new URL(server.base)
  fleet = new Fleet({ url: origin.replace('http', 'ws'), devices: 4, links: 1, rate: 10, updates: 'none' })
  fleet.start()
  expect(await fleet.allOnline(20_000)).toBe(true)
})
afterAll(async () => {
  await fleet?.stop()
  await server?.finish()
})

async function countsOf(place: number): Promise<number[]> {
  const device = fleet.devices[place]
  const counts: number[] = []
  for (const { serviceIdentifier } of device?.plan.kind.services.slice(0, 2) ?? []) {
    const path = `/devices/${device?.identifier}/services/${serviceIdentifier}/history`
    const answer = await server.get(`${path}?from=${until - 7 * dayMs}&to=${until}`)
    const { series } = answer.json as { readonly series: readonly { readonly time: readonly number[] }[] }
    counts.push(...series.map(({ time }) => time.length))
  }
  return counts
}

test('the demo generates seven days of history only once, even if it is killed meanwhile', async () => {
  const target = { port: server.port, dataFolder: server.dataFolder, person: undefined }
  const fill = (count: number, port = server.port) =>
    fillHistory({ ...target, port }, fleet.devices.slice(0, count), new AbortController().signal)
  addToState(server.dataFolder, { history: { until, devices: 0 } })
  await fill(3)
  expect(readState(server.dataFolder).history).toEqual({ until, devices: 3 })
  // The demo is killed before it has stored its progress.
  addToState(server.dataFolder, { history: { until, devices: 0 } })
  await fill(4)
  for (const place of [0, 1, 2, 3]) {
    const counts = await countsOf(place)
    expect(counts.pop(), 'points of the serial number, which never changes').toBe(0)
    expect(counts).toEqual(Array(8).fill(6 * 48 + 23 * 12 + 120))
  }
  // The history is complete, so the demo sends nothing. It would fail, because no server has this port.
  await fill(4, 1)
})
