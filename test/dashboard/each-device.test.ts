import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { forEachDevice, type Outcome } from '#dashboard/pages/fleet/bulk-changes/each-device'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const refusal = (status: number, retryAfterSeconds?: number) =>
  Object.assign(new Error('refused'), { status, retryAfterSeconds })

/** Answers with these refusals in turn, and then with success. Returns the second of each request, and the outcomes. */
async function run(refusals: Error[]): Promise<{ at: number[]; outcomes: Outcome[] }> {
  const start = Date.now()
  const at: number[] = []
  const outcomes: Outcome[] = []
  const work = forEachDevice(async () => {
    at.push((Date.now() - start) / 1_000)
    const refused = refusals.shift()
    if (refused) throw refused
    return undefined
  })
  const done = work(['A'], (some) => outcomes.push(...some), new AbortController().signal)
  await vi.advanceTimersByTimeAsync(60_000)
  await done
  return { at, outcomes }
}

test.each<[string, Error[], at: number[], isDone: boolean]>([
  ['after the time that the server names', [refusal(429, 7), refusal(503, 2)], [0, 7, 9], true],
  ['a second later after another change at the same time', [refusal(412)], [0, 1], true],
  ['at most five times', Array.from({ length: 9 }, () => refusal(429)), [0, 1, 2, 3, 4, 5], false],
  ['never after another refusal', [refusal(403)], [0], false],
])('a refused request for a device is sent again %s', async (_, refusals, at, isDone) => {
  const result = await run(refusals)
  expect(result.at).toEqual(at)
  expect(result.outcomes).toEqual([{ device: 'A', fault: isDone ? undefined : expect.any(String) }])
})
