import { describe, expect, test } from 'vitest'
import {
  answerRecord,
  expiryEntry,
  idempotencyActor,
  idempotencyAddress,
  idOfExpiry,
  isPastExpiry,
  keyLifetimeMs,
  type StoredReply,
} from '#actors/idempotency/idempotency'
import { ActingActor, indexChangesOf, now, outcomeOf } from '#test/actors/acting-actor'

const reply: StoredReply = { status: 201, location: '/api/v1/groups/x', body: '{"a":1}' }
const hourMs = 3_600_000

const acting = () => new ActingActor(idempotencyActor, { id: 'K' })
const begin = (print = 'a') => ({ type: 'begin', print, isFull: false }) as const
const finish = { type: 'finish', reply } as const

describe('an idempotency key', () => {
  test('is stored with a seed at its first request, and indexed by the hour in which it expires', () => {
    const actor = acting()
    const decision = actor.record(begin())
    const seed = actor.state.stored?.seed
    expect(seed).toHaveLength(16)
    expect(outcomeOf(decision)).toEqual({ outcome: 'open', seed, isRepeated: false })
    expect(actor.state.stored).toMatchObject({ print: 'a', begunAt: now, reply: null })
    expect([...actor.records.keys()]).toEqual([answerRecord])
    expect(indexChangesOf(decision)).toEqual([`+idempotency/${expiryEntry(now, 'K')}`])
  })

  test('stores the answer when the request is finished, and keeps its seed and expiry', () => {
    const actor = acting()
    actor.act(begin())
    const { stored } = actor.state
    actor.at = now + 5_000
    const decision = actor.record(finish)
    expect(actor.state.stored).toEqual({ ...stored, reply })
    expect(indexChangesOf(decision)).toEqual([])
  })

  test('that has expired is not stored again by an answer', () => {
    const actor = acting()
    expect(actor.act(finish).type).toBe('answer')
    expect(actor.records.size).toBe(0)
  })

  test.each(['forget', 'expire'] as const)('is deleted by %s with its record and its index entry', (type) => {
    const actor = acting()
    actor.act(begin())
    actor.act(finish)
    actor.at = now + keyLifetimeMs
    expect(indexChangesOf(actor.record({ type }))).toEqual([`-idempotency/${expiryEntry(now, 'K')}`])
    expect([actor.records.size, actor.state.stored]).toEqual([0, undefined])
    expect(actor.act({ type }).type).toBe('answer')
  })

  test.each([-hourMs * 30, -1, 0, keyLifetimeMs - 1])('does not expire after %i ms', (later) => {
    const actor = acting()
    actor.act(begin())
    actor.at = now + later
    expect(actor.act({ type: 'expire' }).type).toBe('answer')
    expect(actor.records.size).toBe(1)
  })
})

test('keys of other users, tenants and texts have other addresses', () => {
  const ids = [
    idempotencyAddress('a', 'crn#user:1', 'k'),
    idempotencyAddress('a', 'crn#user:2', 'k'),
    idempotencyAddress('a', 'crn#user:1', 'K'),
    idempotencyAddress('a', 'crn#user:', '1k'),
  ].map(({ id }) => id)
  expect(new Set(ids).size).toBe(4)
  for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/)
  expect(idempotencyAddress('b', 'crn#user:1', 'k')).toEqual({ kind: 'idempotency', tenant: 'b', id: ids[0] })
})

test.each([
  [0, hourMs * 24, false],
  [0, hourMs * 25 - 1, false],
  [0, hourMs * 25, true],
  [hourMs - 1, hourMs * 25 - 1, false],
  [hourMs - 1, hourMs * 25, true],
  [hourMs, hourMs * 25, false],
])('a key that began at %i has expired at %i: %s', (begunAt, at, isPast) => {
  expect(isPastExpiry(expiryEntry(begunAt, 'id'), at)).toBe(isPast)
})

test('index entries are sorted by hour, and contain the id of the key', () => {
  const entries = [0, hourMs * 9, hourMs * 10, hourMs * 99_999].map((at) => expiryEntry(at, 'a-_b'))
  expect([...entries].sort()).toEqual(entries)
  expect(entries.map(idOfExpiry)).toEqual(entries.map(() => 'a-_b'))
  expect(entries[0]).toBe('00000024/a-_b')
})
