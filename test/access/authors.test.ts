import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { operator } from '#access/built-in-callers'
import { hashOf } from '#access/secret-text'
import { formatCrn } from '#model/crn'
import { everything, type Grant } from '#model/scope'
import { IdentityFixture } from '#test/access/identity-fixture'

/** The rights of authors and their mail addresses, whether they are signed in or not. Contract 5.1, 5.7. */

const reading: Grant = { permissions: { service: ['read'] }, devices: ['A'], services: ['*'] }
const keyId = 'K1abcdefgh'
const old = 'ann@acme.example'
const later = 'ann@later.example'
const key = `crn#key:${keyId}`

let fixture: IdentityFixture
let ann: string

beforeEach(async () => {
  fixture = await IdentityFixture.open()
  await fixture.putRole('ops', [reading])
  await fixture.addUser('ann', { roles: ['ops'], email: old })
  ann = formatCrn({ type: 'user', id: fixture.row('ann').id })
})
afterEach(() => fixture.close())

const grantsOf = (author: string, tenant = 'default') => fixture.identity.authors.scopeOf(tenant, author).grants
const updateAnn = (change: object) =>
  fixture.directory({ type: 'update_user', user: fixture.row('ann').id, ...change } as never)
const addKey = (expiresAt: number | null = null) =>
  fixture.tenant('default', {
    type: 'add_api_key',
    id: keyId,
    name: 'x',
    hash: hashOf('x'),
    roles: ['ops'],
    expiresAt,
  })

describe('an author', () => {
  test('has the present rights of their roles', async () => {
    expect(grantsOf(ann)).toEqual([reading])
    await fixture.putRole('ops', [])
    expect(grantsOf(ann)).toEqual([])
    await fixture.putRole('more', [reading])
    await updateAnn({ roles: ['more', 'ops'] })
    expect(grantsOf(ann)).toEqual([reading])
  })

  test('has no rights while disabled, and gets the rights back when enabled', async () => {
    await updateAnn({ state: 'disabled' })
    expect(grantsOf(ann)).toEqual([])
    await updateAnn({ state: 'active' })
    expect(grantsOf(ann)).toEqual([reading])
  })

  test('has no rights after deletion, in another tenant, or after deletion of the tenant', async () => {
    await fixture.addTenant('acme')
    await fixture.addUser('bea', { tenant: 'acme', roles: ['admin'] })
    const bea = formatCrn({ type: 'user', id: fixture.row('bea').id })
    expect([grantsOf(bea, 'acme'), grantsOf(bea), grantsOf(ann, 'acme')]).toEqual([everything.grants, [], []])
    await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
    await fixture.directory({ type: 'remove_user', user: fixture.row('ann').id })
    expect([grantsOf(bea, 'acme'), grantsOf(ann)]).toEqual([[], []])
  })

  test('has the same rights after a restart', async () => {
    fixture = await fixture.restart({}, 1)
    expect(grantsOf(ann)).toEqual([reading])
  })
})

test('an author that is an API key has the rights of its roles until it expires', async () => {
  expect(grantsOf(key)).toEqual([])
  await addKey(fixture.world.now() + 1_000)
  expect([grantsOf(key), grantsOf(key, 'acme')]).toEqual([[reading], []])
  fixture.world.spend(1_000)
  expect(grantsOf(key)).toEqual([])
  await fixture.world.settle()
})

test('the operator as an author has every right in the tenant default, and an unknown author has none', () => {
  expect([grantsOf(operator.user), grantsOf(operator.user, 'acme')]).toEqual([everything.grants, []])
  for (const author of ['crn#user:anonymous', 'crn#user:', '', 'ann']) expect(grantsOf(author)).toEqual([])
})

const recipientOf = (user: string, tenant = 'default') => {
  const { isActive, address } = fixture.identity.authors.recipientOf(tenant, user)
  return isActive ? (address ?? 'nowhere') : 'nobody'
}
const startUpdate = (change: object) =>
  fixture.assembly.context.system.ask(
    { kind: 'directory', tenant: 'default', id: 'directory' },
    { type: 'update_user', user: fixture.row('ann').id, ...change },
  )

/** Users get mails whether they are signed in or not. Contract 5.7. */
describe('a user gets mails', () => {
  test('at the new address of the account once it is stored, while their tokens stay as they are', async () => {
    const { token } = await fixture.basic('ann')
    const caller = await fixture.bearer(token)
    expect(recipientOf(ann)).toBe(old)
    await updateAnn({ email: later })
    expect([recipientOf(ann), caller.isCurrent()]).toEqual([later, true])
    expect(await fixture.bearer(token)).toBe(caller)
    await updateAnn({ email: null })
    expect([recipientOf(ann), caller.isCurrent()]).toEqual(['nowhere', true])
  })

  test('only in their tenant', () => {
    expect(recipientOf(ann, 'acme')).toBe('nobody')
  })

  test('unless they are disabled, deleted, or have not signed up', async () => {
    await updateAnn({ state: 'disabled', email: later })
    expect(recipientOf(ann)).toBe('nobody')
    await updateAnn({ state: 'active' })
    expect(recipientOf(ann)).toBe(later)
    await fixture.invite('bob', { email: 'bob@acme.example' })
    expect(recipientOf(formatCrn({ type: 'user', id: fixture.row('bob').id }))).toBe('nobody')
    await fixture.directory({ type: 'remove_user', user: fixture.row('ann').id })
    expect(recipientOf(ann)).toBe('nobody')
  })

  test('at the old address until the new one is stored', async () => {
    const updated = startUpdate({ email: later })
    await Promise.resolve()
    expect([fixture.row('ann').email, recipientOf(ann)]).toEqual([later, old])
    await fixture.wait(updated)
    expect(recipientOf(ann)).toBe(later)
  })

  test.each([
    ['was lost', false, old],
    ['reached the disk', true, later],
  ])('at the stored address after a failed write that %s', async (_, reachedDisk, address) => {
    fixture.faults.next = { fail: 'full', reachedDisk }
    expect(await fixture.refusal(startUpdate({ email: later }))).toBe('storage STORAGE')
    await fixture.world.advance(5_000)
    expect(recipientOf(ann)).toBe(address)
    fixture = await fixture.restart()
    expect(recipientOf(ann)).toBe(address)
  })
})

test('an API key is an active recipient until it expires, the operator always is, and an unknown user is not', async () => {
  expect(recipientOf(key)).toBe('nobody')
  await addKey(fixture.world.now() + 1_000)
  expect([recipientOf(key), recipientOf(key, 'acme')]).toEqual(['nowhere', 'nobody'])
  fixture.world.spend(1_000)
  expect(recipientOf(key)).toBe('nobody')
  expect([recipientOf(operator.user), recipientOf(operator.user, 'acme')]).toEqual(['nowhere', 'nobody'])
  expect(recipientOf('crn#user:anonymous')).toBe('nobody')
  await fixture.world.settle()
})
