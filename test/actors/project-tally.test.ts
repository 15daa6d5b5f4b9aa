import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ProjectCommand, Stage } from '#actors/project/state'
import { byPrecedence, releaseName } from '#model/release'
import { ActingProject, ada, moved, putRelease, putRollout, requestScan } from '#test/actors/acting-project'
import { commandOf, weighted } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'

const zero = { chosen: 0, running: 0, done: 0, failed: 0, refused: 0 }
const threshold = (percent: number) => putRollout('2.0.0', { errorThresholdPercent: percent })
const scanned = (chosen: number) => ({ type: 'scan_done', chosen, isBegun: true }) as const

let project: ActingProject
beforeEach(() => {
  project = new ActingProject()
})

describe('a rollout stops after errors', () => {
  // Each row has the number of chosen devices, the threshold in percent, the results, and whether the rollout stops.
  test.each<readonly [number, number | undefined, Partial<Record<Stage, number>>, boolean]>([
    [10, 20, { failed: 1 }, false],
    [10, 20, { failed: 2 }, true],
    [10, 20, { refused: 2 }, true],
    [10, 20, { failed: 1, refused: 1 }, true],
    [10, 20, { done: 8, failed: 1 }, false],
    [10, 10, { failed: 1 }, true],
    [1, 100, { failed: 1 }, true],
    [2, 100, { failed: 1 }, false],
    [2, 100, { failed: 1, done: 1 }, false],
    [2, 100, { failed: 2 }, true],
    [1000, 20, { failed: 3 }, false],
    [1000, 20, { failed: 4 }, true],
    [1000, 20, { done: 20, failed: 4 }, false],
    [1000, 20, { done: 20, failed: 5 }, true],
    [1000, 0, { done: 1000 }, false],
    [1000, 0, { failed: 1 }, true],
    [0, 20, { failed: 1 }, true],
    [1000, undefined, { failed: 1000 }, false],
    [1000, 12.5, { failed: 2 }, false],
    [1000, 12.5, { failed: 3 }, true],
  ])('among %i chosen devices with a threshold of %s %%, for %j: %s', (chosen, percent, outcomes, isStopped) => {
    project.all(putRollout('2.0.0', percent === undefined ? {} : { errorThresholdPercent: percent }), scanned(chosen))
    project.notices.received
    for (const [stage, count] of Object.entries(outcomes)) project.move(null, stage as Stage, count)
    expect(project.state.rollout?.state).toBe(isStopped ? 'stopped' : 'running')
    expect(project.notices.received).toEqual(isStopped ? ['rollout t/boiler'] : [])
  })

  test('only after the number of chosen devices is known, if it may be small', () => {
    project.act(threshold(20))
    project.move(null, 'failed', 3)
    expect(project.state.rollout?.state).toBe('running')
    project.notices.received
    project.act(scanned(10))
    expect(project.state.rollout?.state).toBe('stopped')
    expect(project.notices.received).toEqual(['rollout t/boiler'])
  })

  test('that are counted from zero when it is resumed', () => {
    project.all(threshold(20), scanned(10))
    project.move(null, 'failed', 2)
    project.act({ type: 'resume', author: ada })
    expect(project.state.rollout).toMatchObject({ state: 'running', countedFrom: { finished: 2, failed: 2 } })
    project.move(null, 'failed')
    expect(project.state.rollout?.state).toBe('running')
    project.move(null, 'failed')
    expect(project.state.rollout?.state).toBe('stopped')
    expect(project.state.tally.counts).toEqual({ ...zero, chosen: 10, failed: 4 })
  })

  test('of devices that failed before it was resumed and fail again', () => {
    project.all(threshold(20), scanned(10))
    project.move(null, 'failed', 2)
    project.act({ type: 'resume', author: ada })
    project.move('failed', 'running', 2)
    expect(project.state.rollout?.countedFrom).toEqual({ finished: 0, failed: 0 })
    project.move('running', 'failed')
    expect(project.state.rollout?.state).toBe('running')
    project.move('running', 'failed')
    expect(project.state.rollout?.state).toBe('stopped')
  })

  test('but not because of devices that succeed in the end', () => {
    project.all(threshold(20), scanned(10))
    for (let device = 0; device < 10; device++) {
      project.move(null, 'failed')
      project.move('failed', 'running')
      project.move('running', 'done')
    }
    expect(project.state.rollout?.state).toBe('running')
    expect(project.state.tally.counts).toEqual({ ...zero, chosen: 10, done: 10 })
  })

  test('but not while it is paused', () => {
    project.all(threshold(0), { type: 'pause', author: ada })
    project.move(null, 'failed', 5)
    expect(project.state.rollout?.state).toBe('paused')
  })
})

