import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Client, connect, type ServiceView, type State } from '#client/client'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { fasterTime } from '#test/client/faster-time'
import { UnreliableProxy } from '#test/client/unreliable-proxy'

/** The state of a client behind an unreliable proxy, compared with the server. §1.7, contract 4. */
describe('a state on an unreliable network', () => {
  let server: StartedServer
  let proxy: UnreliableProxy
  let client: Client

  beforeAll(async () => {
    server = await StartedServer.start()
    proxy = await UnreliableProxy.before(server.port)
    client = connect({ url: proxy.url, WebSocket, ...fasterTime(15) })
  })
  afterAll(async () => {
    client?.close()
    await proxy?.close()
    await server?.finish()
  })

  const names = ['A', 'B', 'C', 'D', 'E']
  const device = fc.constantFrom(...names.map((name) => `DEVICE-${name}`))
  const service = fc.constantFrom('climate', 'light')
  const propId = fc.constantFrom(1, 2, 3)
  const value = fc.integer({ min: 0, max: 255 })
  const properties = (items: readonly number[]) => items.map((propId) => ({ propId, type: 'UINT8' }))

  /** A change of a resource on the server. */
  const change = fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .record({ device, service, items: fc.array(fc.record({ propId, value }), { minLength: 1, maxLength: 4 }) })
        .map((step) => ({ kind: 'report' as const, ...step })),
    },
    {
      weight: 3,
      arbitrary: fc
        .record({ device, services: fc.dictionary(service, fc.uniqueArray(propId, { minLength: 1 })) })
        .map((step) => ({ kind: 'declare' as const, ...step })),
    },
    { weight: 1, arbitrary: fc.record({ device }).map((step) => ({ kind: 'delete' as const, ...step })) },
    {
      weight: 2,
      arbitrary: fc
        .record({ device, meta: fc.dictionary(fc.constantFrom('hall', 'owner'), fc.option(fc.integer({ max: 9 }))) })
        .map((step) => ({ kind: 'meta' as const, ...step })),
    },
  )
  /** A change of the network. */
  const trouble = fc.oneof(
    fc.record({ kind: fc.constant('cut' as const) }),
    fc.record({ kind: fc.constant('stall' as const) }),
    fc.record({ kind: fc.constant('resume' as const) }),
    fc.record({ kind: fc.constant('down' as const), isDown: fc.boolean() }),
    fc.record({ kind: fc.constant('delay' as const), delayMs: fc.integer({ min: 0, max: 20 }) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 300 }) }),
    // This is longer than the ping interval of a client.
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1_500, max: 2_500 }) }),
  )
  const step = fc.oneof({ weight: 4, arbitrary: change }, { weight: 1, arbitrary: trouble })
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

  const post = (path: string, body: unknown, method = 'POST') => server.ask(path, { method, body })

  async function run(step: Step): Promise<void> {
    if (step.kind === 'report') {
      const services = [
        { serviceIdentifier: 'climate', properties: properties([1, 2, 3]) },
        { serviceIdentifier: 'light', properties: properties([1, 2, 3]) },
      ]
      const updates = step.items.map((item) => ({ serviceIdentifier: step.service, ...item }))
      await post('/link', { deviceIdentifier: step.device, services, updates })
    } else if (step.kind === 'declare') {
      const services = Object.entries(step.services).map(([serviceIdentifier, ids]) => ({
        serviceIdentifier,
        properties: properties(ids),
      }))
      await post('/link', { deviceIdentifier: step.device, services, updates: [] })
    } else if (step.kind === 'delete') await server.ask(`/devices/${step.device}`, { method: 'DELETE' })
    else if (step.kind === 'meta') await post(`/meta/${step.device}`, step.meta, 'PATCH')
    else if (step.kind === 'cut') proxy.cut()
    else if (step.kind === 'stall') proxy.stall()
    else if (step.kind === 'resume') proxy.resume()
    else if (step.kind === 'down') proxy.setDown(step.isDown)
    else if (step.kind === 'delay') proxy.delay(step.delayMs)
    else await new Promise((resolve) => setTimeout(resolve, step.ms))
  }

  async function settle(state: State): Promise<void> {
    proxy.heal()
    const head = Number((await server.get('/devices?limit=1')).headers.get('stream-offset'))
    await until(
      () => state.connection.value.state === 'live' && (state.position?.offset ?? -1) >= head,
      () => `a live state at ${head}: ${JSON.stringify([state.connection.value, state.position])}`,
    )
  }

  test('equals the state of the server after any changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
        fc.boolean(),
        async (steps, isOpenBefore) => {
          proxy.heal()
          let state = isOpenBefore ? client.state() : undefined
          if (isOpenBefore) await state?.ready
          try {
            for (const step of steps) await run(step)
            state ??= client.state()
            await settle(state)
            expect(snapshotOf(state)).toEqual(await readSnapshot(server))
          } finally {
            state?.close()
          }
        },
      ),
      { numRuns: 12, interruptAfterTimeLimit: 90_000 },
    )
  }, 200_000)

  test('resumes after SIGKILL of the server, and reads everything again from another server', async () => {
    proxy.heal()
    const state = client.state()
    const other = await StartedServer.start()
    const connectionStates: string[] = []
    const events: string[] = []
    const deviceIdentifier = 'KILLED-1'
    const report = (at: StartedServer, value: number) =>
      at.ask('/link', {
        method: 'POST',
        body: {
          deviceIdentifier,
          services: [{ serviceIdentifier: 'climate', properties: properties([1]) }],
          updates: [{ serviceIdentifier: 'climate', propId: 1, value }],
        },
      })
    const shownValue = () => state.device(deviceIdentifier).value?.services.get('climate')?.valueAt(1)
    try {
      await report(server, 1)
      await until(() => shownValue() === 1 && state.connection.value.state === 'live', 'the first report')
      state.connection.subscribe(() => {
        // Each attempt to connect notifies the subscribers.
        if (connectionStates.at(-1) !== state.connection.value.state)
          connectionStates.push(state.connection.value.state)
      })
      state.events(({ type, offset }) => events.push(`${type} ${offset - before}`))
      const before = state.position?.offset ?? 0
      await server.kill()
      await server.startAgain()
      await report(server, 2)
      proxy.forwardTo(server.port)
      await until(() => shownValue() === 2 && state.connection.value.state === 'live', 'the missed report')
      expect([connectionStates, events]).toEqual([['reconnecting', 'catching up', 'live'], ['OBJECT_UPDATED 1']])
      await report(other, 3)
      proxy.forwardTo(other.port)
      proxy.cut()
      await until(() => shownValue() === 3 && state.connection.value.state === 'live', 'the other server')
      expect(snapshotOf(state)).toEqual(await readSnapshot(other))
    } finally {
      state.close()
      proxy.forwardTo(server.port)
      await other.finish()
    }
  })
})

