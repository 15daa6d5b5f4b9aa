import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FoldedState } from '#bench/dashboard/folded-state'
import { DeviceList } from '#client/device-list'
import { Fleet } from '#client/fleet'
import { platformOf } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'
import { pagesOf } from '#client/requests'
import { SyncedList, strip } from '#client/synced-list'
import type { RawAnswer, Request } from '#client/transport'
import { noProperties, type Reported, someEvents, TinyServer } from '#test/client/tiny-server'

/** Reading a list while it changes, page by page, with pages that fail. Contract 3.4, 4. */

const everything = { depth: 2, devices: undefined, services: undefined } as const

/** A list that is read from a server of some lines, answer by answer. */
class Stage {
  readonly server = new TinyServer()
  readonly fleet = new Fleet((task) => task())
  readonly failures: (readonly [status: number | undefined, isFinal: boolean])[] = []
  readonly waits: number[] = []
  readonly requests: Request[] = []
  readonly list: SyncedList
  readonly #asked: { request: Request; resolve(answer: RawAnswer): void; reject(error: Error): void }[] = []
  #told = 0

  constructor() {
    const kind = new DeviceList(this.fleet, everything, undefined)
    const sleep = async (ms: number) => {
      this.waits.push(ms)
    }
    const platform = { ...platformOf({ sleep, random: () => 0.5 }), yieldToOthers: () => Promise.resolve() }
    const ask = (request: Request) => {
      this.requests.push(request)
      return new Promise<RawAnswer>((resolve, reject) => this.#asked.push({ request, resolve, reject }))
    }
    this.list = new SyncedList(kind, {
      platform,
      pages: (first) => pagesOf({ ...first, path: first.path.replace('limit=100', 'limit=2') }, ask),
      failed: (problem, isFinal) => this.failures.push([(problem as Problem).status, isFinal]),
    })
  }

  /** The oldest question is answered as the server is now, or fails. */
  async answer(error?: Error): Promise<boolean> {
    const next = this.#asked.shift()
    if (!next) return false
    if (error) next.reject(error)
    else next.resolve(this.server.answer(next.request))
    await this.turns()
    return true
  }

  /** So many events arrive. */
  tell(count = Number.POSITIVE_INFINITY): void {
    for (const event of this.server.log.slice(this.#told, this.#told + count)) {
      this.#told++
      this.list.received(event)
    }
  }

  async finish(): Promise<void> {
    this.tell()
    while (await this.answer()) this.tell()
  }

  async turns(): Promise<void> {
    for (let turn = 0; turn < 30; turn++) await Promise.resolve()
  }

  /** As a fold of some lines has it. */
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

describe('a list that is kept', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: someEvents.map((happen) => ({ kind: 'happen' as const, happen })) },
    { weight: 4, arbitrary: fc.constant({ kind: 'answer' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'lose' as const }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 5 }).map((count) => ({ kind: 'tell' as const, count })) },
    { weight: 1, arbitrary: fc.constant({ kind: 'start over' as const }) },
  )

