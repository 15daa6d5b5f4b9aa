import { describe, expect, test } from 'vitest'
import { DelayCheck, type DelayEvent } from '#bench/proof/workloads/alarm-delays'

/** What the kill proof hears of an alarm with `forSeconds`: it must notice what can't be. */

const reported = (at: number, serial: number, holds: boolean): DelayEvent => ({ type: 'reported', at, serial, holds })
const raised = (at: number, since: number): DelayEvent => ({ type: 'raised', at, since })
const ended = (at: number): DelayEvent => ({ type: 'ended', at })

function faultsOfStory(check: DelayCheck, story: readonly DelayEvent[]): string {
  return story.flatMap((event, place) => check.receive(place + 1, event) ?? []).join('; ')
}

const faultsOf = (story: readonly DelayEvent[]) => faultsOfStory(new DelayCheck(1_000), story)

const begun = [reported(5_000, 1, false), reported(10_000, 2, true)]

describe('an alarm that waits', () => {
  test.each<[string, readonly DelayEvent[]]>([
    ['is raised in time, and ends', [...begun, raised(11_020, 11_000), reported(12_000, 3, false), ended(12_000)]],
    ['is raised long behind its time, as of it', [...begun, raised(60_000, 11_000)]],
    ['waits on while its condition holds', [...begun, reported(10_600, 3, true), raised(11_001, 11_000)]],
    ['is not raised when its condition ended', [...begun, reported(10_900, 3, false), reported(15_000, 4, false)]],
    [
      'waits anew behind that',
      [...begun, reported(10_900, 3, false), reported(10_950, 4, true), raised(11_950, 11_950)],
    ],
    ['may be a moment late, and its end earlier', [...begun, reported(11_500, 3, false)]],
    [
      'may end by a report that was spared',
      [...begun, raised(11_000, 11_000), ended(11_500), reported(12_000, 4, true)],
    ],
    ['may be raised by such', [...begun, raised(12_000, 12_000), reported(12_500, 5, true)]],
    [
      'begins at an unknown moment where reports were spared',
      [...begun, reported(14_000, 5, true), raised(14_500, 14_400)],
    ],
  ])('%s', (_, story) => {
    expect(faultsOf(story)).toBe('')
  })

  test.each<[string, readonly DelayEvent[], RegExp]>([
    ['too early', [...begun, raised(10_800, 11_000)], /raised 200 ms before its time/],
    ['twice', [...begun, raised(11_000, 11_000), raised(12_000, 11_000)], /raised twice, again at 12000/],
    [
      'though it ended',
      [...begun, reported(10_900, 3, false), raised(11_000, 11_000), reported(12_000, 4, false)],
      /condition had ended/,
    ],
    ['as of another moment', [...begun, raised(11_400, 11_400), reported(12_000, 3, true)], /raised as of 11400/],
    ['never', [...begun, reported(14_000, 3, false)], /held for 4000 ms, and its alarm was not raised/],
    [
      'and ended by nothing',
      [...begun, raised(11_000, 11_000), ended(11_500), reported(12_000, 3, true)],
      /its condition holds/,
    ],
    [
      'and not ended',
      [...begun, raised(11_000, 11_000), reported(12_000, 3, false), reported(12_100, 4, true)],
      /has not ended before/,
    ],
    ['never, and ended', [...begun, reported(10_500, 3, false), ended(10_500)], /had no alarm/],
  ])('is found when it is raised %s', (_, story, said) => {
    expect(faultsOf(story)).toMatch(said)
  })

  test('is event once of two who hear it', () => {
    const check = new DelayCheck(1_000)
    const story = [...begun, raised(11_000, 11_000), reported(12_000, 3, false), ended(12_000)]
    expect(faultsOfStory(check, story)).toBe('')
    expect(faultsOfStory(check, story)).toBe('')
  })
})
