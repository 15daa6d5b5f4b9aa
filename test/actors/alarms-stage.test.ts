import { describe, expect, test } from 'vitest'
import { deviceActor, deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import type { StoredAlarm } from '#model/alarm'
import type { Entry } from '#model/entry'
import { everything } from '#model/scope'
import { RuleViews } from '#rules/rule-views'
import type { AnyDefinition } from '#runtime/activation'
import type { StoreJournal } from '#store/store-journal'
import { StoreListing } from '#store/store-listing'
import { hello, report } from '#test/actors/acting'
import { turnsOf } from '#test/actors/alarmed'
import { atOnce } from '#test/rules/at-once'
import { shape, storedAlarm } from '#test/rules/stored-rules'
import { startMs } from '#test/runtime/manual-world'
import { during, Stage, type StageOptions } from '#test/runtime/stage'

const svc = shape('svc', [
  [1, 'uint8'],
  [2, 'uint8'],
])
const high = storedAlarm({ serviceIdentifier: 'svc', condition: { '>': [{ var: '0x01' }, 10] } })
const long = { ...high, forSeconds: 60 }
const address = deviceAddress('default', 'A')

/** A device on a real store, in a tenant with these alarms. */
class AlarmStage {
  readonly rules: RuleViews
  readonly stage: Stage
  readonly #alarms: ReadonlyMap<string, StoredAlarm>
  readonly #options: StageOptions
  seq = 0

  constructor(alarms: ReadonlyMap<string, StoredAlarm>, options: StageOptions) {
    this.#alarms = alarms
    this.#options = options
    this.rules = new RuleViews({
      scopeOf: () => everything,
      sweep: () => {},
      inSlices: atOnce,
      log: { info: () => {} },
    })
    const definitions = (journal: StoreJournal) =>
      [
        deviceActor({
          shapeById: (id) => journal.shapes.byId(id),
          startedAt: startMs,
          rules: this.rules,
          functions: noDeviceFunctions,
        }),
      ] as unknown as AnyDefinition<Entry>[]
    this.stage = new Stage({ ...options, definitions })
  }

  static async open(alarms: Readonly<Record<string, StoredAlarm>>): Promise<AlarmStage> {
    const opened = new AlarmStage(new Map(Object.entries(alarms)), {})
    await opened.stage.open()
    opened.load()
    opened.stage.ask(address, { type: 'add', flakeAddress: 7, meta: {} })
    opened.stage.ask(address, hello([{ shape: opened.shape, items: [] }]))
    await opened.stage.settle()
    return opened
  }

  /** Another process on what the first left. */
  async reborn(options: StageOptions = {}): Promise<AlarmStage> {
    const { world, place } = this.stage
    this.stage.crash()
    const again = new AlarmStage(this.#alarms, { ...this.#options, ...options, world, place })
    again.seq = this.seq
    await again.stage.open()
    return again
  }

  load(): void {
    this.rules.load([{ tenant: 'default', alarms: this.#alarms, groups: new Map(), schemas: new Map() }])
  }

  get shape() {
    return this.stage.journal.shapes.intern(svc.serviceIdentifier, svc.properties)
  }

  says(...items: Parameters<typeof report>[2]): void {
    this.stage.ask(address, report(this.shape, ++this.seq, items))
  }

  get standing() {
    return Object.fromEntries((this.stage.system.look(address) as DeviceState).alarms)
  }

  /** What was told of alarms since the start. */
  get told(): string[] {
    return turnsOf({ type: 'record', events: this.stage.events.map(({ event }) => event) })
  }

  async rows(): Promise<string[]> {
    const { journal, world } = this.stage
    const pages = new StoreListing(() => journal.storage).entries('alarm', 'default', '', '')
    const rows = await during(world, pages.next(100))
    await during(world, pages.close())
    return [...rows]
  }

  /** Commits that set a reminder, or take it away. */
  get reminders(): number {
    const keys = this.stage.commits.flatMap(({ records }) => [...records.keys()])
    return keys.filter((key) => key.startsWith('reminder/')).length
  }
}

/** All ways in which a start reads what was said since the last snapshot. */
const always = { entriesMin: 1, actorsMin: 1, rowsAhead: 1, rowsPerActor: 4 }
const readings: readonly (readonly [string, StageOptions])[] = [
  ['each device alone', {}],
  ['all by one scan', { bulkWake: always }],
]

describe('over a crash', () => {
  test.each(readings)('a wait goes on, read from its report: %s', async (_, options) => {
    const before = await AlarmStage.open({ I1: long, I2: high })
    before.says(0, 11)
    await before.stage.settle()
    await before.stage.world.advance(10_000)
    before.says(1, 1)
    await before.stage.settle()
    const stood = before.standing
    expect(stood).toEqual({
      I1: { isActive: false, since: 0, waitingSince: startMs },
      I2: { isActive: true, since: startMs, waitingSince: 0 },
    })
    const after = await before.reborn(options)
    expect(after.standing).toEqual(stood)
    after.load()
    await after.stage.world.advance(49_999)
    expect(after.told).toEqual([])
    await after.stage.world.advance(1)
    expect(after.told).toEqual([`I1 active ${startMs + 60_000}`])
    expect(await after.rows()).toEqual(['I1/A', 'I2/A'])
    expect(after.stage.bugs).toEqual([])
  })

  test.each(readings)('what was due meanwhile comes at the start, once alarms are read: %s', async (_, options) => {
    const before = await AlarmStage.open({ I1: long })
    before.says(0, 11)
    await before.stage.settle()
    before.stage.world.spend(3_600_000)
    const after = await before.reborn(options)
    await after.stage.world.advance(500)
    expect(after.told).toEqual([])
    after.load()
    await after.stage.world.advance(600)
    expect(after.told).toEqual([`I1 active ${startMs + 60_000}`])
    expect(after.stage.bugs).toEqual([])
  })

  test('what a commit did not hold never was', async () => {
    const before = await AlarmStage.open({ I1: high })
    before.says(0, 11)
    const after = await before.reborn()
    after.load()
    expect(after.standing).toEqual({})
    expect(await after.rows()).toEqual([])
    after.seq = 0
    after.says(0, 11)
    await after.stage.settle()
    expect(after.told).toEqual([`I1 active ${after.stage.world.now()}`])
  })
})

test('a body that is ended is judged on in the next one', async () => {
  const ground = await AlarmStage.open({ I1: high, I2: long })
  const { stage } = ground
  ground.says(0, 11)
  stage.system.registry.kill(stage.system.registry.wake(address))
  expect(ground.standing).toMatchObject({ I1: { isActive: true }, I2: { waitingSince: startMs } })
  ground.says(0, 9)
  await stage.settle()
  expect(ground.told).toEqual([`I1 active ${startMs}`, `I1 inactive ${startMs}`])
  expect(ground.standing).not.toHaveProperty('I2')
})

test('whoever flaps sets one reminder while it stands', async () => {
  const ground = await AlarmStage.open({ I1: long })
  for (let times = 0; times < 20; times++) {
    ground.says(0, times % 2 === 0 ? 11 : 9)
    await ground.stage.settle()
    await ground.stage.world.advance(2_000)
  }
  expect(ground.reminders).toBe(1)
  expect(ground.told).toEqual([])
})

test('a transition is counted when it is stored', async () => {
  const ground = await AlarmStage.open({ I1: high })
  ground.says(0, 11)
  expect(ground.rules.counts.transitions).toBe(0)
  await ground.stage.settle()
  expect(ground.rules.counts.transitions).toBe(1)
})

test('a device that is removed is reminded of nothing', async () => {
  const ground = await AlarmStage.open({ I1: long })
  ground.says(0, 11)
  ground.stage.ask(address, { type: 'remove' })
  await ground.stage.settle()
  expect(ground.stage.system.reminders.count).toBe(0)
  expect(ground.standing).toEqual({})
})