  test('is what the server has, in whatever order answers and events come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 80, size: 'max' }), async (steps) => {
        const stage = new Stage()
        stage.list.startOver(0)
        for (const step of steps) {
          if (step.kind === 'happen') stage.server.happen(step.happen)
          else if (step.kind === 'answer') await stage.answer()
          else if (step.kind === 'lose') await stage.answer(new ConnectionLost('lost'))
          else if (step.kind === 'tell') stage.tell(step.count)
          // What was not told by then never is.
          else {
            stage.tell()
            stage.list.startOver(stage.server.head)
          }
          await stage.turns()
        }
        await stage.finish()
        expect(stage.list.isSynced).toBe(true)
        expect(stage.failures.every(([, isFinal]) => !isFinal)).toBe(true)
        expect(stage.folded.differences(stage.server.state)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('goes on with the page that failed, and asks again where what was read is too old', async () => {
    const stage = new Stage()
    for (const device of ['A', 'B', 'C']) stage.server.happen({ kind: 'add', device })
    stage.list.startOver(0)
    await stage.answer()
    await stage.answer(new ConnectionLost('lost'))
    await stage.answer()
    expect(stage.requests.map(({ path }) => path)).toEqual([
      '/devices?depth=2&limit=2',
      '/devices?depth=2&limit=2&cursor=B',
      '/devices?depth=2&limit=2&cursor=B',
    ])
    expect([stage.list.isSynced, stage.fleet.devices.size, stage.fleet.devices.isComplete]).toEqual([true, 3, true])
    stage.list.startOver(7)
    expect(stage.fleet.devices.isComplete).toBe(false)
    await stage.answer()
    expect(stage.list.isSynced).toBe(false)
    expect(stage.fleet.devices.size).toBe(3)
    for (const device of ['D', 'E', 'F', 'G']) stage.server.happen({ kind: 'add', device })
    await stage.finish()
    expect([stage.list.isSynced, stage.fleet.devices.size]).toEqual([true, 7])
  })

  test('is not read again where nothing changed', async () => {
    const stage = new Stage()
    stage.server.happen({ kind: 'add', device: 'A' })
    stage.list.startOver(0)
    await stage.finish()
    const before = stage.fleet.devices.get('A')
    stage.list.startOver(1)
    await stage.finish()
    expect(stage.requests.at(-1)?.headers).toEqual({ 'if-none-match': 'W/"1"' })
    expect([stage.list.isSynced, stage.fleet.devices.get('A')]).toEqual([true, before])
  })

  test('is empty for who may not read it, also of what else he hears, and says when it can’t be read at all', async () => {
    const stage = new Stage()
    stage.server.happen({ kind: 'add', device: 'A' })
    stage.list.startOver(0)
    await stage.finish()
    stage.list.startOver(1)
    await stage.answer(new Problem(403, undefined))
    expect([stage.list.isSynced, stage.fleet.devices.size, stage.failures]).toEqual([true, 0, []])
    stage.server.happen({ kind: 'add', device: 'B' })
    stage.tell()
    expect(stage.fleet.devices.size).toBe(0)
    stage.list.startOver(1)
    await stage.answer(new Problem(400, { error: 'no' }))
    expect([stage.list.isSynced, stage.failures, stage.waits]).toEqual([false, [[400, true]], []])
    stage.list.startOver(1)
    await stage.finish()
    expect([stage.list.isSynced, stage.fleet.devices.size]).toEqual([true, 2])
  })

  test('is read all the same behind refusals of others that stand in between', async () => {
    const stage = new Stage()
    for (const device of ['A', 'B', 'C']) stage.server.happen({ kind: 'add', device })
    stage.list.startOver(0)
    for (const status of [401, 404, 409, 413]) await stage.answer(new Problem(status, undefined))
    await stage.answer()
    await stage.answer(new Problem(503, undefined, new Headers({ 'retry-after': '7' })))
    await stage.answer(new Problem(429, undefined, new Headers({ 'retry-after': '86400' })))
    await stage.finish()
    expect([stage.list.isSynced, stage.fleet.devices.size]).toEqual([true, 3])
    expect(stage.failures.map(([status]) => status)).toEqual([401, 404, 409, 413, 503, 429])
    // Twice as long each time; not before what was said, up to five minutes of it.
    expect(stage.waits).toEqual([250, 500, 1_000, 2_000, 7_250, 300_500])
  })
})

test('events without what later ones say again come to the same', () => {
  fc.assert(
    fc.property(fc.array(someEvents, { maxLength: 40, size: 'max' }), (happenings) => {
      const server = new TinyServer()
      for (const happen of happenings) server.happen({ ...happen, device: 'A' } as typeof happen)
      const [whole, less] = [new FoldedState(), new FoldedState()]
      const stripped = strip(server.log)
      for (const event of server.log) whole.apply(event)
      for (const event of stripped) less.apply(event)
      expect(less.differences(whole)).toEqual([])
      const items = stripped.flatMap((event) => (event.type === 'OBJECT_UPDATED' ? (event as Reported).updates : []))
      expect(items.length).toBeLessThanOrEqual(noProperties)
    }),
  )
})
