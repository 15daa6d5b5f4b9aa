import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FoldedState } from '#bench/dashboard/folded-state'
import { deviceList, Fleet } from '#client/fleet'
import { platformOf } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'
import { dropReplacedItems, SyncedList } from '#client/synced-list'
import type { RawAnswer, Request } from '#client/transport'
import type { EventOf, StreamEvent } from '#model/event'
import { modifierOf } from '#model/modifier'

type ReportEvent = EventOf<'OBJECT_UPDATED'>

/** A change of a device. */
type Change =
  | { readonly kind: 'add' | 'delete'; readonly device: string }
  | {
      readonly kind: 'report'
      readonly device: string
      readonly service: string
      readonly items: readonly { readonly propId: number; readonly value?: number; readonly error?: string }[]
    }

const devices = ['A', 'B', 'C', 'D', 'E', 'F']
const services = ['climate', 'light']
const propIds = [1, 2, 3]

/** The number of properties of a device. */
const propertyCount = services.length * propIds.length

const device = fc.constantFrom(...devices)
const item = fc.record({ propId: fc.constantFrom(...propIds) }).chain(({ propId }) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 9 }).map((value) => ({ propId, value })) },
    { weight: 1, arbitrary: fc.constant({ propId, error: 'broken' }) },
    // A removed property.
    { weight: 1, arbitrary: fc.constant({ propId }) },
  ),
)
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      device,
      service: fc.constantFrom(...services),
      items: fc.array(item, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('add' as const, 'delete' as const), device }) },
)

/** A simple server of a device list. It has a state, events and pages. */
class ListServer {
  readonly state = new FoldedState()
  readonly log: StreamEvent[] = []

  get head(): number {
    return this.log.length
  }

  apply(change: Change): void {
    const offset = this.head + 1
    const event = eventOf(change, { offset, timestamp: 1_000 + offset })
    this.log.push(event)
    this.state.apply(event)
  }

  answer({ path }: Request): RawAnswer {
    const query = new URLSearchParams(path.split('?')[1])
    const fields = { 'stream-epoch': 'e', 'stream-offset': String(this.head) }
    const limit = Number(query.get('limit'))
    const named = query.getAll('deviceIdentifier')
    const left = [...this.state.devices]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .filter(([name]) => named.length === 0 || named.includes(name))
      .filter(([name]) => name > (query.get('cursor') ?? ''))
    const page = left.slice(0, limit)
    const cursor = page.at(-1)?.[0]
    const link = `</api/v1/devices?depth=2&limit=${limit}&cursor=${cursor}>; rel="next"`
    const body = page.map(([deviceIdentifier, servicesOfDevice]) => ({
      deviceIdentifier,
      services: [...servicesOfDevice].map(([serviceIdentifier, properties]) => ({
        serviceIdentifier,
        properties: Object.fromEntries(
          [...properties].map(([propId, property]) => [
            propId,
            { ...property, propId, modifier: modifierOf(property.tag === 'error' ? 8 : 0) },
          ]),
        ),
      })),
    }))
    return { status: 200, headers: new Headers({ ...fields, ...(left.length > limit && { link }) }), body }
  }
}

function eventOf(change: Change, place: { readonly offset: number; readonly timestamp: number }): StreamEvent {
  const { device: deviceIdentifier } = change
  if (change.kind !== 'report') {
    const type = change.kind === 'add' ? 'DEVICE_ADD' : 'DEVICE_DELETE'
    return { type, ...place, deviceIdentifier }
  }
  return {
    type: 'OBJECT_UPDATED',
    ...place,
    flakeAddress: 1,
    deviceIdentifier,
    serviceIdentifier: change.service,
    updates: change.items.map(({ propId, value, error }) => ({
      propId,
      type: 'UINT8',
      modifier: modifierOf(error === undefined ? 0 : 8),
      tag: error !== undefined ? 'error' : value === undefined ? 'removed' : 'value',
      ...(value !== undefined && { value }),
      ...(error !== undefined && { error }),
    })),
  }
}

/** A client reads a list page by page, while the list changes and pages fail. Contract 3.4, 4. */

const everything = { depth: 2, devices: undefined, services: undefined } as const

