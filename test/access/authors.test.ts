import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { operator } from '#access/operator'
import { hashOf } from '#access/secret-text'
import { formatCrn } from '#model/crn'
import { everything, type Grant } from '#model/scope'
import { IdentityFixture } from '#test/access/identity-fixture'

/** The rights of authors, whether they are signed in or not. Contract 5.1. */

const reading: Grant = { permissions: { service: ['read'] }, devices: ['A'], services: ['*'] }
const keyId = 'K1abcdefgh'
const key = `crn#key:${keyId}`

let stage: IdentityFixture
let ann: string

beforeEach(async () => {
  stage = await IdentityFixture.open()
  await stage.putRole('ops', [reading])
  await stage.addUser('ann', { roles: ['ops'] })
  ann = formatCrn({ type: 'user', id: stage.row('ann').id })
})
afterEach(() => stage.close())

const grantsOf = (author: string, tenant = 'default') => stage.identity.scopeOf(tenant, author).grants
const ofAnn = (change: object) =>
  stage.directory({ type: 'update_user', user: stage.row('ann').id, ...change } as never)
const addKey = (expiresAt: number | null = null) =>
  stage.tenant('default', {
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
    await stage.putRole('ops', [])
    expect(grantsOf(ann)).toEqual([])
    await stage.putRole('more', [reading])
    await ofAnn({ roles: ['more', 'ops'] })
    expect(grantsOf(ann)).toEqual([reading])
  })

  test('has no rights while disabled, and has them again afterwards', async () => {
    await ofAnn({ state: 'disabled' })
    expect(grantsOf(ann)).toEqual([])
    await ofAnn({ state: 'active' })
    expect(grantsOf(ann)).toEqual([reading])
  })

  test('has no rights after deletion, in another tenant, or after deletion of the tenant', async () => {
    await stage.addTenant('acme')
    await stage.addUser('bea', { tenant: 'acme', roles: ['admin'] })
    const bea = formatCrn({ type: 'user', id: stage.row('bea').id })
    expect([grantsOf(bea, 'acme'), grantsOf(bea), grantsOf(ann, 'acme')]).toEqual([everything.grants, [], []])
    await stage.directory({ type: 'delete_tenant', tenant: 'acme' })
    await stage.directory({ type: 'remove_user', user: stage.row('ann').id })
    expect([grantsOf(bea, 'acme'), grantsOf(ann)]).toEqual([[], []])
  })

  test('has the same rights after a restart', async () => {
    stage = await stage.restart({}, 1)
    expect(grantsOf(ann)).toEqual([reading])
  })
})

test('that is a key has the rights of its roles until it ends', async () => {
  expect(grantsOf(key)).toEqual([])
  await addKey(stage.world.now() + 1_000)
  expect([grantsOf(key), grantsOf(key, 'acme')]).toEqual([[reading], []])
  stage.world.spend(1_000)
  expect(grantsOf(key)).toEqual([])
  await stage.world.settle()
})

test('that is the operator keeps every right in its tenant, and an unknown author has none', () => {
  expect([grantsOf(operator.user), grantsOf(operator.user, 'acme')]).toEqual([everything.grants, []])
  for (const nobody of ['crn#user:anonymous', 'crn#user:', '', 'ann']) expect(grantsOf(nobody)).toEqual([])
})
