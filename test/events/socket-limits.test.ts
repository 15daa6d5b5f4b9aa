import { expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import type { EventFilter } from '#events/audience'
import type { Hub } from '#events/hub'
import { highWaterBytesOf } from '#events/tenant-hub'
import type { Caller } from '#model/caller'
import { EventSocketHandler } from '#routes/events'
import { TestSockets } from '#test/access/test-sockets'
import { ManualWorld } from '#test/runtime/manual-world'

test('sockets and filter names are limited per user and per tenant', () => {
  const hub = { add: () => {}, remove: () => {} } as unknown as Hub
  const handler = new EventSocketHandler(new ManualWorld(), hub, 2)
  const sockets = new TestSockets()
  const full = (things: string) => `at most ${things} at the same time`
  const callerOf = (user: string, tenant = 'acme'): Caller => ({
    ...anonymous,
    tenant,
    user,
    session: { kind: 'session', tenant, id: user },
  })
  const open = (caller: Caller, filter: EventFilter = {}) => {
    const opening = { caller, filter, resume: undefined }
    handler.checkLimits(opening)
    const socket = sockets.add(handler)
    handler.opened(socket, opening)
    return socket
  }
  const [first] = [open(callerOf('mallory')), open(callerOf('mallory'))]
  expect(() => open(callerOf('mallory'))).toThrow(full('2 event sockets of one user'))
  for (let count = 0; count < 99; count++) for (const _ of 'ab') open(callerOf(`user${count}`))
  expect(() => open(callerOf('ann'))).toThrow(full('200 event sockets of one tenant'))
  open(callerOf('ann', 'other'))
  first?.end(1000)
  open(callerOf('mallory'))
  expect(() => open(callerOf('mallory'))).toThrow(full('2 event sockets of one user'))

  const names = (count: number) => ({ devices: new Set(Array.from({ length: count }, (_, index) => `D${index}`)) })
  const bobs = open(callerOf('bob', 'third'), names(99_999))
  expect(() => open(callerOf('bob', 'third'), names(2))).toThrow(
    full('100000 names in filters of event sockets of one user'),
  )
  bobs.end(1000)
  open(callerOf('bob', 'third'), { ...names(99_999), types: new Set(['META_SET']) })
})

test.each([
  [1, 128 * 1024],
  [512, 128 * 1024],
  [1_024, 64 * 1024],
  [4_096, 16 * 1024],
  [100_000, 16 * 1024],
])('among %i sockets, each socket that is behind may buffer %i bytes', (sockets, bytes) => {
  expect(highWaterBytesOf(sockets)).toBe(bytes)
})
