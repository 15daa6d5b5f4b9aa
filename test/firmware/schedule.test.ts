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
/** Daily at 03:00. */
const daily = '0 3 * * *'
const firstAt = Math.ceil((startMs - 3 * hourMs) / dayMs) * dayMs + 3 * hourMs

/** A schedule with projects that record their scans, or refuse them. */
class ScheduleFixture {
  runtime: RuntimeFixture
  schedule: UpdateSchedule | undefined
  readonly scanned: string[] = []
  readonly failures: unknown[] = []
  /** The problems of refusing projects. */
  readonly refusals = new Map<string, Problem>()

  constructor() {
    this.runtime = this.#made()
  }

  static async open(pattern: string | undefined, rows: readonly string[] = ['boiler/A', 'boiler/B', 'pump/C']) {
    const opened = new ScheduleFixture()
    await opened.runtime.open()
    for (const row of rows) opened.runtime.ask(projectAddress('default', ''), { type: 'row', row })
    await opened.runtime.settle()
    await opened.begin(pattern)
    return opened
  }

  get nextAt(): number | undefined {
    return (this.runtime.system.recordOf(updateScheduleAddress, 'schedule') as { nextAt: number } | undefined)?.nextAt
  }

  get scans(): string[] {
    return this.scanned.splice(0)
  }

  async begin(pattern: string | undefined): Promise<void> {
    this.schedule?.stop()
    const { system, journal } = this.runtime
    const listing = new StoreListing(() => journal.storage)
    this.schedule = new UpdateSchedule({ system, listing, pattern, failed: (error) => this.failures.push(error) })
    this.schedule.open()
    await this.runtime.settle()
  }

  /** Kills the process, and starts another after `laterMs`. */
  async restart(pattern: string | undefined, laterMs = 0, writesKept = 0): Promise<void> {
    this.runtime.crash(writesKept)
    this.runtime.world.spend(laterMs)
    this.runtime = this.#made(this.runtime)
    await this.runtime.open()
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
        this.scanned.push(id)
        return answer(undefined)
      },
    }
    const definitions = () =>
      [updateScheduleActor, directoryActor(noticeBus()), project] as unknown as AnyDefinition<Entry>[]
    return new RuntimeFixture({ definitions, ...(before && { world: before.world, backend: before.backend }) })
  }
}

describe('the schedule', () => {
  test('scans every project once at each of its times', async () => {
    const fixture = await ScheduleFixture.open(daily)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt, []])
    await fixture.runtime.world.advance(firstAt - startMs - 1)
    expect(fixture.scans).toEqual([])
    await fixture.runtime.world.advance(1)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + dayMs, ['boiler', 'pump']])
    await fixture.runtime.world.advance(2 * dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + 3 * dayMs, ['boiler', 'pump', 'boiler', 'pump']])
    expect(fixture.failures).toEqual([])
  })

  test('distinguishes projects with a common prefix', async () => {
    const rows = ['a/1', 'a-b/1', 'a.c/1', 'a0/1', 'a_/1', 'A/1', 'a/2', 'a0/2']
    const fixture = await ScheduleFixture.open(daily, rows)
    await fixture.runtime.world.advance(dayMs)
    expect(fixture.scans).toEqual(['A', 'a-b', 'a.c', 'a', 'a0', 'a_'])
  })

  test.each([1, 5])('runs once after %i days without a server', async (days) => {
    const fixture = await ScheduleFixture.open(daily)
    await fixture.restart(daily, days * dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + days * dayMs, ['boiler', 'pump']])
    await fixture.restart(daily)
    expect(fixture.scans).toEqual([])
  })

  test('does not catch up after the pattern was changed or absent', async () => {
    const fixture = await ScheduleFixture.open(daily)
    await fixture.restart('0 4 * * *', 2 * dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + 2 * dayMs + hourMs, []])
    await fixture.restart(undefined)
    expect([fixture.nextAt, fixture.scans]).toEqual([undefined, []])
    await fixture.restart('0 4 * * *', 2 * dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + 4 * dayMs + hourMs, []])
  })

  test('runs again if the process is killed before the next time was stored', async () => {
    const fixture = await ScheduleFixture.open(daily)
    fixture.runtime.world.spend(firstAt - startMs)
    fixture.refusals.set('pump', new Problem('overloaded'))
    await fixture.begin(daily)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt, ['boiler']])
    fixture.refusals.clear()
    await fixture.restart(daily)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + dayMs, ['boiler', 'pump']])
  })

  test('retries scans that could not be stored before it continues', async () => {
    const fixture = await ScheduleFixture.open(daily)
    fixture.refusals.set('boiler', new Problem('storage'))
    await fixture.runtime.world.advance(firstAt - startMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt, []])
    fixture.refusals.clear()
    await fixture.runtime.world.advance(scheduleRetryMs)
    expect([fixture.nextAt, fixture.scans, fixture.failures]).toEqual([firstAt + dayMs, ['boiler', 'pump'], []])
  })

  test('continues after a project that fails', async () => {
    const fixture = await ScheduleFixture.open(daily)
    fixture.refusals.set('boiler', new Problem('bug'))
    await fixture.runtime.world.advance(dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + dayMs, ['pump']])
    expect(fixture.failures).toHaveLength(1)
  })

  test('starts from now if the clock was set back', async () => {
    const fixture = await ScheduleFixture.open(daily)
    await fixture.restart(daily, 10 * dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + 10 * dayMs, ['boiler', 'pump']])
    await fixture.restart(daily, -9 * dayMs)
    expect([fixture.nextAt, fixture.scans]).toEqual([firstAt + dayMs, []])
    await fixture.runtime.world.advance(dayMs)
    expect(fixture.scans).toEqual(['boiler', 'pump'])
  })

  test('does nothing after it was stopped', async () => {
    const fixture = await ScheduleFixture.open(daily)
    fixture.schedule?.stop()
    await fixture.runtime.world.advance(2 * dayMs)
    fixture.schedule?.open()
    await fixture.runtime.settle()
    expect([fixture.scans, fixture.nextAt]).toEqual([[], firstAt])
  })
})
