import { beforeEach, describe, expect, test } from 'vitest'
import { isEmpty, type ProjectCommand } from '#actors/project/state'
import { pinsMax, releasesMax } from '#model/release'
import { now, outcomeOf, turnAt } from '#test/actors/acting-actor'
import { ActingProject, ada, bob, moved, putRelease, putRollout, releaseOf } from '#test/actors/acting-project'

const key = { firmware: '2.0.0', hardware: null, index: 0 }
const deletion: ProjectCommand = { type: 'delete_release', key }
const pinOf = (device: string): ProjectCommand => ({ type: 'put_pin', device, firmware: '2.0.0' })
const unpin = (device: string): ProjectCommand => ({ type: 'delete_pin', device })
const pin = pinOf('A')

let project: ActingProject
beforeEach(() => {
  project = new ActingProject()
})

describe('a release', () => {
  test('exists from its upload until its deletion, and the image store is notified of both', () => {
    expect(project.all(putRelease('2.0.0'))).toEqual([{ isNew: true, release: releaseOf('2.0.0') }])
    expect([...project.state.releases]).toEqual([['0//2.0.0', releaseOf('2.0.0')]])
    expect(project.notices.received).toEqual(['t/boiler/0//2.0.0 none → a'])
    expect(project.all(deletion)).toEqual([undefined])
    expect(project.state.releases.size).toBe(0)
    expect(project.notices.received).toEqual(['t/boiler/0//2.0.0 a → none'])
  })

  test('does not change by another upload of the same bytes, and other bytes are refused', () => {
    project.act(putRelease('2.0.0'))
    project.notices.received
    expect(project.all(putRelease('2.0.0', { createdBy: bob }), putRelease('2.0.0', { image: 'b' }))).toEqual([
      { isNew: false, release: releaseOf('2.0.0') },
      'conflict: the release exists with other bytes',
    ])
    expect(project.notices.received).toEqual([])
  })

  test('is another release for other hardware or another index', () => {
    project.all(putRelease('2.0.0'), putRelease('2.0.0', { hardware: 'revA' }), putRelease('2.0.0', { index: 1 }))
    expect([...project.state.releases.keys()]).toEqual(['0//2.0.0', '0/revA/2.0.0', '1//2.0.0'])
    project.act(deletion)
    expect([...project.state.releases.keys()]).toEqual(['0/revA/2.0.0', '1//2.0.0'])
  })

  test.each<readonly [string, readonly ProjectCommand[], readonly ProjectCommand[]]>([
    ['a pin', [pin], [unpin('A')]],
    ['one of two pins', ['A', 'B'].map(pinOf), ['A', 'B'].map(unpin)],
    ['the rollout', [putRollout('2.0.0')], [{ type: 'delete_rollout' }]],
    ['an active update', [moved(null, 'running')], [moved('running', 'done')]],
    [
      'one of two active updates',
      [moved(null, 'running'), moved('failed', 'running')],
      [moved('running', 'failed'), moved('running', null)],
    ],
  ])('is not deleted while in use by %s', (_, uses, ends) => {
    project.all(putRelease('2.0.0'), ...uses)
    for (const end of ends) {
      expect(project.all(deletion)).toEqual(['conflict: the release is in use'])
      project.act(end)
    }
    expect(project.all(deletion)).toEqual([undefined])
  })

  test('is not in use by another version, or by an update for other hardware', () => {
    project.all(
      putRelease('2.0.0'),
      { type: 'put_pin', device: 'A', firmware: '2.0.0+1' },
      putRollout('2.0.1'),
      moved(null, 'running', { release: { ...key, hardware: 'revA' } }),
    )
    expect(project.all(deletion, deletion)).toEqual([undefined, 'not_found: Not Found'])
  })

  test(`is refused when the project has ${releasesMax}`, () => {
    for (let minor = 0; minor < releasesMax; minor++) {
      // The releases are inserted as from the store, because a turn checks the whole state.
      project.definition.change?.(project.state, { name: `release/0//1.${minor}.0`, value: releaseOf(`1.${minor}.0`) })
    }
    expect(outcomeOf(project.decide(putRelease('2.0.0')))).toBe('conflict: a project has at most 1000 releases')
    expect(outcomeOf(project.decide(putRelease('1.0.0')))).toMatchObject({ isNew: false })
    expect(project.state.releaseIndex.newest.get('0/')?.firmware).toBe('1.999.0')
  })
})

describe('a pin', () => {
  test('exists from its creation until its deletion, and the answer shows whether it is new', () => {
    const other: ProjectCommand = { type: 'put_pin', device: 'A', firmware: '1.0.0' }
    expect(project.all(pin, pin, other)).toEqual([{ isNew: true }, { isNew: false }, { isNew: false }])
    expect([...project.state.pins]).toEqual([['A', '1.0.0']])
    expect(project.all(unpin('A'), unpin('A'))).toEqual([undefined, 'not_found: Not Found'])
    expect(project.notices.received).toEqual([])
  })

  test(`is refused when the project has ${pinsMax}, unless the device has one`, () => {
    const pins = project.state.pins as Map<string, string>
    for (let device = 0; device < pinsMax; device++) pins.set(`D${device}`, '1.0.0')
    const decide = (device: string) => project.definition.decide(project.state, pinOf(device), turnAt())
    expect(outcomeOf(decide('A'))).toBe('conflict: a project has at most 100000 pins')
    expect(outcomeOf(decide('D7'))).toEqual({ isNew: false })
  })
})

