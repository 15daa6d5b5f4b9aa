import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventFilter } from '#events/audience'
import type { Entry } from '#model/entry'
import { everything, type Scope, scopeOf } from '#model/scope'
import type { Position } from '#runtime/journal'
import type { ReceivedMessage, StallingSocket } from '#test/events/stalling-sockets'
import { ann, bob, subscribed } from '#test/events/subscription-entries'
import { readAll, TestStream, tenant } from '#test/events/test-stream'
import { commandOf, weighted } from '#test/kit/command-arbitrary'

const read = { service: ['read' as const], device: ['read' as const] }
const scopes: readonly Scope[] = [
  everything,
  scopeOf([{ permissions: read, devices: ['A'], services: ['*'] }]),
  scopeOf([
    { permissions: { ...read, notifications: ['read'] }, devices: ['A', 'B'], services: ['s'] },
    { permissions: { service: ['read'] }, devices: ['*'], services: ['t'] },
  ]),
]
/** The users of the three dashboards. One user has two of them. */
const users = [ann, bob, ann]
const filters: readonly EventFilter[] = [{}, { devices: new Set(['A', 'C']) }, { types: new Set(['OBJECT_UPDATED']) }]

const property = { device: fc.constantFrom('A', 'B', 'C'), service: fc.constantFrom('s', 't'), propId: fc.nat(2) }
const dashboard = fc.nat(2)
const scope = fc.nat(2)
const step = fc.oneof(
  weighted(10, commandOf('report', { ...property, count: fc.integer({ min: 1, max: 8 }) })),
  weighted(3, commandOf('take', property)),
  weighted(2, commandOf('add device', { device: property.device })),
  weighted(2, commandOf('subscribe', { user: fc.constantFrom(ann, bob, 'crn#user:none') })),
  weighted(6, commandOf('read', { dashboard, count: fc.integer({ min: 1, max: 6 }) })),
  weighted(4, commandOf('settle')),
  weighted(3, commandOf('step')),
  weighted(2, commandOf('position', { dashboard })),
  weighted(2, commandOf('come back', { dashboard })),
  commandOf('redefine', { dashboard, scope }),
  commandOf('redefine all', { scope }),
  commandOf('move', { dashboard, scope }),
  commandOf('trim', { share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  commandOf('forget chunks'),
)

/** A client with a copy of every property, built from its messages. Each value is the offset of its event. */
class Dashboard {
  readonly #stream: TestStream
  access: string
  readonly #user: string
  readonly #filter: EventFilter
  readonly #limitBytes: number
  scope: Scope
  scopeSince = -1
  socket: StallingSocket
  /** The offset of the last full read. */
  #begunAt: number
  #begunMessages = 0

  constructor(stream: TestStream, index: number) {
    this.#stream = stream
    this.access = `access ${index}`
    this.#user = users[index] as string
    this.#filter = filters[index] as EventFilter
    this.#limitBytes = [Number.POSITIVE_INFINITY, 800, 250][index] as number
    this.scope = scopes[index] as Scope
    this.#begunAt = stream.last
    this.socket = this.#connect(undefined)
  }

  #connect(after: Position | undefined): StallingSocket {
    const { scope, scopeSince } = this
    return this.#stream.connect({
      listener: { user: this.#user, access: this.access, scope, scopeSince, filter: this.#filter },
      limitBytes: this.#limitBytes,
      ...(after ? { resume: { after } } : {}),
    })
  }

  mayReceive(entry: Entry): boolean {
    if (entry.kind === 'subscribed') {
      const isWanted = this.#filter.types?.has('NOTIFICATION_SUBSCRIBE') ?? true
      return isWanted && entry.user === this.#user && this.scope.reaches('notifications', 'read').length > 0
    }
    const device = 'device' in entry ? entry.device : ''
    const service = entry.kind === 'reported' ? entry.shape.serviceIdentifier : undefined
    const resource = entry.kind === 'reported' ? 'service' : 'device'
    const type = entry.kind === 'reported' ? 'OBJECT_UPDATED' : 'DEVICE_ADD'
    if (this.#filter.types && !this.#filter.types.has(type)) return false
    if (this.#filter.devices && !this.#filter.devices.has(device)) return false
    return this.scope
      .reaches(resource, 'read')
      .some(
        ({ devices, services }) =>
          (devices === '*' || devices.has(device)) &&
          (service === undefined || services === '*' || services.has(service)),
      )
  }

  /** All messages since the last full read, which follows a RESYNC or a STREAM with `recovered: false`. */
  #since(messages: readonly ReceivedMessage[]): readonly ReceivedMessage[] {
    const begun = messages.findLastIndex(({ type, recovered }) => type === 'RESYNC' || recovered === false)
    if (begun >= 0) {
      this.#begunAt = messages[begun]?.offset ?? 0
      this.#begunMessages = begun + 1
    }
    return messages.slice(this.#begunMessages)
  }

  /**
   * Expects that no value is older than at this offset, and that no event is missing. Only OBJECT_UPDATED may be left out.
   */
  expectPicture(upTo: number): void {
    const sent = this.#since(this.socket.sent)
    const values = new Map<string, number>()
    const added: number[] = []
    let last = 0
    for (const { type, offset, deviceIdentifier, serviceIdentifier, updates } of sent) {
      if (type === 'STREAM') continue
      expect(offset, 'offsets only grow').toBeGreaterThan(last)
      last = offset
      const entry = this.#stream.entries[offset] as Entry
      expect(this.mayReceive(entry), `may be sent ${offset}`).toBe(true)
      if (type === 'DEVICE_ADD' || type === 'NOTIFICATION_SUBSCRIBE') added.push(offset)
      for (const { propId, value } of updates ?? [])
        values.set(`${deviceIdentifier}/${serviceIdentifier}/${propId}`, value ?? 0)
    }
    const expectedAdded: number[] = []
    for (let offset = this.#begunAt + 1; offset <= upTo; offset++) {
      const entry = this.#stream.entries[offset] as Entry
      if (!this.mayReceive(entry)) continue
      if (entry.kind !== 'reported') {
        expectedAdded.push(offset)
        continue
      }
      const key = `${entry.device}/${entry.shape.serviceIdentifier}/${entry.items[0]}`
      // An overridden value may be missing, because the next value comes, live or after a resume.
      if (this.#stream.publishedOf.get(key) === offset) expect(values.get(key), `${key} at ${offset}`).toBe(offset)
    }
    expect(added.filter((offset) => offset <= upTo)).toEqual(expectedAdded)
  }

  position(): void {
    const position = this.#stream.hub.positionOf(this.socket)
    if (position) this.expectPicture(position.offset)
  }

  /** Breaks the connection. The client resumes after the last offset that it read, with the values that it had then. */
  comeBack(): void {
    const { received } = this.socket
    const read = this.#since(received)
    const offset = read.findLast(({ type }) => type !== 'STREAM')?.offset ?? this.#begunAt
    this.socket.close()
    this.socket = this.#connect({ epoch: 'now', offset })
    this.#begunMessages = 0
    const [stream] = this.socket.sent
    const isRetained = offset + 1 >= this.#stream.retained
    expect(stream).toMatchObject({ type: 'STREAM', recovered: isRetained && offset > this.scopeSince })
    // The client has everything up to this offset, and must get all later events.
    this.#begunAt = stream?.offset ?? 0
  }

  /** Notes that the access of the client changes. The caller notifies the hub. */
  changed(scope: Scope): void {
    this.scope = scope
    this.scopeSince = this.#stream.last
  }

  /** Moves the client to a new access that only it has. */
  move(scope: Scope): void {
    this.changed(scope)
    this.access = `${this.access}'`
    this.#stream.hub.move(this.socket, { access: this.access, scope })
  }
}

/** Changes the scope of the accesses of these dashboards at once. */
function redefine(stream: TestStream, dashboards: readonly Dashboard[], scope: Scope): void {
  for (const dashboard of dashboards) dashboard.changed(scope)
  stream.hub.redefine(tenant, new Map(dashboards.map(({ access }) => [access, scope])))
}

test('clients stay consistent after stalls, disconnects, trimming and changes of access', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 120, size: 'max' }), async (steps) => {
      const stream = new TestStream(300)
      const dashboards = [0, 1, 2].map((index) => new Dashboard(stream, index))
      const dashboardAt = (dashboard: number) => dashboards[dashboard] as Dashboard
      for (const each of steps) {
        switch (each.type) {
          case 'report':
            for (let count = 0; count < each.count; count++) {
              stream.report(each.device, (each.propId + count) % 3, each.service)
            }
            break
          case 'take':
            stream.take(stream.reportOf(each.device, each.propId, each.service))
            for (const { socket } of dashboards) socket.read(1)
            await stream.settle()
            for (const dashboard of dashboards) dashboard.position()
            break
          case 'add device':
            stream.publish({ kind: 'device_added', device: each.device, flakeAddress: 1, at: 5 })
            break
          case 'subscribe':
            stream.publish(subscribed(each.user))
            break
          case 'read':
            dashboardAt(each.dashboard).socket.read(each.count)
            break
          case 'settle':
            await stream.settle()
            break
          case 'step':
            stream.world.step()
            await Promise.resolve()
            break
          case 'position':
            dashboardAt(each.dashboard).position()
            break
          case 'come back':
            dashboardAt(each.dashboard).comeBack()
            break
          case 'redefine':
            redefine(stream, [dashboardAt(each.dashboard)], scopes[each.scope] as Scope)
            break
          case 'redefine all':
            redefine(stream, dashboards, scopes[each.scope] as Scope)
            break
          case 'move':
            dashboardAt(each.dashboard).move(scopes[each.scope] as Scope)
            break
          case 'trim':
            stream.retained = Math.max(stream.retained, Math.floor(stream.last * each.share))
            break
          case 'forget chunks':
            stream.recentFrom = stream.last + 1
        }
      }
      stream.publish()
      // The RESYNC of the last change of access comes within this time.
      await stream.world.advance(1_000)
      await readAll(stream)
      expect(stream.failures).toEqual([])
      expect(stream.hub.behindCount()).toBe(0)
      for (const dashboard of dashboards) {
        dashboard.expectPicture(stream.last)
        expect(stream.hub.positionOf(dashboard.socket)).toEqual({ epoch: 'now', offset: stream.last })
      }
    }),
    { numRuns: 300 },
  )
})
