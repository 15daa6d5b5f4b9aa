import { expect, test } from 'vitest'
import { type History, type HistoryOptions, readHistory } from '#client/device-history'
import { place, TestHistorySource } from '#test/client/test-history-source'

class Fixture extends TestHistorySource {
  ask(options: HistoryOptions = {}, properties?: readonly string[]) {
    return readHistory(this, { ...place, properties, options })
  }

  report(timestamp: number, update: object): Promise<void> {
    const updates = [{ propId: 1, type: 'FLOAT', modifier: 0, ...update }]
    return this.publish({ type: 'OBJECT_UPDATED', timestamp, updates })
  }
}

const series = (time: readonly number[], value: readonly number[]) => ({
  from: time[0] ?? 0,
  to: 100,
  gaps: [],
  series: [{ propId: 1, type: 'FLOAT', time, value, marks: [] }],
})

test('a history has the points of all its pages', async () => {
  const fixture = new Fixture()
  const asked = fixture.ask({ from: 1 }, ['temperature', '0x2001'])
  const path = await fixture.answer({ ...series([1, 2], [10, 20]), from: 1 }, '/api/v1/next?from=3')
  expect(path).toBe('/devices/D/services/climate/history?from=1&properties=temperature%2C0x2001')
  expect(await fixture.answer({ ...series([3], [30]), from: 3 })).toBe('/next?from=3')
  expect(await asked).toMatchObject({ from: 1, to: 100, series: [{ time: [1, 2, 3], value: [10, 20, 30] }] })
})

test('live points continue a history without gaps and repeated points, and missed events are read again', async () => {
  const fixture = new Fixture()
  const asked = fixture.ask({ from: '-1h' })
  await fixture.answer(series([1, 2], [10, 20]))
  const seen: History[] = []
  const stopFollowing = (await asked).live((history) => seen.push(history))
  // Two points are reported while the history is read again. The answer has the first of them.
  await fixture.report(3, { tag: 'value', value: 30 })
  await fixture.report(4, { tag: 'value', value: 40 })
  expect(await fixture.answer(series([1, 2, 3], [10, 20, 30]))).toContain('from=1')
  expect(seen.at(-1)?.series).toMatchObject([{ time: [1, 2, 3, 4], value: [10, 20, 30, 40] }])
  await fixture.report(2, { tag: 'value', value: 21 })
  await fixture.report(5, { tag: 'error', error: 'broken' })
  expect(seen.at(-1)?.series).toEqual([
    {
      propId: 1,
      type: 'FLOAT',
      time: [1, 2, 3, 4],
      value: [10, 21, 30, 40],
      marks: [{ time: 5, tag: 'error', error: 'broken' }],
    },
  ])
  await fixture.miss()
  await fixture.answer(series([1, 9], [10, 90]))
  expect(seen.at(-1)?.series).toMatchObject([{ time: [1, 9], value: [10, 90] }])
  stopFollowing()
  expect(fixture.listenerCount).toBe(0)
})

test('the last buckets of a history are read again after events, at most once a second', async () => {
  const fixture = new Fixture()
  const buckets = (time: readonly number[], avg: readonly number[]) => ({
    from: time[0],
    to: 40,
    interval: 10,
    tz: 'UTC',
    gaps: [],
    series: [{ propId: 1, type: 'FLOAT', time, avg, marks: [] }],
  })
  const asked = fixture.ask({ from: 0, interval: 'auto', points: 4 })
  await fixture.answer(buckets([0, 10, 20], [1, 2, 3]))
  const seen: History[] = []
  const stopFollowing = (await asked).live((history) => seen.push(history))
  expect(await fixture.answer(buckets([20], [3]))).toContain('from=20&interval=10&tz=UTC')
  await fixture.report(31, { tag: 'value', value: 5 })
  await fixture.report(32, { tag: 'value', value: 7 })
  expect(fixture.requests.length).toBe(0)
  await fixture.wake()
  await fixture.answer(buckets([20, 30], [4, 6]))
  expect(seen.at(-1)?.series).toMatchObject([{ time: [0, 10, 20, 30], avg: [1, 2, 4, 6] }])
  await fixture.wake()
  expect(fixture.requests.length).toBe(0)
  stopFollowing()
})

test.each([
  [10, 1_000],
  [120_000, 2_000],
  [86_400_000, 10_000],
])('the last buckets of %i ms are read again %i ms after an event', async (interval, pauseMs) => {
  const fixture = new Fixture()
  const answer = { from: 0, to: 40, interval, tz: 'UTC', gaps: [], series: [] }
  const asked = fixture.ask({ from: 0, interval: 'auto' })
  await fixture.answer(answer)
  const stopFollowing = (await asked).live(() => {})
  await fixture.answer(answer)
  expect(fixture.pausesMs).toEqual([pauseMs])
  stopFollowing()
})
