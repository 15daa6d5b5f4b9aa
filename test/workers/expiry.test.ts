import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { alarmLogIndex } from '#actors/device/alarms'
import {
  answerRecord,
  idempotencyAddress,
  idempotencyAddressOf,
  idempotencyIndex,
  idOfExpiry,
  keyLifetimeMs,
} from '#actors/idempotency/idempotency'
import { tenantAddress } from '#actors/tenant/commands'
import { auditIndex, logDays, logEntry, timeOfEntry } from '#actors/tenant/state'
import { IdentityFixture } from '#test/access/identity-fixture'
import { listedRows } from '#test/workers/listed-rows'
import { expireKeysEveryMs as expireEveryMs, expireLogs, expireLogsEveryMs } from '#workers/expiry'

const hourMs = 3_600_000
/** After this time a key is certainly deleted: its day, the rest of the hour, and the time between two runs. */
const goneAfterMs = keyLifetimeMs + hourMs + expireEveryMs

let fixture: IdentityFixture
beforeEach(async () => {
  fixture = await IdentityFixture.open()
})
afterEach(async () => {
  expect(fixture.errors).toEqual([])
  await fixture.close()
})

const user = 'crn#user:U1'
const begin = (tenant: string, key: string) => {
  const { system } = fixture.assembly.context
  const command = { type: 'begin', print: 'p', isFull: false } as const
  return fixture.wait(system.ask(idempotencyAddress(tenant, user, key), command))
}

/** Lets the time pass. Timers only run at its end. */
async function later(ms: number): Promise<void> {
  fixture.world.spend(ms - expireEveryMs)
  await fixture.world.advance(expireEveryMs)
}

const isStored = (tenant: string, key: string) =>
  fixture.assembly.context.system.recordOf(idempotencyAddress(tenant, user, key), answerRecord) !== undefined

const indexEntries = (tenant: string) => listedRows(fixture, idempotencyIndex, tenant)

test('a key is stored for a day, and its record and index entry are deleted soon after', async () => {
  await fixture.addTenant('acme')
  for (const tenant of ['default', 'acme']) await begin(tenant, 'k')
  await later(keyLifetimeMs - 1)
  expect([isStored('default', 'k'), isStored('acme', 'k')]).toEqual([true, true])
  expect((await indexEntries('acme')).map(idOfExpiry)).toEqual([idempotencyAddress('acme', user, 'k').id])
  await later(goneAfterMs - keyLifetimeMs)
  expect([isStored('default', 'k'), isStored('acme', 'k')]).toEqual([false, false])
  expect([await indexEntries('default'), await indexEntries('acme')]).toEqual([[], []])
})

test('later keys stay, and a repeated key stays for another day', async () => {
  await begin('default', 'old')
  await begin('default', 'again')
  await later(keyLifetimeMs)
  await begin('default', 'again')
  await begin('default', 'late')
  await fixture.world.advance(hourMs + expireEveryMs)
  const areStored = () => ['old', 'again', 'late'].map((key) => isStored('default', key))
  expect(areStored()).toEqual([false, true, true])
  expect(await indexEntries('default')).toHaveLength(2)
  await later(keyLifetimeMs)
  expect(areStored()).toEqual([false, false, false])
})

test('a clock set back deletes no key early, and each in the end', async () => {
  await begin('default', 'k')
  fixture.world.spend(-5 * hourMs)
  await begin('default', 'later')
  await later(keyLifetimeMs)
  expect(isStored('default', 'k')).toBe(true)
  await later(goneAfterMs - keyLifetimeMs)
  expect([isStored('default', 'later'), isStored('default', 'k')]).toEqual([false, true])
  await later(5 * hourMs)
  expect([isStored('default', 'k'), await indexEntries('default')]).toEqual([false, []])
})

test('a thousand keys are deleted page by page', async () => {
  const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => begin('default', key)))
  expect(await indexEntries('default')).toHaveLength(1_000)
  await later(goneAfterMs)
  expect(await indexEntries('default')).toEqual([])
  expect(keys.filter((key) => isStored('default', key))).toEqual([])
})

test.each([0, 1])('killed during the deletion, with %i writes on disk: the next process continues', async (kept) => {
  const keys = Array.from({ length: 200 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => begin('default', key)))
  fixture.world.spend(goneAfterMs)
  await fixture.world.advance(expireEveryMs - 1)
  fixture.world.fire()
  fixture = await fixture.restart({}, kept)
  await fixture.world.advance(expireEveryMs)
  expect([await indexEntries('default'), keys.filter((key) => isStored('default', key))]).toEqual([[], []])
})

test('a failed deletion is repeated', async () => {
  await begin('default', 'k')
  fixture.world.spend(goneAfterMs)
  fixture.faults.next = { fail: 'full', reachedDisk: false }
  await fixture.world.advance(5_000)
  expect(isStored('default', 'k')).toBe(true)
  await fixture.world.advance(expireEveryMs)
  expect(isStored('default', 'k')).toBe(false)
  expect(fixture.errors.splice(0)).toHaveLength(2)
})

test('nothing is deleted after a stop', async () => {
  await begin('default', 'k')
  fixture.assembly.stop()
  await later(goneAfterMs)
  expect(isStored('default', 'k')).toBe(true)
})

test('the keys of a deleted tenant are deleted', async () => {
  await fixture.addTenant('acme')
  await begin('acme', 'k')
  await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  await fixture.world.advance(60_000)
  expect(await indexEntries('acme')).toEqual([])
  const { id } = idempotencyAddress('acme', user, 'k')
  expect(fixture.assembly.context.system.recordOf(idempotencyAddressOf('acme', id), answerRecord)).toBeUndefined()
})

describe.each([alarmLogIndex, auditIndex])('the log %s', (index) => {
  const tenant = 'default'
  const dayMs = 86_400_000
  const add = async (count: number) => {
    const { system } = fixture.assembly.context
    const entries = Array.from({ length: count }, (_, number) => logEntry(system.world.now(), number, 'text'))
    const change = { type: 'change_log', index, entries, isPresent: true } as const
    await fixture.wait(system.ask(tenantAddress(tenant), change))
  }
  const left = async () => (await listedRows(fixture, index, tenant)).map(timeOfEntry)

  test('loses entries after 90 days, and the oldest of too many', async () => {
    const { system, listing } = fixture.assembly.context
    const start = system.world.now()
    await add(700)
    fixture.world.spend(dayMs)
    await add(3)
    expect(await left()).toEqual([...Array(3).fill(start + dayMs), ...Array(700).fill(start)])
    const parts = { system, listing, failed: () => {} }
    await fixture.wait(expireLogs(parts, tenant, () => false, 600))
    expect(await left()).toEqual([...Array(3).fill(start + dayMs), ...Array(597).fill(start)])
    fixture.world.spend(logDays * dayMs - dayMs)
    await fixture.world.advance(expireLogsEveryMs)
    expect(await left()).toEqual(Array(3).fill(start + dayMs))
  })
})
