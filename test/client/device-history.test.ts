import { expect, test } from 'vitest'
import { type Desired, followDesired } from '#client/device-desired'
import { type History, type HistoryOptions, type HistorySource, readHistory } from '#client/device-history'
import type { RawAnswer, Request } from '#client/transport'
import type { StreamEvent } from '#model/event'

/** The history of a device, and its desired values. */

/** The place of the events and requests of these tests. */
const place = { deviceIdentifier: 'D', serviceIdentifier: 'climate' }

/** A server whose answers and events the test gives. */
class TestHistorySource implements HistorySource {
  readonly requests: { readonly request: Request; resolve(answer: RawAnswer): void }[] = []
  readonly pausesMs: number[] = []
  readonly #listeners = new Set<(event: StreamEvent) => void>()
  readonly #missed = new Set<() => void>()
  readonly #sleeps: (() => void)[] = []
  readonly platform = {
    random: () => 0,
    sleep: (ms: number) => {
      this.pausesMs.push(ms)
      return new Promise<void>((wake) => this.#sleeps.push(wake))
    },
  }

  get listenerCount(): number {
    return this.#listeners.size + this.#missed.size
  }

  read(request: Request): Promise<RawAnswer> {
    return new Promise((resolve) => this.requests.push({ request, resolve }))
  }

  events(listener: (event: StreamEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  missed(listener: () => void): () => void {
    this.#missed.add(listener)
    return () => this.#missed.delete(listener)
  }

  /** Answers the oldest request, and returns its path. */
  async answer(body: object, link?: string, status = 200): Promise<string> {
    const next = this.requests.shift()
    if (!next) throw new Error('no request is waiting')
    next.resolve({ status, headers: new Headers(link ? { link: `<${link}>; rel="next"` } : {}), body })
    await turns()
    return next.request.path
  }

  async publish(event: object): Promise<void> {
    for (const listener of this.#listeners) listener({ timestamp: 1, offset: 1, ...place, ...event } as StreamEvent)
    await turns()
  }

  async miss(): Promise<void> {
    for (const listener of this.#missed) listener()
    await turns()
  }

  async wake(): Promise<void> {
    for (const wake of this.#sleeps.splice(0)) wake()
    await turns()
  }

  ask(options: HistoryOptions = {}, properties?: readonly string[]) {
    return readHistory(this, { ...place, properties, options })
  }

  report(timestamp: number, update: object): Promise<void> {
    const updates = [{ propId: 1, type: 'FLOAT', modifier: 0, ...update }]
    return this.publish({ type: 'OBJECT_UPDATED', timestamp, updates })
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

const series = (time: readonly number[], value: readonly number[]) => ({
  from: time[0] ?? 0,
  to: 100,
  gaps: [],
  series: [{ propId: 1, type: 'FLOAT', time, value, marks: [] }],
})

test('a history has the points of all its pages', async () => {
  const fixture = new TestHistorySource()
  const asked = fixture.ask({ from: 1 }, ['temperature', '0x2001'])
  const path = await fixture.answer({ ...series([1, 2], [10, 20]), from: 1 }, '/api/v1/next?from=3')
  expect(path).toBe('/devices/D/services/climate/history?from=1&properties=temperature%2C0x2001')
  expect(await fixture.answer({ ...series([3], [30]), from: 3 })).toBe('/next?from=3')
  expect(await asked).toMatchObject({ from: 1, to: 100, series: [{ time: [1, 2, 3], value: [10, 20, 30] }] })
})

test('live points continue a history without gaps and repeated points, and missed events are read again', async () => {
  const fixture = new TestHistorySource()
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
  const fixture = new TestHistorySource()
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
  const fixture = new TestHistorySource()
  const answer = { from: 0, to: 40, interval, tz: 'UTC', gaps: [], series: [] }
  const asked = fixture.ask({ from: 0, interval: 'auto' })
  await fixture.answer(answer)
  const stopFollowing = (await asked).live(() => {})
  await fixture.answer(answer)
  expect(fixture.pausesMs).toEqual([pauseMs])
  stopFollowing()
})

const desiredAs = (value: number): Desired => ({ '1': { value, since: 5, status: 'PENDING' } })

/** A server, and the desired values that a listener received from it. */
function followed() {
  const server = new TestHistorySource()
  const seen: unknown[] = []
  const stop = followDesired(server, place, (desired) => seen.push(desired['1']?.value))
  const change = (value: number, more: object = {}) =>
    server.publish({ type: 'DESIRED_UPDATED', desired: desiredAs(value), ...more })
  return { server, seen, stop, change }
}

test('desired values are read once, and then follow the events of their service', async () => {
  const { server, change, seen, stop } = followed()
  await server.answer(desiredAs(1))
  await change(2)
  await change(9, { deviceIdentifier: 'E' })
  await change(9, { serviceIdentifier: 'other' })
  await change(9, { type: 'META_SET' })
  expect(seen).toEqual([1, 2])
  await server.miss()
  await server.answer(desiredAs(3))
  stop()
  await change(4)
  expect([seen, server.listenerCount]).toEqual([[1, 2, 3], 0])
})

test('an answer that is older than an event is dropped', async () => {
  const { server, change, seen } = followed()
  await change(2)
  await server.answer(desiredAs(1))
  expect(seen).toEqual([2])
})

test('a read that fails is repeated, unless the caller has no permission', async () => {
  const { server, seen } = followed()
  for (const status of [503, 429, 404]) {
    await server.answer({}, undefined, status)
    await server.wake()
  }
  expect([seen, server.requests]).toEqual([[], []])
})
