import { expect, test } from 'vitest'
import type { Hub } from '#events/hub'
import { anonymous } from '#iam/anonymous'
import type { Caller } from '#iam/caller'
import { EventRoom } from '#routes/event-room'
import { TestSockets } from '#test/identity/test-sockets'
import { ManualWorld } from '#test/runtime/manual-world'

test('one user has so many sockets open, and a tenant ten times as many', () => {
  const hub = { add: () => {}, remove: () => {} } as unknown as Hub
  const room = new EventRoom(new ManualWorld(), hub, 2)
  const sockets = new TestSockets()
  const full = (things: string) => `at most ${things} at the same time`
  const of = (user: string, tenant = 'acme'): Caller => ({
    ...anonymous,
    tenant,
    user,
    session: { kind: 'session', tenant, id: user },
  })
  const open = (caller: Caller) => {
    room.checkRoom(caller)
    const socket = sockets.add(room)
    room.opened(socket, { caller, filter: {}, resume: undefined })
    return socket
  }
  const [first] = [open(of('mallory')), open(of('mallory'))]
  expect(() => open(of('mallory'))).toThrow(full('2 event sockets of one user'))
  for (let count = 0; count < 9; count++) for (const _ of 'ab') open(of(`user${count}`))
  expect(() => open(of('ann'))).toThrow(full('20 event sockets of one tenant'))
  open(of('ann', 'other'))
  first?.end(1000)
  open(of('mallory'))
  expect(() => open(of('mallory'))).toThrow(full('2 event sockets of one user'))
})
