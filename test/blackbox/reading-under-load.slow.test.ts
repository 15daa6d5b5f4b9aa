import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Dashboard } from '#bench/dashboard'
import { Fleet } from '#bench/fleet/fleet'
import { EventClient } from '#test/blackbox/event-client'
import { StartedServer } from '#test/blackbox/started-server'

const devices = 20_000

interface Read {
  readonly epoch: string
  readonly offset: number
  /** `device service propId` → value. */
  readonly values: ReadonlyMap<string, string>
  readonly devices: ReadonlySet<string>
}

type Properties = Readonly<Record<string, { propId: number; value?: unknown; error?: unknown }>>

/** Contract 3.4: an answer reflects at least its position, and whoever goes on from there has everything. */
describe('reading all of 20 000 devices while they write', () => {
  let server: StartedServer
  let fleet: Fleet
  let witness: EventClient
  let dashboards: Dashboard[]

  beforeAll(async () => {
    server = await StartedServer.start({ LOG_LEVEL: 'info' })
    const origin = new URL(server.base).origin
    fleet = new Fleet({
      url: origin.replace('http', 'ws'),
      devices,
      links: 20,
      rate: 4_000,
      form: 'short',
      prefix: 'LOAD',
    })
    fleet.start()
    expect(await fleet.allOnline(150_000)).toBe(true)
    witness = await EventClient.open(server, { offset: 'now', types: 'OBJECT_UPDATED' })
    dashboards = [1, 2].map(() => new Dashboard({ url: origin, from: 'state' }))
  })
  afterAll(async () => {
    for (const dashboard of dashboards ?? []) dashboard.stop()
    await fleet?.stop()
    await server?.finish()
  })

  async function readDevices(path: string): Promise<Read> {
    const { status, json, headers } = await server.get(path)
    expect(status).toBe(200)
    const values = new Map<string, string>()
    const names = new Set<string>()
    for (const { deviceIdentifier, services } of json as {
      deviceIdentifier: string
      services: { serviceIdentifier: string; properties: Properties }[]
    }[]) {
      names.add(deviceIdentifier)
      for (const { serviceIdentifier, properties } of services)
        note(values, deviceIdentifier, serviceIdentifier, properties)
    }
    expect(names.size).toBe((json as unknown[]).length)
    return { ...positionIn(headers), values, devices: names }
  }

  async function readServices(): Promise<Read> {
    const { status, json, headers } = await server.get('/services?depth=2')
    expect(status).toBe(200)
    const values = new Map<string, string>()
    const names = new Set<string>()
    for (const { serviceIdentifier, devices } of json as {
      serviceIdentifier: string
      devices: { deviceIdentifier: string; properties: Properties }[]
    }[]) {
      for (const { deviceIdentifier, properties } of devices) {
        names.add(deviceIdentifier)
        note(values, deviceIdentifier, serviceIdentifier, properties)
      }
    }
    return { ...positionIn(headers), values, devices: names }
  }

  async function readPages(): Promise<Read> {
    let path = '/devices?depth=2&limit=3000'
    let whole: Read | undefined
    for (;;) {
      const { headers } = await server.get(path.replace('depth=2', 'depth=0'))
      const page = await readDevices(path)
      whole = whole
        ? {
            ...whole,
            values: new Map([...whole.values, ...page.values]),
            devices: new Set([...whole.devices, ...page.devices]),
          }
        : page
      const next = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1]
      if (next === undefined) return whole
      const url = new URL(next, server.base)
      path = `${url.pathname}${url.search}`.replace('/api/v1', '').replace('depth=0', 'depth=2')
    }
  }

  test('a filter finds every device that it means, and nobody misses an event meanwhile', {
    timeout: 240_000,
  }, async () => {
    const first = (await server.get('/devices?depth=1&limit=1')).json as {
      services: { serviceIdentifier: string }[]
    }[]
    const value = { var: [`services.${first[0]?.services[0]?.serviceIdentifier}.0x2000`, 0] }
    const found = async (filter: unknown, limit?: number) => {
      const names: string[] = []
      const query = `filter=${encodeURIComponent(JSON.stringify(filter))}`
      for (let next: string | undefined = `/devices?${query}${limit ? `&limit=${limit}` : ''}`; next !== undefined; ) {
        const { status, json, headers } = await server.get(next)
        expect(status).toBe(200)
        names.push(...(json as { deviceIdentifier: string }[]).map(({ deviceIdentifier }) => deviceIdentifier))
        next = /^<\/api\/v1([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      }
      expect(new Set(names).size).toBe(names.length)
      return names
    }
    const isThere = { '==': [{ var: 'status' }, 'online'] }
    // Changes all the time, and is one of both whenever it is looked at.
    const isEither = { or: [{ '>': [value, 20] }, { '<=': [value, 20] }] }
    const before = witness.lastOffset
    const [all, paged, none, some] = await Promise.all([
      found(isThere),
      found(isEither, 3_000),
      found({ '!': isThere }),
      found({ '<=': [{ var: 'deviceIdentifier' }, 'LOAD-D'] }),
    ])
    expect([all.length, none.length]).toEqual([devices, 0])
    expect(paged).toEqual(all)
    expect(some).toEqual(all.filter((name) => name <= 'LOAD-D'))
    expect(some.length).toBeGreaterThan(0)
    expect(witness.lastOffset).toBeGreaterThan(before)
    expect(fleet.counts.faults).toEqual([])
  })

  test('every device is there, nothing is older than the position, and what follows leads to the state at the end', {
    timeout: 240_000,
  }, async () => {
    for (const dashboard of dashboards) dashboard.start()
    const reads = await Promise.all([readDevices('/devices?depth=2'), readServices(), readPages()])
    reads.push(await readDevices('/devices?depth=2'))
    fleet.pause()
    expect(await fleet.settled(20_000)).toBe(true)
    await witness.caughtUp(server)
    expect(fleet.counts.faults).toEqual([])

    const histories = historiesOf(witness)
    const first = witness.events[0]?.offset ?? 0
    for (const read of reads) {
      expect(read.devices.size).toBe(devices)
      // The fleet wrote before and after the answer began, else this shows nothing.
      expect(read.offset).toBeGreaterThan(first)
      expect(read.offset).toBeLessThan(witness.lastOffset)
      expect(older(read, histories)).toEqual([])
    }
    for (const dashboard of dashboards) {
      expect(await dashboard.caughtUp(20_000)).toBe(true)
      expect(dashboard.faults).toEqual([])
      expect(dashboard.counts).toMatchObject({ fullReads: 1, resyncs: 0, notRecovered: 0 })
      expect(dashboard.state.devices.size).toBe(devices)
      expect(await dashboard.differences()).toEqual([])
    }
  })
})

type Histories = ReadonlyMap<string, readonly { readonly offset: number; readonly value: string }[]>

function historiesOf(witness: EventClient): Histories {
  const histories = new Map<string, { offset: number; value: string }[]>()
  for (const { offset, deviceIdentifier, serviceIdentifier, updates } of witness.of('OBJECT_UPDATED')) {
    for (const { propId, value } of updates) {
      const key = `${deviceIdentifier} ${serviceIdentifier} ${propId}`
      const history = histories.get(key) ?? []
      history.push({ offset, value: JSON.stringify(value) })
      histories.set(key, history)
    }
  }
  return histories
}

/** Properties that were read with a value from before the answer's own position. */
function older(read: Read, histories: Histories): string[] {
  const found: string[] = []
  for (const [key, history] of histories) {
    const told = history.findLastIndex(({ offset }) => offset <= read.offset)
    if (told < 0) continue
    const value = read.values.get(key)
    if (!history.slice(told).some((later) => later.value === value)) {
      found.push(`${key}: ${value}, but ${history[told]?.value} at ${history[told]?.offset} of ${read.offset}`)
    }
  }
  return found.slice(0, 5)
}

function note(values: Map<string, string>, device: string, service: string, properties: Properties): void {
  for (const { propId, value } of Object.values(properties))
    values.set(`${device} ${service} ${propId}`, JSON.stringify(value))
}

function positionIn(headers: Headers): { epoch: string; offset: number } {
  return { epoch: headers.get('stream-epoch') ?? '', offset: Number(headers.get('stream-offset')) }
}