test('a project exists while it has a release, a pin or a rollout', () => {
  expect(isEmpty(project.state)).toBe(true)
  expect(project.indexed(putRelease('2.0.0'))).toEqual(['+project/boiler'])
  expect(project.indexed(pin)).toEqual([])
  expect(project.indexed(putRollout('2.0.1'))).toEqual(['+walking/boiler'])
  expect(project.indexed(putRollout('2.0.2', {}, 'R2'))).toEqual([])
  expect(project.indexed(unpin('A'))).toEqual([])
  expect(project.indexed(deletion)).toEqual([])
  expect(project.indexed({ type: 'delete_rollout' })).toEqual(['-project/boiler'])
  expect(project.indexed({ type: 'scan_done', chosen: 0, isBegun: true })).toEqual(['-walking/boiler'])
  expect(isEmpty(project.state)).toBe(true)
  expect(project.records.size).toBe(0)
  expect(project.indexed(pin)).toEqual(['+project/boiler'])
})

describe('a rollout', () => {
  const counts = { chosen: 0, running: 0, done: 0, failed: 0, refused: 0 }
  const stored = {
    ...{
      id: 'R1',
      body: { firmware: '2.0.0', percent: 100 },
      state: 'running',
      countedFrom: { finished: 0, failed: 0 },
    },
    ...{ createdBy: ada, createdAt: now, updatedBy: ada, updatedAt: now },
  }

  test('is active when it is created, and begins a scan', () => {
    expect(project.all(putRollout('2.0.0'))).toEqual([{ isNew: true, rollout: stored, counts }])
    expect(project.notices.received).toEqual(['rollout t/boiler', 'scan t/boiler'])
    const scan = { by: 'rollout', devices: null, author: ada, cursor: '', chosen: 0, rollout: 'R1' }
    expect(project.state.scan).toEqual(scan)
  })

  test('that is put again with the same firmware continues with the new author and another scan', () => {
    project.act(putRollout('2.0.0'))
    project.move(null, 'done', 2)
    project.move(null, 'refused')
    project.notices.received
    project.at = now + 5
    const again = { ...stored, body: { firmware: '2.0.0', percent: 50 }, countedFrom: { finished: 3, failed: 1 } }
    const rollout = { ...again, updatedBy: bob, updatedAt: now + 5 }
    expect(project.all(putRollout('2.0.0', { percent: 50 }, 'R2', bob))).toEqual([
      { isNew: false, rollout, counts: { ...counts, done: 2, refused: 1 } },
    ])
    // The first scan continues. The next scan runs for the present author.
    expect(project.notices.received).toEqual(['rollout t/boiler'])
    expect(project.state.nextScans).toEqual([{ by: 'rollout', devices: null, author: bob }])
  })

  test.each(['paused', 'stopped'] as const)(
    'that is %s begins no scan, and continues only with another firmware',
    (state) => {
      project.all(putRollout('2.0.0', { errorThresholdPercent: 0 }), { type: 'scan_done', chosen: 9, isBegun: true })
      if (state === 'paused') project.act({ type: 'pause', author: ada })
      else project.move(null, 'failed')
      project.act(putRollout('2.0.0', { percent: 10 }))
      expect(project.state.rollout).toMatchObject({ state, body: { percent: 10 } })
      expect(project.state.scan).toBeUndefined()
      project.at = now + 5
      const made = { createdBy: bob, createdAt: now + 5, updatedBy: bob, updatedAt: now + 5 }
      const rollout = { ...stored, id: 'R2', body: { firmware: '2.0.1', percent: 100 }, ...made }
      expect(project.all(putRollout('2.0.1', {}, 'R2', bob))).toEqual([{ isNew: true, rollout, counts }])
    },
  )

  test('can be paused and resumed by any author, and a second request changes nothing', () => {
    project.all(putRollout('2.0.0'), { type: 'scan_done', chosen: 9, isBegun: true })
    project.notices.received
    const known = { ...counts, chosen: 9 }
    project.at = now + 5
    const paused = { ...stored, state: 'paused', updatedBy: bob, updatedAt: now + 5 }
    const twice = (rollout: object) => Array(2).fill({ isNew: false, rollout, counts: known })
    expect(project.all({ type: 'pause', author: bob }, { type: 'pause', author: ada })).toEqual(twice(paused))
    expect(project.notices.received).toEqual(['rollout t/boiler'])
    project.at = now + 9
    const resumed = { ...stored, updatedAt: now + 9 }
    expect(project.all({ type: 'resume', author: ada }, { type: 'resume', author: bob })).toEqual(twice(resumed))
    expect(project.notices.received).toEqual(['rollout t/boiler', 'scan t/boiler'])
  })

  test('that does not exist cannot be paused, resumed or deleted', () => {
    const changes = (['pause', 'resume'] as const).map((type) => ({ type, author: ada }))
    const outcomes = project.all(...changes, { type: 'delete_rollout' })
    expect(outcomes).toEqual(Array(3).fill('not_found: Not Found'))
  })

  test('begins a scan when its release is uploaded, but not when another release is', () => {
    project.all(putRollout('2.0.0'), { type: 'scan_done', chosen: 9, isBegun: true })
    project.notices.received
    project.all(putRelease('2.0.1'))
    expect(project.state.scan).toBeUndefined()
    expect(project.indexed(putRelease('2.0.0'))).toEqual(['+walking/boiler'])
    expect(project.notices.received.slice(1)).toEqual(['t/boiler/0//2.0.0 none → a', 'scan t/boiler'])
    project.all({ type: 'scan_done', chosen: 9, isBegun: true }, { type: 'pause', author: ada })
    project.all(putRelease('2.0.0', { hardware: 'revA' }))
    expect(project.state.scan).toBeUndefined()
  })
})
