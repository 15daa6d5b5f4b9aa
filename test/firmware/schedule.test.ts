import { describe, expect, test } from 'vitest'
import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import { projectAddress } from '#actors/project/state'
import { updateScheduleActor, updateScheduleAddress } from '#actors/update-schedule/schedule'
import { scheduleRetryMs, UpdateSchedule } from '#firmware/schedule'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { AnyDefinition } from '#runtime/activation'
import { type ActorDefinition, answer, record, refuse } from '#runtime/actor'
import { StoreListing } from '#store/store-listing'
import { startMs } from '#test/runtime/manual-world'
import { RuntimeFixture } from '#test/runtime/runtime-fixture'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Each day at three. */
const daily = '0 3 * * *'
const firstAt = Math.ceil((startMs - 3 * hourMs) / dayMs) * dayMs + 3 * hourMs

/** Projects that take down when they were to be gone through, and may refuse to. */
class ScheduleStage {
  stage: RuntimeFixture
  schedule: UpdateSchedule | undefined
  readonly walked: string[] = []
  readonly failures: unknown[] = []
  /** Projects that refuse, and why. */
  readonly refusals = new Map<string, Problem>()

  constructor() {
    this.stage = this.#made()
  }

  static async open(pattern: string | undefined, rows: readonly string[] = ['boiler/A', 'boiler/B', 'pump/C']) {
    const opened = new ScheduleStage()
    await opened.stage.open()
    for (const row of rows) opened.stage.ask(projectAddress('default', ''), { type: 'row', row })
    await opened.stage.settle()
    await opened.begin(pattern)
    return opened
  }

  get nextAt(): number | undefined {
    return (this.stage.system.recordOf(updateScheduleAddress, 'schedule') as { nextAt: number } | undefined)?.nextAt
  }

  get walks(): string[] {
    return this.walked.splice(0)
  }

  async begin(pattern: string | undefined): Promise<void> {
    this.schedule?.stop()
    const { system, journal } = this.stage
    const listing = new StoreListing(() => journal.storage)
    this.schedule = new UpdateSchedule({ system, listing, pattern, failed: (error) => this.failures.push(error) })
    this.schedule.open()
    await this.stage.settle()
  }

  /** The process dies, and another one comes so much later. */
  async restart(pattern: string | undefined, laterMs = 0, writesKept = 0): Promise<void> {
    this.stage.crash(writesKept)
    this.stage.world.spend(laterMs)
    this.stage = this.#made(this.stage)
    await this.stage.open()
    await this.begin(pattern)
  }

  #made(before?: RuntimeFixture): RuntimeFixture {
    const project: ActorDefinition<object, { type: string; row: string }, Entry> = {
      kind: 'project',
      persistence: 'write_through',
      formats: {},
      wake: ({ id }) => ({ id }),
      apply: () => {},
      decide: (state, { type, row }) => {
        if (type === 'row')
          return record<Entry>([], { indexes: [{ index: 'project_device', entry: row, isPresent: true }] })
        const { id } = state as { id: string }
        const refusal = this.refusals.get(id)
        if (refusal) return refuse(refusal)
        this.walked.push(id)
        return answer(undefined)
      },
    }
    const definitions = () =>
      [updateScheduleActor, directoryActor(noticeBus()), project] as unknown as AnyDefinition<Entry>[]
    return new RuntimeFixture({ definitions, ...(before && { world: before.world, place: before.place }) })
  }
}

describe('the schedule', () => {
  test('has every project gone through at each of its times, and once', async () => {
    const stage = await ScheduleStage.open(daily)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt, []])
    await stage.stage.world.advance(firstAt - startMs - 1)
    expect(stage.walks).toEqual([])
    await stage.stage.world.advance(1)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + dayMs, ['boiler', 'pump']])
    await stage.stage.world.advance(2 * dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + 3 * dayMs, ['boiler', 'pump', 'boiler', 'pump']])
    expect(stage.failures).toEqual([])
  })

  test('tells projects apart whose names begin alike', async () => {
    const rows = ['a/1', 'a-b/1', 'a.c/1', 'a0/1', 'a_/1', 'A/1', 'a/2', 'a0/2']
    const stage = await ScheduleStage.open(daily, rows)
    await stage.stage.world.advance(dayMs)
    expect(stage.walks).toEqual(['A', 'a-b', 'a.c', 'a', 'a0', 'a_'])
  })

  test.each([1, 5])('makes up for what was missed in %i days without a server, once', async (days) => {
    const stage = await ScheduleStage.open(daily)
    await stage.restart(daily, days * dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + days * dayMs, ['boiler', 'pump']])
    await stage.restart(daily)
    expect(stage.walks).toEqual([])
  })

  test('has nothing to make up for under another pattern, or where there was none', async () => {
    const stage = await ScheduleStage.open(daily)
    await stage.restart('0 4 * * *', 2 * dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + 2 * dayMs + hourMs, []])
    await stage.restart(undefined)
    expect([stage.nextAt, stage.walks]).toEqual([undefined, []])
    await stage.restart('0 4 * * *', 2 * dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + 4 * dayMs + hourMs, []])
  })

  test('runs again when the process dies before the row has moved on', async () => {
    const stage = await ScheduleStage.open(daily)
    stage.stage.world.spend(firstAt - startMs)
    stage.refusals.set('pump', new Problem('overloaded'))
    await stage.begin(daily)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt, ['boiler']])
    stage.refusals.clear()
    await stage.restart(daily)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + dayMs, ['boiler', 'pump']])
  })

  test('tries again what could not be stored, before the row moves', async () => {
    const stage = await ScheduleStage.open(daily)
    stage.refusals.set('boiler', new Problem('storage'))
    await stage.stage.world.advance(firstAt - startMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt, []])
    stage.refusals.clear()
    await stage.stage.world.advance(scheduleRetryMs)
    expect([stage.nextAt, stage.walks, stage.failures]).toEqual([firstAt + dayMs, ['boiler', 'pump'], []])
  })

  test('is not held up by a project that fails', async () => {
    const stage = await ScheduleStage.open(daily)
    stage.refusals.set('boiler', new Problem('bug'))
    await stage.stage.world.advance(dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + dayMs, ['pump']])
    expect(stage.failures).toHaveLength(1)
  })

  test('counts from now when the clock was put back', async () => {
    const stage = await ScheduleStage.open(daily)
    await stage.restart(daily, 10 * dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + 10 * dayMs, ['boiler', 'pump']])
    await stage.restart(daily, -9 * dayMs)
    expect([stage.nextAt, stage.walks]).toEqual([firstAt + dayMs, []])
    await stage.stage.world.advance(dayMs)
    expect(stage.walks).toEqual(['boiler', 'pump'])
  })

  test('does nothing any more once it was stopped', async () => {
    const stage = await ScheduleStage.open(daily)
    stage.schedule?.stop()
    await stage.stage.world.advance(2 * dayMs)
    stage.schedule?.open()
    await stage.stage.settle()
    expect([stage.walks, stage.nextAt]).toEqual([[], firstAt])
  })
})
