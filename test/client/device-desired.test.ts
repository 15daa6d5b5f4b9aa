import { expect, test } from 'vitest'
import { type Desired, followDesired } from '#client/device-desired'
import type { HistorySource } from '#client/device-history'
import type { RawAnswer } from '#client/transport'
import type { StreamEvent } from '#model/event'

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

const place = { deviceIdentifier: 'D', serviceIdentifier: 'climate' }
const desiredAs = (value: number): Desired => ({ '1': { value, since: 5, status: 'PENDING' } })

/** The desired values of a device, a server whose answers the test gives, and the values that a listener received. */
function followed() {
  const requests: ((status: number, body?: unknown) => Promise<void>)[] = []
  const seen: unknown[] = []
  let published: (event: StreamEvent) => void = () => {}
  let miss: () => void = () => {}
  let wake: () => void = () => {}
  const source: HistorySource = {
    platform: { random: () => 0, sleep: () => new Promise((resolve) => (wake = () => resolve())) },
    read: () =>
      new Promise<RawAnswer>((resolve) =>
        requests.push(async (status, body = {}) => {
          resolve({ status, headers: new Headers(), body })
          await turns()
        }),
      ),
    events: (listener) => {
      published = listener
      return () => {
        published = () => {}
      }
    },
    missed: (listener) => {
      miss = listener
      return () => {
        miss = () => {}
      }
    },
  }
  const stop = followDesired(source, place, (desired) => seen.push(desired['1']?.value))
  return {
    seen,
    stop,
    answer: (status: number, body?: unknown) =>
      requests.shift()?.(status, body) ?? Promise.reject(new Error('no request')),
    changes: (value: number, more: object = {}) =>
      published({
        type: 'DESIRED_UPDATED',
        timestamp: 1,
        offset: 1,
        ...place,
        desired: desiredAs(value),
        ...more,
      } as StreamEvent),
    miss: async () => {
      miss()
      await turns()
    },
    wake: async () => {
      wake()
      await turns()
    },
    get waiting() {
      return requests.length
    },
  }
}

test('desired values are read once, and then follow the events of their service', async () => {
  const { answer, changes, seen, stop, miss } = followed()
  await answer(200, desiredAs(1))
  changes(2)
  changes(9, { deviceIdentifier: 'E' })
  changes(9, { serviceIdentifier: 'other' })
  changes(9, { type: 'META_SET' })
  expect(seen).toEqual([1, 2])
  await miss()
  await answer(200, desiredAs(3))
  stop()
  changes(4)
  expect(seen).toEqual([1, 2, 3])
})

test('an answer that is older than an event is dropped', async () => {
  const { answer, changes, seen } = followed()
  changes(2)
  await answer(200, desiredAs(1))
  expect(seen).toEqual([2])
})

test('a read that fails is repeated, unless the caller has no permission', async () => {
  const client = followed()
  for (const status of [503, 429]) {
    await client.answer(status)
    await client.wake()
  }
  await client.answer(404)
  await client.wake()
  expect([client.seen, client.waiting]).toEqual([[], 0])
})
