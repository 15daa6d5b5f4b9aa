import { beforeEach, describe, expect, test } from 'vitest'
import { type Grant, scopeOf } from '#model/scope'
import type { StallingSocket } from '#test/events/stalling-sockets'
import { ann, bob, localeSet, subscribed, unsubscribed } from '#test/events/subscription-entries'
import { readAll, TestStream } from '#test/events/test-stream'

/** Only the sockets of its owner receive the events of a subscription. §3.1 */

let stream: TestStream

beforeEach(() => {
  stream = new TestStream(400)
})

const grant = (...permissions: (keyof Grant['permissions'])[]): Grant => ({
  permissions: Object.fromEntries(permissions.map((resource) => [resource, ['read']])),
  devices: ['*'],
  services: ['*'],
})
const reader = scopeOf([grant('notifications', 'service')])
const withoutNotifications = scopeOf([grant('service')])

const lines = ({ received }: StallingSocket) => received.map(({ type, offset }) => `${type} ${offset}`)

/** Publishes six events, in turn for ann and bob. */
function publishSix(): void {
  stream.publish(subscribed(ann), subscribed(bob), localeSet(ann), localeSet(bob), unsubscribed(ann), unsubscribed(bob))
}

describe('events for one user', () => {
  test('are sent to each socket of the user, and published to no audience', async () => {
    const sockets = [ann, ann, ann, bob].map((user) => stream.connect({ listener: { user } }))
    sockets.push(stream.connect({ listener: { user: ann, access: 'another' } }))
    const before = { ...stream.hub.counts }
    stream.publish(subscribed(ann), subscribed('crn#user:nobody'))
    expect(stream.hub.counts.publishes - before.publishes).toBe(0)
    expect(stream.hub.counts.deliveries - before.deliveries).toBe(4)
    await readAll(stream)
    expect(sockets.map(({ offsets }) => offsets)).toEqual([[1], [1], [1], [], [1]])
  })

  test('are not shared with users of the same name in other tenants', async () => {
    const socket = stream.connect({ listener: { tenant: 'other', user: ann } })
    publishSix()
    await readAll(stream)
    expect(socket.offsets).toEqual([])
  })
})

test('a socket whose permissions change receives one RESYNC, and then the events of the new permissions', async () => {
  const socket = stream.connect({ listener: { user: ann, access: 'a', scope: reader } })
  const same = stream.connect({ listener: { user: bob, access: 'a', scope: reader } })
  publishSix()
  stream.hub.redefine('default', new Map([['a', withoutNotifications]]))
  await stream.settle()
  publishSix()
  stream.hub.redefine('default', new Map([['a', reader]]))
  await readAll(stream)
  expect(lines(socket).filter((line) => line.startsWith('RESYNC'))).toEqual(['RESYNC 6'])
  await stream.world.advance(1_000)
  stream.publish(subscribed(ann))
  await readAll(stream)
  expect(lines(socket).filter((line) => line.startsWith('RESYNC'))).toEqual(['RESYNC 6', 'RESYNC 12'])
  expect(socket.offsets.filter((offset) => offset !== 6 && offset !== 12)).toEqual([1, 3, 5, 13])
  expect(same.offsets.filter((offset) => offset !== 12)).toEqual([2, 4, 6, 6])
})
