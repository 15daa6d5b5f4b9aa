import { expect, test } from 'vitest'
import { type Desired, followDesired } from '#client/device-desired'
import { place, TestHistorySource } from '#test/client/test-history-source'

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
