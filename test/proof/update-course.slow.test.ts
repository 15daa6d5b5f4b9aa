import { describe, expect, test } from 'vitest'
import { UpdateCourse, type UpdateStatus } from '#bench/proof/workloads/update-course'

/** What the kill proof hears of updates: it must notice what can't be. */

/** `STATUS version progress message`, with `-` for what is not there. */
function statusOf(text: string, place: number): UpdateStatus {
  const [status = '', firmware = '-', progress = '-', ...message] = text.split(' ')
  return {
    ...{ at: 1_000 + place, status },
    ...(firmware !== '-' && { firmware }),
    ...(progress !== '-' && { progress: Number(progress) }),
    ...(message.length > 0 && { message: message.join(' ') }),
  }
}

function faultsOfStory(course: UpdateCourse, story: readonly string[]): string {
  return story.flatMap((text, place) => course.receive(place + 1, statusOf(text, place)) ?? []).join('; ')
}

const faultsOf = (...story: readonly string[]) => faultsOfStory(new UpdateCourse(), story)

const whole = ['CHECKING', 'OFFERING 2', 'STARTED 2', 'DOWNLOADING 2 50', 'INSTALLING 2', 'REBOOTING 2', 'DONE 2']
const offline = 'FAILED 2 - DEVICE_OFFLINE: its connection was lost'

describe('the course of an update', () => {
  test.each<[string, readonly string[]]>([
    ['goes on to its end, and another one begins', [...whole, 'OFFERING 1', 'STARTED 1', 'DONE 1']],
    ['may leave states out', ['OFFERING 2', 'DOWNLOADING 2 50', 'DONE 2']],
    ['may say a download again', ['OFFERING 2', 'DOWNLOADING 2 50', 'DOWNLOADING 2 50', 'VERIFYING 2 100', 'DONE 2']],
    ['may be refused, and asked for again', ['CHECKING', 'OFFERING 2', 'REFUSED 2 - not now', ...whole]],
    ['may lose its line before the device began', ['OFFERING 2', offline, 'OFFERING 2', 'DONE 2']],
    ['may go on behind that', ['OFFERING 2', offline, 'DOWNLOADING 2 50', 'DONE 2']],
  ])('%s', (_, story) => {
    expect(faultsOf(...story)).toBe('')
  })

  test.each<[string, readonly string[], RegExp]>([
    ['goes back', ['OFFERING 2', 'INSTALLING 2', 'DOWNLOADING 2 50'], /was INSTALLING .*, and is DOWNLOADING/],
    ['loses progress', ['OFFERING 2', 'DOWNLOADING 2 50', 'DOWNLOADING 2 40'], /is DOWNLOADING 2 40 %/],
    ['is begun twice', ['OFFERING 2', 'STARTED 2', 'STARTED 2'], /was STARTED .*, and is STARTED/],
    ['is done twice', [...whole, 'DONE 2'], /was DONE .*, and is DONE/],
    ['has not ended when another begins', ['OFFERING 2', 'STARTED 2', 'OFFERING 1'], /is OFFERING 1/],
    ['ends with another firmware', ['OFFERING 2', 'STARTED 2', 'DONE 1'], /is DONE 1/],
    ['never began', ['STARTED 2'], /was never updated, and is STARTED/],
    ['fails', ['OFFERING 2', 'STARTED 2', 'FAILED 2 - did not begin to download in time'], /ended: FAILED 2/],
    ['is refused too late', ['OFFERING 2', 'STARTED 2', 'REFUSED 2 - not now'], /was STARTED .*, and is REFUSED/],
    ['finds nothing', ['CHECKING', 'IDLE - - NO_UPDATE'], /ended: IDLE/],
    ['loses a line that it does not need', ['OFFERING 2', 'STARTED 2', offline], /was STARTED .*, and is FAILED/],
  ])('is found when it %s', (_, story, said) => {
    expect(faultsOf(...story)).toMatch(said)
  })

  test('is heard once of two who hear it', () => {
    const course = new UpdateCourse()
    expect(faultsOfStory(course, whole)).toBe('')
    expect(faultsOfStory(course, whole)).toBe('')
    expect(course.last?.status).toBe('DONE')
  })
})
