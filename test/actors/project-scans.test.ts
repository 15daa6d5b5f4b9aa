import { beforeEach, describe, expect, test } from 'vitest'
import { waitingScansMax } from '#actors/project/scan'
import { boundDevicesMax } from '#model/group'
import { ActingProject, ada, bob, putRollout, requestScan } from '#test/actors/acting-project'

const done = (chosen: number, isBegun = true) => ({ type: 'scan_done', chosen, isBegun }) as const

let project: ActingProject
beforeEach(() => {
  project = new ActingProject()
})

describe('scans', () => {
  test('run one at a time, and each result is stored', () => {
    expect(project.indexed(requestScan('hook', ['B', 'A', 'B'], bob))).toEqual(['+walking/boiler'])
    expect(project.notices.received).toEqual(['scan t/boiler'])
    project.act({ type: 'scan_progress', cursor: 'A', chosen: 1 })
    const scan = { by: 'hook', devices: ['A', 'B'], author: bob, cursor: 'A', chosen: 1, rollout: null }
    expect(project.state.scan).toEqual(scan)
    expect(project.indexed(done(1))).toEqual(['-walking/boiler'])
    expect(project.state.scan).toBeUndefined()
    expect(project.records.size).toBe(0)
    expect(project.notices.received).toEqual([])
  })

  test('do not change by results that come after their end', () => {
    expect(project.all({ type: 'scan_progress', cursor: 'A', chosen: 1 }, done(1))).toEqual([undefined, undefined])
    expect(project.state.scan).toBeUndefined()
  })

  test('with the same reason and author are merged while they wait, and run after the present scan', () => {
    project.all(requestScan('hook', ['A']), requestScan('hook', ['C']), requestScan('hook', ['B', 'C']))
    project.notices.received
    expect(project.state.scan?.devices).toEqual(['A'])
    expect(project.state.nextScans).toEqual([{ by: 'hook', devices: ['B', 'C'], author: null }])
    expect(project.indexed(done(0))).toEqual([])
    expect(project.notices.received).toEqual(['scan t/boiler'])
    expect(project.state.scan).toMatchObject({ devices: ['B', 'C'], cursor: '', chosen: 0 })
    expect(project.state.nextScans).toEqual([])
  })

  test('of different authors stay separate, because each author reaches other devices', () => {
    project.all(requestScan('hook', null), requestScan('hook', ['A'], ada))
    project.all(requestScan('hook', ['B'], bob), requestScan('cron', null))
    expect(project.state.nextScans).toEqual([
      { by: 'hook', devices: ['A'], author: ada },
      { by: 'hook', devices: ['B'], author: bob },
      { by: 'cron', devices: null, author: null },
    ])
  })

  test.each([
    ['all devices in the first', null, ['A'], null],
    ['all devices in the second', ['A'], null, null],
    ['different devices', ['B'], ['A', 'B'], ['A', 'B']],
    ['no devices', [], [], []],
    ['as many devices as a list may have', names(0, boundDevicesMax - 1), ['D09999'], names(0, boundDevicesMax)],
    ['more devices than a list may have', names(0, boundDevicesMax), ['X'], null],
  ])('are merged with both lists of devices: %s', (_, one, other, both) => {
    project.all(requestScan('cron', null), requestScan('hook', one), requestScan('hook', other))
    expect(project.state.nextScans).toEqual([{ by: 'hook', devices: both, author: null }])
  })

  test(`are refused behind ${waitingScansMax} others, unless they merge with one`, () => {
    project.act(requestScan('cron', null))
    for (let author = 0; author < waitingScansMax; author++)
      project.act(requestScan('hook', ['A'], `crn#user:${author}`))
    expect(project.all(requestScan('hook', ['B'], 'crn#user:7'), requestScan('hook', ['B'], 'crn#user:more'))).toEqual([
      undefined,
      'overloaded: OVERLOADED',
    ])
    expect(project.state.nextScans[7]).toMatchObject({ devices: ['A', 'B'] })
    // A scan for a rollout is accepted beyond the limit.
    project.act(putRollout('2.0.0'))
    expect(project.state.nextScans).toHaveLength(waitingScansMax + 1)
  })
})