describe('reports of updates', () => {
  test('of an earlier rollout or of no rollout change no counts, but the use of the release', () => {
    project.all(putRollout('2.0.0'), putRollout('2.0.1', {}, 'R2'))
    for (const rollout of ['R1', null]) project.act(moved(null, 'running', { rollout }))
    project.act(moved(null, 'failed', { rollout: 'R1' }))
    expect(project.state.tally).toEqual({
      uses: { '0//2.0.0': 2 },
      counts: zero,
      isChosenKnown: false,
    })
  })

  test('are stored without a rollout while an update is active, and then deleted', () => {
    project.act(moved(null, 'running'))
    expect([...project.records.keys()]).toEqual(['tally'])
    project.act(moved('running', 'done'))
    expect(project.records.size).toBe(0)
  })

  test('are not stored if they change nothing', () => {
    expect(project.act(moved('failed', null)).type).toBe('answer')
  })
})

const few = <const Value>(...values: Value[]) => fc.constantFrom(...values)
const firmware = few('1.0.0', '2.0.0-rc.1', '2.0.0', '2.0.0+b', '10.0.0')
const key = fc.record({ firmware, hardware: few(null, 'revA'), index: few(0, 1) })
const author = few('crn#user:2Vb7qYx9Kd', 'crn#user:3Nc7xJr4Vq')
const device = few('A', 'B')
const command: fc.Arbitrary<ProjectCommand> = fc.oneof(
  weighted(
    4,
    fc
      .tuple(key, few('a', 'b'), few(1, 2))
      .map(([of, image, createdAt]) => putRelease(of.firmware, { ...of, image, createdAt })),
  ),
  weighted(3, commandOf('delete_release', { key })),
  commandOf('put_pin', { device, firmware }),
  commandOf('delete_pin', { device }),
  fc
    .tuple(firmware, few(0, 50, undefined), few('R1', 'R2', 'R3'), author)
    .map(([of, percent, id, by]) =>
      putRollout(of, { ...(percent !== undefined && { errorThresholdPercent: percent }) }, id, by),
    ),
  commandOf('delete_rollout'),
  fc.record({ type: few('pause', 'resume'), author }),
  fc
    .tuple(few('hook', 'cron', 'rollout'), few(null, ['A'], ['B']), fc.option(author))
    .map(([by, devices, of]) => requestScan(by, devices, of)),
  commandOf('scan_progress', { cursor: device, chosen: few(1, 2) }),
  commandOf('scan_done', { chosen: few(1, 30), isBegun: fc.boolean() }),
  fc.record({ type: few('scans_begun', 'repeat_scans') }),
)

test('after any sequence of commands, records and index restore the same state', () => {
  forAll([fc.array(command, { minLength: 1, maxLength: 40 })], 100, (commands) => {
    const project = new ActingProject()
    const indexed = new Map([
      ['project', false],
      ['walking', false],
    ])
    for (const each of commands) {
      const decision = project.act(each)
      if (decision.type === 'record') {
        for (const { index, isPresent } of decision.indexes ?? []) {
          expect(indexed.get(index)).toBe(!isPresent)
          indexed.set(index, isPresent)
        }
      }
      const { releases, releaseIndex, pins, rollout, scan: running, nextScans, openScans } = project.state
      expect(indexed.get('project')).toBe(releases.size + pins.size + (rollout ? 1 : 0) > 0)
      expect(indexed.get('walking')).toBe(running !== undefined || openScans.length > 0)
      if (!running) expect(nextScans).toEqual([])
      for (const { index, hardware, firmware: version } of releases.values()) {
        const newest = releaseIndex.newest.get(`${index}/${hardware ?? ''}`)
        expect(byPrecedence(newest?.firmware ?? '', version)).toBeGreaterThanOrEqual(0)
        expect(releases.get(releaseName(newest ?? { firmware: '', hardware: null, index: 0 }))).toBe(newest)
      }
      expect([...releaseIndex.versions.values()].flat().map(releaseName).sort()).toEqual([...releases.keys()].sort())
      const kinds = new Set([...releases.values()].map((of) => `${of.index}/${of.hardware}`))
      expect(releaseIndex.newest.size).toBe(kinds.size)
    }
  })
})

test('after any sequence of stages, the counts are those of the devices', () => {
  const stages = ['running', 'done', 'failed', 'refused', null] as const
  forAll([fc.array(fc.tuple(few(0, 1, 2), few(...stages)))], 100, (moves) => {
    const project = new ActingProject()
    project.act(threshold(50))
    const at: (Stage | null)[] = [null, null, null]
    for (const [device, to] of moves) {
      project.move(at[device] ?? null, to)
      at[device] = to
      const { countedFrom } = project.state.rollout ?? {}
      expect(countedFrom?.finished).toBeGreaterThanOrEqual(countedFrom?.failed ?? 0)
    }
    const countOf = (stage: Stage) => at.filter((each) => each === stage).length
    for (const stage of stages) if (stage) expect(project.state.tally.counts[stage]).toBe(countOf(stage))
    expect(project.state.tally.uses).toEqual(countOf('running') > 0 ? { '0//2.0.0': countOf('running') } : {})
  })
})