interface Device {
  readonly deviceIdentifier: string
  readonly status: unknown
  readonly meta: unknown
  readonly services: Iterable<readonly [service: string, properties: Iterable<Property>]>
}

interface Property {
  readonly propId: number
  readonly value?: unknown
  readonly error?: unknown
}

/** The fields that events can change. Events contain no properties without a value or an error. */
function fieldsOf(devices: Iterable<Device>): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const { deviceIdentifier, status, meta, services } of devices) {
    fields.set(deviceIdentifier, { status, meta })
    for (const [service, properties] of services)
      for (const property of properties)
        if (property.value !== undefined || property.error !== undefined)
          fields.set(`${deviceIdentifier} ${service} ${property.propId}`, property)
  }
  return fields
}

function snapshotOf(state: State): ReadonlyMap<string, unknown> {
  const propertiesOf = ([service, properties]: [string, ServiceView]) => [service, properties.values()] as const
  const devices = [...state.devices.values()]
  return fieldsOf(devices.map((device) => ({ ...device, services: [...device.services].map(propertiesOf) })))
}

async function readSnapshot(server: StartedServer): Promise<ReadonlyMap<string, unknown>> {
  interface Listed {
    readonly deviceIdentifier: string
    readonly services: { serviceIdentifier: string; properties: Record<string, Property> }[]
  }
  const metas = (await server.get('/meta?depth=1')).json as readonly Listed[]
  const devices = ((await server.get('/devices?depth=2')).json as readonly Listed[]).map((device) => ({
    ...metas.find(({ deviceIdentifier }) => deviceIdentifier === device.deviceIdentifier),
    ...device,
    services: device.services.map((each) => [each.serviceIdentifier, Object.values(each.properties)] as const),
  }))
  return fieldsOf(devices as unknown as readonly Device[])
}
