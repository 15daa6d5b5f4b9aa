import { beforeEach, describe, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { Tickets } from '#access/tickets'
import type { Caller, SessionKey } from '#model/caller'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'

const lifetimeMs = 30_000

let world: ManualWorld
let tickets: Tickets

beforeEach(() => {
  world = new ManualWorld()
  tickets = new Tickets({ now: () => world.now(), random: (byteCount) => world.random(byteCount), lifetimeMs })
})

const unauthorized = new Problem('unauthorized', 'invalid or expired ticket')
const other = { ...anonymous, user: 'crn#user:other', name: 'other' }

describe('a ticket', () => {
  test('gives its caller once', () => {
    const [mine, others] = [tickets.issue(anonymous), tickets.issue(other)]
    expect(tickets.consume(others)).toBe(other)
    expect(tickets.consume(mine)).toBe(anonymous)
    expect(() => tickets.consume(mine)).toThrow(unauthorized)
  })

  test.each([0, 1, lifetimeMs - 1, lifetimeMs])('is valid after %i ms', (ms) => {
    const ticket = tickets.issue(anonymous)
    world.spend(ms)
    expect(tickets.consume(ticket)).toBe(anonymous)
  })

  test.each([lifetimeMs + 1, 10 * lifetimeMs])('is invalid after %i ms, and is used up by its first use', (ms) => {
    const ticket = tickets.issue(anonymous)
    world.spend(ms)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
    world.spend(-ms)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
  })

  test.each(['', ' ', 'a', '__proto__', 'constructor', 'x'.repeat(100_000)])('is not %j', (ticket) => {
    tickets.issue(anonymous)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
  })

  test('fits into a path, and is unique', () => {
    const many = Array.from({ length: 2_000 }, () => tickets.issue(anonymous))
    expect(new Set(many).size).toBe(2_000)
    for (const ticket of many) expect(ticket).toMatch(/^[\w-]{32}$/)
  })
})

describe('the ticket of a session', () => {
  const session: SessionKey = { kind: 'session', tenant: 'acme', id: 'Session111' }
  const before: Caller = { ...anonymous, name: 'Ann', roles: ['viewer'], session }

  test('gives the caller at the time of its use, not of its issue', () => {
    const now: Caller = { ...before, roles: ['admin'] }
    const asked: SessionKey[] = []
    const callerOf = (key: SessionKey) => {
      asked.push(key)
      return now
    }
    tickets = new Tickets({ now: () => world.now(), random: (count) => world.random(count), lifetimeMs, callerOf })
    const ticket = tickets.issue(before)
    expect(asked).toEqual([])
    expect(tickets.consume(ticket)).toBe(now)
    expect(asked).toEqual([session])
  })

  test('is invalid once the session is over, and is used up by its first use', () => {
    let isOver = true
    const callerOf = () => (isOver ? undefined : before)
    tickets = new Tickets({ now: () => world.now(), random: (count) => world.random(count), lifetimeMs, callerOf })
    const ticket = tickets.issue(before)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
    isOver = false
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
  })

  test('is invalid on a server without sessions', () => {
    const ticket = tickets.issue(before)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
  })
})

test('a user with many sessions does not use up the tickets of others, and expired tickets free their places', () => {
  const callers = new Map<string, Caller>()
  const callerOf = ({ id }: SessionKey) => callers.get(id)
  const sessionCaller = (tenant: string, user: string, id: string): Caller => {
    const caller: Caller = { ...anonymous, tenant, user, name: user, session: { kind: 'session', tenant, id } }
    callers.set(id, caller)
    return caller
  }
  tickets = new Tickets({
    now: () => world.now(),
    random: (byteCount) => world.random(byteCount),
    lifetimeMs,
    callerOf,
  })
  const sessions = Array.from({ length: 11 }, (_, index) => sessionCaller('acme', 'mallory', `S${index}`))
  const issued = Array.from({ length: 110_000 }, (_, count) => tickets.issue(sessions[count % 11] as Caller))
  const [admin, neighbour] = [sessionCaller('acme', 'admin', 'A'), sessionCaller('other', 'ann', 'N')]
  const [first, second] = [tickets.issue(admin), tickets.issue(neighbour)]
  for (const caller of sessions) tickets.issue(caller)
  expect(tickets.waitingCount).toBe(100_000)
  expect([tickets.consume(first), tickets.consume(second)]).toEqual([admin, neighbour])
  expect(() => tickets.consume(issued[0] ?? '')).toThrow(unauthorized)
  expect(tickets.consume(issued.at(-1) ?? '').user).toBe('mallory')
  world.spend(lifetimeMs + 1)
  tickets.issue(admin)
  expect(tickets.waitingCount).toBe(1)
})
