import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { operator } from '#access/built-in-callers'
import { hashOf } from '#access/secret-text'
import { formatCrn } from '#model/crn'
import { everything, type Grant } from '#model/scope'
import { IdentityFixture } from '#test/access/identity-fixture'

/** The rights of authors, whether they are signed in or not. Contract 5.1. */

const reading: Grant = { permissions: { service: ['read'] }, devices: ['A'], services: ['*'] }
const keyId = 'K1abcdefgh'
const key = `crn#key:${keyId}`

let fixture: IdentityFixture
let ann: string

beforeEach(async () => {
  fixture = await IdentityFixture.open()
  await fixture.putRole('ops', [reading])
  await fixture.addUser('ann', { roles: ['ops'] })
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
