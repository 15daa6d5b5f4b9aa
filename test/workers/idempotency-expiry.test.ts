import { afterEach, expect, test } from 'vitest'
import { idempotencyAddress, idempotencyAddressOf } from '#actors/idempotency/commands'
import { idempotencyIndex, idOfExpiry } from '#actors/idempotency/expiry'
import { answerRecord, keyLifetimeMs } from '#actors/idempotency/state'
import { IdentityFixture } from '#test/access/identity-fixture'
import { expireEveryMs } from '#workers/idempotency-expiry'

const hourMs = 3_600_000
/** When a key is gone for sure: its day, what is left of the hour, and until somebody looks. */
const goneAfterMs = keyLifetimeMs + hourMs + expireEveryMs

let stage: IdentityFixture
afterEach(async () => {
  expect(stage.errors).toEqual([])
  await stage.close()
})

const begin = (tenant: string, key: string) =>
  stage.wait(
    stage.assembly.context.system.ask(idempotencyAddress(tenant, 'crn#user:U1', key), {
      type: 'begin',
      print: 'p',
      isFull: false,
    }),
  )

/** So much later, of which what is done by the clock is only done towards the end. */
async function later(ms: number): Promise<void> {
  stage.world.spend(ms - expireEveryMs)
  await stage.world.advance(expireEveryMs)
}

const isStored = (tenant: string, key: string) =>
  stage.assembly.context.system.recordOf(idempotencyAddress(tenant, 'crn#user:U1', key), answerRecord) !== undefined

async function indexed(tenant: string): Promise<string[]> {
  const pages = stage.assembly.context.listing.entries(idempotencyIndex, tenant)
  const entries = await stage.wait(pages.next(10_000))
  await pages.close()
  return [...entries]
}

test('a key is there for its day, and gone soon after: record and place in the index', async () => {
  stage = await IdentityFixture.open()
  await stage.addTenant('acme')
  for (const tenant of ['default', 'acme']) await begin(tenant, 'k')
  await later(keyLifetimeMs - 1)
  expect([isStored('default', 'k'), isStored('acme', 'k')]).toEqual([true, true])
  expect((await indexed('acme')).map(idOfExpiry)).toEqual([idempotencyAddress('acme', 'crn#user:U1', 'k').id])
  await later(goneAfterMs - keyLifetimeMs)
  expect([isStored('default', 'k'), isStored('acme', 'k')]).toEqual([false, false])
  expect([await indexed('default'), await indexed('acme')]).toEqual([[], []])
})

test('one that came later stays, and one that came again stays for its own day', async () => {
  stage = await IdentityFixture.open()
  await begin('default', 'old')
  await begin('default', 'again')
  await later(keyLifetimeMs)
  await begin('default', 'again')
  await begin('default', 'late')
  await stage.world.advance(hourMs + expireEveryMs)
  const areThere = () => ['old', 'again', 'late'].map((key) => isStored('default', key))
  expect(areThere()).toEqual([false, true, true])
  expect(await indexed('default')).toHaveLength(2)
  await later(keyLifetimeMs)
  expect(areThere()).toEqual([false, false, false])
})

test('a clock put back takes nothing away early, and in the end everything', async () => {
  stage = await IdentityFixture.open()
  await begin('default', 'k')
  stage.world.spend(-5 * hourMs)
  await begin('default', 'later')
  await later(keyLifetimeMs)
  expect(isStored('default', 'k')).toBe(true)
  await later(goneAfterMs - keyLifetimeMs)
  expect([isStored('default', 'later'), isStored('default', 'k')]).toEqual([false, true])
  await later(5 * hourMs)
  expect([isStored('default', 'k'), await indexed('default')]).toEqual([false, []])
})

test('a thousand go, a page after the other', async () => {
  stage = await IdentityFixture.open()
  const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => begin('default', key)))
  expect(await indexed('default')).toHaveLength(1_000)
  await later(goneAfterMs)
  expect(await indexed('default')).toEqual([])
  expect(keys.filter((key) => isStored('default', key))).toEqual([])
})

test.each([0, 1])('killed while they go, the next process goes on: %i of the write on the disk', async (kept) => {
  stage = await IdentityFixture.open()
  const keys = Array.from({ length: 200 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => begin('default', key)))
  stage.world.spend(goneAfterMs)
  await stage.world.advance(expireEveryMs - 1)
  stage.world.fire()
  stage = await stage.restart({}, kept)
  await stage.world.advance(expireEveryMs)
  expect([await indexed('default'), keys.filter((key) => isStored('default', key))]).toEqual([[], []])
})

test('what could not be taken away is looked for again', async () => {
  stage = await IdentityFixture.open()
  await begin('default', 'k')
  stage.world.spend(goneAfterMs)
  stage.faults.next = { fail: 'full', reachedDisk: false }
  await stage.world.advance(5_000)
  expect(isStored('default', 'k')).toBe(true)
  await stage.world.advance(expireEveryMs)
  expect(isStored('default', 'k')).toBe(false)
  expect(stage.errors.splice(0)).toHaveLength(2)
})

test('stopped, it looks no more', async () => {
  stage = await IdentityFixture.open()
  await begin('default', 'k')
  stage.assembly.stop()
  await later(goneAfterMs)
  expect(isStored('default', 'k')).toBe(true)
})

test('a tenant that is deleted takes its keys along', async () => {
  stage = await IdentityFixture.open()
  await stage.addTenant('acme')
  await begin('acme', 'k')
  await stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await stage.world.advance(60_000)
  expect(await indexed('acme')).toEqual([])
  const { id } = idempotencyAddress('acme', 'crn#user:U1', 'k')
  expect(stage.assembly.context.system.recordOf(idempotencyAddressOf('acme', id), answerRecord)).toBeUndefined()
})