/** A list and a simple server. The test decides when each answer and each event arrives. */
class ListFixture {
  readonly server = new ListServer()
  readonly fleet = new Fleet((task) => task())
  readonly failures: (readonly [status: number | undefined, isFinal: boolean])[] = []
  readonly waits: number[] = []
  readonly requests: Request[] = []
  readonly list: SyncedList
  readonly #pending: { request: Request; resolve(answer: RawAnswer): void; reject(error: Error): void }[] = []
  #deliveredCount = 0

  constructor(isWatched = false) {
    const watched = isWatched ? this.fleet : undefined
    const kind = deviceList(this.fleet, { ...everything, devices: watched })
    const sleep = async (ms: number) => {
      this.waits.push(ms)
    }
    const platform = { ...platformOf({ sleep, random: () => 0.5 }), yieldToOthers: () => Promise.resolve() }
    const send = (asked: Request) => {
      const isOfDevices = asked.path.includes('deviceIdentifier')
      const request = isOfDevices ? asked : { ...asked, path: asked.path.replace(/limit=\d+/, 'limit=2') }
      this.requests.push(request)
      return new Promise<RawAnswer>((resolve, reject) => this.#pending.push({ request, resolve, reject }))
    }
    const reader = {
      platform,
      read: send,
      failed: (problem: Error, isFinal: boolean) => this.failures.push([(problem as Problem).status, isFinal]),
    }
    this.list = new SyncedList(kind, reader, watched)
    this.fleet.devices.onWatch = () => void this.list.readDevices()
  }

  /** Answers the oldest request from the present state, or with a failure. */
  async answer(error?: Error): Promise<boolean> {
    const next = this.#pending.shift()
    if (!next) return false
    if (error) next.reject(error)
    else next.resolve(this.server.answer(next.request))
    await this.turns()
    return true
  }

  /** Delivers the next `count` events. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    for (const event of this.server.log.slice(this.#deliveredCount, this.#deliveredCount + count)) {
      this.#deliveredCount++
      this.list.received(event)
    }
  }

  async finish(): Promise<void> {
    this.deliver()
    while (await this.answer()) this.deliver()
  }

  async turns(): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await Promise.resolve()
  }

  /** The list that the simple server has. */
  get folded(): FoldedState {
    const folded = new FoldedState()
    folded.replace(
      [...this.fleet.devices.values()].map(({ deviceIdentifier, services }) => ({
        deviceIdentifier,
        services: [...services].map(([serviceIdentifier, properties]) => ({
          serviceIdentifier,
          properties: Object.fromEntries([...properties].map(([id, property]) => [String(id), property])),
        })),
      })),
    )
    return folded
  }
}

describe('a synchronized list', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: anyChange.map((change) => ({ kind: 'change' as const, change })) },
    { weight: 4, arbitrary: fc.constant({ kind: 'answer' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'lose' as const }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 5 }).map((count) => ({ kind: 'deliver' as const, count })) },
    { weight: 1, arbitrary: fc.constant({ kind: 'start over' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('read again' as const, 'watch' as const, 'unwatch' as const, 'drop' as const),
        device: fc.constantFrom(...devices),
      }),
    },
  )

  test.each([
    ['list', false],
    ['watched devices', true],
  ])('equals the %s of the server for any order of answers and events', async (_, isWatched) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 80, size: 'max' }), async (steps) => {
        const fixture = new ListFixture(isWatched)
        const { list, server, fleet } = fixture
        const watched = new Map<string, () => void>()
        list.startOver(0)
        for (const step of steps) {
          if (step.kind === 'change') server.apply(step.change)
          else if (step.kind === 'answer') await fixture.answer()
          else if (step.kind === 'lose') await fixture.answer(new ConnectionLost('lost'))
          else if (step.kind === 'deliver') fixture.deliver(step.count)
          // Events that were not delivered do not arrive after a new start.
          else if (step.kind === 'start over') {
            fixture.deliver()
            list.startOver(server.head)
          } else if (step.kind === 'read again') void list.readAgain([step.device])
          else if (step.kind === 'watch') {
            if (!watched.has(step.device))
              watched.set(
                step.device,
                fleet.devices.subscribeKey(step.device, () => {}),
              )
          } else if (step.kind === 'unwatch') {
            watched.get(step.device)?.()
            watched.delete(step.device)
          } else if (isWatched && !watched.has(step.device)) list.drop(step.device)
          await fixture.turns()
        }
        await fixture.finish()
        expect(list.isSynced).toBe(true)
        expect(fixture.failures.every(([, isFinal]) => !isFinal)).toBe(true)
        const known = fixture.folded
        if (isWatched) {
          for (const device of devices) {
            if (watched.has(device)) continue
            known.devices.delete(device)
            server.state.devices.delete(device)
          }
        }
        expect(known.differences(server.state)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('requests a failed page again, and starts again if its position is no longer retained', async () => {
    const fixture = new ListFixture()
    for (const device of ['A', 'B', 'C']) fixture.server.apply({ kind: 'add', device })
    fixture.list.startOver(0)
    await fixture.answer()
    await fixture.answer(new ConnectionLost('lost'))
    await fixture.answer()
    expect(fixture.requests.map(({ path }) => path)).toEqual([
      '/devices?depth=2&limit=2',
      '/devices?depth=2&limit=2&cursor=B',
      '/devices?depth=2&limit=2&cursor=B',
    ])
    expect([fixture.list.isSynced, fixture.fleet.devices.size, fixture.fleet.devices.isComplete]).toEqual([
      true,
      3,
      true,
    ])
    fixture.list.startOver(7)
    expect(fixture.fleet.devices.isComplete).toBe(false)
    await fixture.answer()
    expect(fixture.list.isSynced).toBe(false)
    expect(fixture.fleet.devices.size).toBe(3)
    for (const device of ['D', 'E', 'F', 'G']) fixture.server.apply({ kind: 'add', device })
    await fixture.finish()
    expect([fixture.list.isSynced, fixture.fleet.devices.size]).toEqual([true, 7])
  })

  test('is empty without the permission to read it, and reports that it cannot be read', async () => {
    const fixture = new ListFixture()
    fixture.server.apply({ kind: 'add', device: 'A' })
    fixture.list.startOver(0)
    await fixture.finish()
    fixture.list.startOver(1)
    await fixture.answer(new Problem(403, undefined))
    expect([fixture.list.isSynced, fixture.fleet.devices.size, fixture.failures]).toEqual([true, 0, []])
    fixture.server.apply({ kind: 'add', device: 'B' })
    fixture.deliver()
    expect(fixture.fleet.devices.size).toBe(0)
    fixture.list.startOver(1)
    await fixture.answer(new Problem(400, { error: 'no' }))
    expect([fixture.list.isSynced, fixture.failures, fixture.waits]).toEqual([false, [[400, true]], []])
    fixture.list.startOver(1)
    await fixture.finish()
    expect([fixture.list.isSynced, fixture.fleet.devices.size]).toEqual([true, 2])
  })

  test('is read again after error answers, also those of proxies', async () => {
    const fixture = new ListFixture()
    for (const device of ['A', 'B', 'C']) fixture.server.apply({ kind: 'add', device })
    fixture.list.startOver(0)
    for (const status of [401, 404, 409, 413]) await fixture.answer(new Problem(status, undefined))
    await fixture.answer()
    await fixture.answer(new Problem(503, undefined, new Headers({ 'retry-after': '7' })))
    await fixture.answer(new Problem(429, undefined, new Headers({ 'retry-after': '86400' })))
    await fixture.finish()
    expect([fixture.list.isSynced, fixture.fleet.devices.size]).toEqual([true, 3])
    expect(fixture.failures.map(([status]) => status)).toEqual([401, 404, 409, 413, 503, 429])
    // Each wait is twice as long as the last one. `Retry-After` is added, up to five minutes.
    expect(fixture.waits).toEqual([250, 500, 1_000, 2_000, 7_250, 300_500])
  })
})

test('events without the values that later events replace have the same result', () => {
  fc.assert(
    fc.property(fc.array(anyChange, { maxLength: 40, size: 'max' }), (changes) => {
      const server = new ListServer()
      for (const change of changes) server.apply({ ...change, device: 'A' } as typeof change)
      const [complete, reduced] = [new FoldedState(), new FoldedState()]
      const stripped = dropReplacedItems(server.log)
      for (const event of server.log) complete.apply(event)
      for (const event of stripped) reduced.apply(event)
      expect(reduced.differences(complete)).toEqual([])
      const items = stripped.flatMap((event) => (event.type === 'OBJECT_UPDATED' ? (event as ReportEvent).updates : []))
      expect(items.length).toBeLessThanOrEqual(propertyCount)
    }),
  )
})
