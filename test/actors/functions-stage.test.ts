import { describe, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/address'
import { deliveryActor } from '#actors/delivery/delivery'
import type { DeliveryState } from '#actors/delivery/state'
import { deviceActor, deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import type { Entry } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { FunctionViews } from '#rules/function-views'
import type { AnyDefinition } from '#runtime/activation'
import type { StoreJournal } from '#store/store-journal'
import { hello, report } from '#test/actors/acting'
import { chain, functionViews, mail, onProperty, storedFunction, throttle } from '#test/actors/functioned'
import { noRuleViews } from '#test/actors/no-rule-views'
import { shownState } from '#test/actors/shown-state'
import { shape } from '#test/rules/stored-rules'
import { ManualWorld, startMs } from '#test/runtime/manual-world'
import { faultyPlace, Stage, type StageOptions } from '#test/runtime/stage'

const svc = shape('svc', [
  [1, 'uint8'],
  [2, 'uint8'],
])
const address = deviceAddress('default', 'A')
const throttled = storedFunction(chain(onProperty(1), throttle(60), mail))
const each = storedFunction(chain({ ...onProperty(1), id: 'each' }, mail))

/** A device on a real store, in a tenant with these functions. */
class FunctionStage {
  readonly functions: FunctionViews = functionViews()
  readonly stage: Stage
  readonly #stored: ReadonlyMap<string, StoredFunction>
  seq = 0

  constructor(stored: ReadonlyMap<string, StoredFunction>, options: StageOptions) {
    this.#stored = stored
    const { functions } = this
    const definitions = (journal: StoreJournal) =>
      [
        deviceActor({
          shapeById: (id) => journal.shapes.byId(id),
          startedAt: startMs,
          rules: noRuleViews,
          functions,
        }),
        deliveryActor({ notices: { requested() {} }, kept: 256 }),
      ] as unknown as AnyDefinition<Entry>[]
    this.stage = new Stage({ ...options, definitions })
  }

  static async open(stored: Readonly<Record<string, StoredFunction>>, options: StageOptions = {}) {
    const opened = new FunctionStage(new Map(Object.entries(stored)), options)
    await opened.stage.open()
    opened.load()
    opened.stage.ask(address, { type: 'add', flakeAddress: 7, meta: {} })
    opened.stage.ask(address, hello([{ shape: opened.shape, items: [] }]))
    await opened.stage.settle()
    return opened
  }

  /** Another process on what the first left. */
  async reborn(options: StageOptions = {}): Promise<FunctionStage> {
    const { world, place } = this.stage
    this.stage.crash()
    const again = new FunctionStage(this.#stored, { ...options, world, place })
    again.seq = this.seq
    await again.stage.open()
    return again
  }

  load(): void {
    const none = new Map<string, never>()
    this.functions.load([{ tenant: 'default', functions: this.#stored, templates: none, groups: none }])
  }

  get shape() {
    return this.stage.journal.shapes.intern(svc.serviceIdentifier, svc.properties)
  }

  get device(): DeviceState {
    return this.stage.system.look(address) as DeviceState
  }

  get stamps() {
    return Object.fromEntries(this.device.throttles)
  }

  /** Values that were asked to be told. */
  requestsOf(fn: string) {
    const { requests } = this.stage.system.look(deliveryAddress('default', fn)) as DeliveryState
    return [...requests.values()].map(({ value }) => value)
  }

  says(...items: Parameters<typeof report>[2]): void {
    this.stage.ask(address, report(this.shape, ++this.seq, items))
  }
}

/** All ways in which a start reads what was said since the last snapshot. */
const always = { entriesMin: 1, actorsMin: 1, rowsAhead: 1, rowsPerActor: 4 }
const readings: readonly (readonly [string, StageOptions])[] = [
  ['each device alone', {}],
  ['all by one scan', { bulkWake: always }],
]

describe('over a crash', () => {
  test.each(readings)(
    'a throttle holds back, read from its report, and nothing is asked again: %s',
    async (_, options) => {
      const before = await FunctionStage.open({ F1: throttled, F2: each })
      before.says(0, 5)
      await before.stage.settle()
      const stood = shownState(before.device)
      const after = await before.reborn(options)
      expect(shownState(after.device)).toEqual(stood)
      expect(after.stamps).toEqual({ 'F1/seldom': startMs })
      expect([after.requestsOf('F1'), after.requestsOf('F2')]).toEqual([[5], [5]])
      after.load()
      after.says(0, 6)
      await after.stage.settle()
      expect([after.requestsOf('F1'), after.requestsOf('F2')]).toEqual([[5], [5, 6]])
      await after.stage.world.advance(60_000)
      after.says(0, 7)
      await after.stage.settle()
      expect([after.requestsOf('F1'), after.requestsOf('F2')]).toEqual([
        [5, 7],
        [5, 6, 7],
      ])
      expect(after.stage.bugs).toEqual([])
    },
  )

  test('what a commit did not hold never was: neither report nor stamp nor request', async () => {
    const before = await FunctionStage.open({ F1: throttled })
    before.says(0, 5)
    const after = await before.reborn()
    expect([after.stamps, after.requestsOf('F1')]).toEqual([{}, []])
    after.load()
    after.seq = 0
    after.says(0, 5)
    await after.stage.settle()
    expect([Object.keys(after.stamps), after.requestsOf('F1')]).toEqual([['F1/seldom'], [5]])
  })

  test('a status that was let through rests with its commit', async () => {
    const onStatus = { id: 'when', type: 'trigger', on: 'status' } as const
    const before = await FunctionStage.open({ F1: storedFunction(chain(onStatus, throttle(60), mail)) })
    expect(before.requestsOf('F1')).toEqual(['online'])
    const after = await before.reborn()
    expect(after.stamps).toEqual({ 'F1/seldom': startMs })
  })
})

test('a write that fails leaves neither, and is counted nowhere', async () => {
  const world = new ManualWorld()
  const { place, faults } = faultyPlace(world)
  const ground = await FunctionStage.open({ F1: throttled }, { world, place })
  faults.next = { fail: 'full', reachedDisk: false }
  ground.says(0, 5)
  await ground.stage.settle()
  await ground.stage.world.advance(60_000)
  expect(ground.stage.log[0]).toMatch(/^failed/)
  expect(ground.functions.counts.requests).toBe(0)
  expect([ground.stamps, ground.requestsOf('F1')]).toEqual([{}, []])
})

test('one commit holds the report and the request', async () => {
  const ground = await FunctionStage.open({ F1: throttled })
  const before = ground.stage.commits.length
  ground.says(0, 5)
  await ground.stage.settle()
  const commits = ground.stage.commits.slice(before)
  expect(commits).toHaveLength(1)
  const [head, request] = [...(commits[0]?.records.keys() ?? [])].filter((key) => key.includes('/delivery/'))
  expect([head, request]).toEqual([expect.stringMatching(/head$/), expect.stringMatching(/request\/0*1$/)])
  expect(ground.functions.counts).toMatchObject({ requests: 1, overflown: 0 })
})
