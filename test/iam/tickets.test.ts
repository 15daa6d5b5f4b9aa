import { beforeEach, describe, expect, test } from 'vitest'
import { anonymous } from '#iam/anonymous'
import type { Caller, SessionKey } from '#iam/caller'
import { Tickets } from '#iam/tickets'
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
  test('says whose it is, once', () => {
    const [mine, others] = [tickets.issue(anonymous), tickets.issue(other)]
    expect(tickets.consume(others)).toBe(other)
    expect(tickets.consume(mine)).toBe(anonymous)
    expect(() => tickets.consume(mine)).toThrow(unauthorized)
  })

  test.each([0, 1, lifetimeMs - 1, lifetimeMs])('is good after %i ms', (ms) => {
    const ticket = tickets.issue(anonymous)
    world.spend(ms)
    expect(tickets.consume(ticket)).toBe(anonymous)
  })

  test.each([lifetimeMs + 1, 10 * lifetimeMs])('is not good after %i ms, and used up by being shown', (ms) => {
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

  test('fits into a path, and is never the same as another', () => {
    const many = Array.from({ length: 2_000 }, () => tickets.issue(anonymous))
    expect(new Set(many).size).toBe(2_000)
    for (const ticket of many) expect(ticket).toMatch(/^[\w-]{32}$/)
  })
})

describe('the ticket of a session', () => {
  const session: SessionKey = { kind: 'session', tenant: 'acme', id: 'Session111' }
  const before: Caller = { ...anonymous, name: 'Ann', roles: ['viewer'], session }

  test('says who that is when it is shown, not when it was issued', () => {
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

  test('is worth nothing once the session is over, and is used up by being shown', () => {
    let isOver = true
    const callerOf = () => (isOver ? undefined : before)
    tickets = new Tickets({ now: () => world.now(), random: (count) => world.random(count), lifetimeMs, callerOf })
    const ticket = tickets.issue(before)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
    isOver = false
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
  })

  test('leaves room for those of others: ten thousand of one session wait, and used or ended ones make room', () => {
    const full = expect.objectContaining({ code: 'overloaded' })
    tickets = new Tickets({
      now: () => world.now(),
      random: (count) => world.random(count),
      lifetimeMs,
      callerOf: () => before,
    })
    const [first = ''] = Array.from({ length: 10_000 }, () => tickets.issue(before))
    expect(() => tickets.issue(before)).toThrow(full)
    const ofOther = tickets.issue({ ...before, session: { ...session, id: 'Session222' } })
    expect(tickets.consume(ofOther)).toBe(before)
    expect(tickets.consume(first)).toBe(before)
    tickets.issue(before)
    expect(() => tickets.issue(before)).toThrow(full)
    world.spend(lifetimeMs + 1)
    expect(tickets.consume(tickets.issue(before))).toBe(before)
  })

  test('is worth nothing where nobody knows of sessions', () => {
    const ticket = tickets.issue(before)
    expect(() => tickets.consume(ticket)).toThrow(unauthorized)
  })
})

test('so many may wait; ended ones make room', () => {
  for (let count = 0; count < 100_000; count++) tickets.issue(anonymous)
  expect(() => tickets.issue(anonymous)).toThrow(expect.objectContaining({ code: 'overloaded' }))
  world.spend(lifetimeMs)
  expect(() => tickets.issue(anonymous)).toThrow(Problem)
  world.spend(1)
  expect(tickets.consume(tickets.issue(anonymous))).toBe(anonymous)
})