describe('a finished scan with devices that still wait', () => {
  test('is remembered until no device waits', () => {
    project.all(requestScan('hook', ['A'], bob))
    expect(project.indexed(done(1, false))).toEqual([])
    expect(project.state.scan).toBeUndefined()
    expect(project.state.openScans).toEqual([{ by: 'hook', devices: ['A'], author: bob }])
    // Another scan runs at the same time.
    expect(project.indexed(requestScan('cron', null))).toEqual([])
    expect(project.state.openScans).toHaveLength(1)
    expect(project.indexed(done(1, false))).toEqual([])
    expect(project.indexed({ type: 'scans_begun' })).toEqual(['-walking/boiler'])
    expect(project.records.size).toBe(0)
    expect(project.all({ type: 'scans_begun' })).toEqual([undefined])
  })

  test('ends together with the next scan that leaves no waiting devices', () => {
    project.all(requestScan('hook', ['A']), done(1, false), requestScan('cron', null))
    expect(project.indexed(done(1))).toEqual(['-walking/boiler'])
    expect(project.state.openScans).toEqual([])
  })

  test('runs again in a new process, after the present scan if there is one', () => {
    project.all(requestScan('hook', ['B']), done(1, false))
    project.all(requestScan('hook', ['A']), done(1, false), requestScan('cron', null))
    expect(project.indexed({ type: 'repeat_scans' })).toEqual([])
    expect(project.state).toMatchObject({
      scan: { by: 'cron', cursor: '' },
      nextScans: [{ by: 'hook', devices: ['A', 'B'], author: null }],
      openScans: [],
    })
    const other = new ActingProject()
    other.all(requestScan('hook', ['B'], bob), done(1, false), { type: 'repeat_scans' })
    expect(other.state.scan).toEqual({ by: 'hook', devices: ['B'], author: bob, cursor: '', chosen: 0, rollout: null })
    expect(other.all({ type: 'repeat_scans' })).toEqual([undefined])
  })

  test('does not run again for an inactive rollout, or before another scan of its author', () => {
    project.all(putRollout('2.0.0'), done(1, false), { type: 'pause', author: ada })
    expect(project.indexed({ type: 'repeat_scans' })).toEqual(['-walking/boiler'])
    project.all({ type: 'resume', author: ada }, done(1, false))
    project.act({ type: 'pause', author: bob })
    project.act({ type: 'resume', author: bob })
    expect(project.state).toMatchObject({ scan: { author: bob }, nextScans: [], openScans: [] })
    project.act(done(1, false))
    expect(project.indexed({ type: 'delete_rollout' })).toEqual(['-project/boiler', '-walking/boiler'])
    expect(project.records.size).toBe(0)
  })

  test('is forgotten, the oldest one first, if too many authors need scans', () => {
    for (let author = 0; author <= waitingScansMax; author++) {
      project.all(requestScan('hook', ['A'], `crn#user:${author}`), done(1, false))
    }
    expect(project.state.openScans).toHaveLength(waitingScansMax)
    expect(project.state.openScans[0]?.author).toBe('crn#user:1')
  })
})

describe('scans for a rollout', () => {
  test('do not begin unless the rollout is active', () => {
    project.act(requestScan('rollout', null, ada))
    expect(project.state.scan).toBeUndefined()
    project.all(putRollout('2.0.0'), done(1), { type: 'pause', author: ada })
    project.act(requestScan('rollout', null, ada))
    expect(project.state.scan).toBeUndefined()
    project.all({ type: 'resume', author: ada }, done(1), requestScan('rollout', null, ada))
    expect(project.state.scan).toMatchObject({ by: 'rollout', rollout: 'R1' })
  })

  test('end with the rollout, because the present scan gets no more devices and waiting scans are deleted', () => {
    project.all(putRollout('2.0.0'), { type: 'scan_progress', cursor: 'D', chosen: 4 })
    project.all(requestScan('rollout', null, ada), requestScan('hook', null), { type: 'delete_rollout' })
    expect(project.state.scan).toMatchObject({ by: 'rollout', devices: [], cursor: 'D' })
    expect(project.state.nextScans).toEqual([{ by: 'hook', devices: null, author: null }])
  })

  test('run for the present author of the rollout, and waiting scans of an earlier author are deleted', () => {
    for (const author of [ada, bob, ada, bob]) project.act(putRollout('2.0.0', {}, 'R1', author))
    expect(project.state.scan?.author).toBe(ada)
    expect(project.state.nextScans).toEqual([{ by: 'rollout', devices: null, author: bob }])
  })

  test('leave other scans unchanged when the rollout ends', () => {
    project.all(requestScan('hook', null), putRollout('2.0.0'), { type: 'delete_rollout' })
    expect(project.state.scan).toMatchObject({ by: 'hook', devices: null })
    expect(project.state.nextScans).toEqual([])
  })

  test.each([
    ['a scan for the rollout', requestScan('rollout', null, ada), 7],
    ['the schedule', requestScan('cron', null), 7],
    ['a hook without limits of access', requestScan('hook', null), 7],
    ['a hook of one author', requestScan('hook', null, bob), 3],
    ['a hook for some devices', requestScan('hook', ['A', 'B']), 3],
  ])('set the number of chosen devices if they visited all devices: %s', (_, request, chosen) => {
    project.all(putRollout('2.0.0'), done(3), request, done(7))
    expect(project.state.tally.counts.chosen).toBe(chosen)
  })

  test('do not set the number for a new rollout that began during the scan', () => {
    project.all(putRollout('2.0.0'), putRollout('2.0.1', {}, 'R2'), done(3))
    expect(project.state.tally).toMatchObject({ counts: { chosen: 0 }, isChosenKnown: false })
    project.act(done(5))
    expect(project.state.tally).toMatchObject({ counts: { chosen: 5 }, isChosenKnown: true })
    expect(project.state.scan).toBeUndefined()
  })
})

function names(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, place) => `D${String(from + place).padStart(5, '0')}`)
}
