import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, test } from 'vitest'
import { Accesses, hasSameRights, type PublishedUser } from '#access/accesses'
import { type Action, type Grant, isPermitted, type Resource, type Scope } from '#model/scope'

const grant = (resource: Resource | '*', action: Action | '*', devices = ['*']): Grant => ({
  permissions: { [resource]: [action] },
  devices,
  services: ['*'],
})
const ann: PublishedUser = {
  id: 'Ann1111111',
  tenant: 'acme',
  name: 'Ann',
  roles: ['ops', 'viewer'],
  rolesSince: -1,
  email: 'ann@acme.example',
}

let accesses: Accesses

beforeEach(() => {
  accesses = new Accesses()
  accesses.publishTenant('acme', true)
  accesses.publishTenant('default', true)
  accesses.publishRole('acme', 'ops', [grant('service', 'update')], -1)
})

const may = (scope: Scope, resource: Resource, action: Action) => isPermitted(scope, resource, action)

describe('an access', () => {
  test('is the union of its roles, and shared by all callers with the same roles', () => {
    const access = accesses.of('acme', ['viewer', 'ops'])
    expect(access.key).toBe('ops,viewer')
    expect([may(access.scope, 'service', 'update'), may(access.scope, 'meta', 'read')]).toEqual([true, true])
    expect([may(access.scope, 'meta', 'update'), may(access.scope, 'users', 'read')]).toEqual([false, false])
    expect(accesses.of('acme', ['ops', 'viewer', 'ops'])).toBe(access)
    expect(accesses.of('acme', ['ops'])).not.toBe(access)
    expect(accesses.of('default', ['viewer', 'ops'])).not.toBe(access)
  })

  test.each([
    ['acme', ['unknown']],
    ['acme', []],
    ['acme', ['constructor', '__proto__', 'toString']],
    ['elsewhere', ['admin']],
  ])('in tenant %s with roles %j is empty', (tenant, roles) => {
    const { scope, since } = accesses.of(tenant, roles)
    expect(scope.grants).toEqual([])
    expect(may(scope, 'service', 'read')).toBe(false)
    expect(since).toBe(-1)
  })

  test('shows tenants only in the tenant of the operators', () => {
    expect(may(accesses.of('acme', ['admin']).scope, 'tenants', 'read')).toBe(false)
    expect(may(accesses.of('acme', ['admin']).scope, 'users', 'delete')).toBe(true)
    expect(may(accesses.of('default', ['admin']).scope, 'tenants', 'read')).toBe(true)
  })

  test('with a built-in role does not change when a role is published under the same name', () => {
    accesses.publishRole('acme', 'viewer', [grant('*', '*')], 7)
    expect(may(accesses.of('acme', ['viewer']).scope, 'users', 'read')).toBe(false)
  })
})

describe('a role that is edited', () => {
  test('changes each access with this role in place, and returns these accesses', () => {
    const [ops, both, viewer] = [['ops'], ['ops', 'viewer'], ['viewer']].map((roles) => accesses.of('acme', roles))
    const versions = [ops, both, viewer].map((access) => access?.version)
    const changed = accesses.publishRole('acme', 'ops', [grant('updates', 'update')], 41)
    expect([...changed.keys()].sort()).toEqual(['ops', 'ops,viewer'])
    expect(changed.get('ops')).toBe(ops?.scope)
    expect(ops && may(ops.scope, 'service', 'update')).toBe(false)
    expect(both && may(both.scope, 'updates', 'update')).toBe(true)
    expect([ops?.since, both?.since, viewer?.since]).toEqual([41, 41, -1])
    expect([ops, both, viewer].map((access) => access?.version !== undefined && access.version)).not.toEqual(versions)
    expect(viewer?.version).toBe(versions[2])
    expect(accesses.of('acme', ['ops'])).toBe(ops)
  })

  test('changes nothing without a difference', () => {
    const ops = accesses.of('acme', ['ops'])
    const { version } = ops
    expect(accesses.publishRole('acme', 'ops', [grant('service', 'update')], 41).size).toBe(0)
    expect([ops.version, ops.since]).toEqual([version, -1])
  })

  test('belongs to one tenant', () => {
    const ops = accesses.of('acme', ['ops'])
    accesses.publishRole('default', 'ops', [], 41)
    expect([ops.since, may(ops.scope, 'service', 'update')]).toEqual([-1, true])
  })

  test('gives its offset to accesses that are requested later', () => {
    accesses.publishRole('acme', 'ops', [grant('updates', 'update')], 41)
    accesses.publishRole('acme', 'more', [], 7)
    expect(accesses.of('acme', ['more', 'ops']).since).toBe(41)
    expect(accesses.of('acme', ['more']).since).toBe(7)
  })

  test('never lowers an offset', () => {
    const ops = accesses.of('acme', ['ops'])
    accesses.publishRole('acme', 'ops', [], 41)
    accesses.publishRole('acme', 'ops', [grant('service', 'read')], 7)
    expect(ops.since).toBe(41)
  })

  test('gives no rights after its deletion', () => {
    const ops = accesses.of('acme', ['ops'])
    expect([...accesses.publishRole('acme', 'ops', undefined, 41).keys()]).toEqual(['ops'])
    expect(ops.scope.grants).toEqual([])
  })

  test('changes nothing in an unknown tenant', () => {
    expect(accesses.publishRole('elsewhere', 'ops', [], 41).size).toBe(0)
    expect(accesses.hasTenant('elsewhere')).toBe(false)
  })
})

describe('a user', () => {
  test('is known from the first publication until the deletion', () => {
    expect(accesses.user(ann.id)).toBeUndefined()
    expect(accesses.publishUser(ann, ann.id)).toBe(true)
    expect(accesses.user(ann.id)).toBe(ann)
    expect(accesses.publishUser(undefined, ann.id)).toBe(true)
    expect(accesses.user(ann.id)).toBeUndefined()
    expect(accesses.publishUser(undefined, ann.id)).toBe(false)
  })

  test.each([
    [{ roles: ['viewer', 'ops'] }, false],
    [{ rolesSince: 41 }, false],
    [{ name: 'Anna' }, false],
    [{ email: 'anna@acme.example' }, false],
    [{ email: null }, false],
    [{ roles: ['ops'] }, true],
    [{ roles: [] }, true],
    [{ tenant: 'default' }, true],
  ])('who changes by %j gets another access: %s', (change, isOtherAccess) => {
    accesses.publishUser(ann, ann.id)
    expect(accesses.publishUser({ ...ann, ...change }, ann.id)).toBe(isOtherAccess)
    expect(accesses.user(ann.id)).toEqual({ ...ann, ...change })
  })
})

test.each<[Partial<PublishedUser>, boolean]>([
  [{}, true],
  [{ email: null }, true],
  [{ email: 'anna@acme.example' }, true],
  [{ name: 'Anna' }, false],
  [{ tenant: 'default' }, false],
  [{ rolesSince: 41 }, false],
  [{ roles: ['ops'] }, false],
  [{ roles: ['viewer', 'ops'] }, false],
])('a user with the change %j has the same rights, name and offset: %s', (change, isSame) => {
  expect(hasSameRights(ann, { ...ann, ...change })).toBe(isSame)
  expect(hasSameRights({ ...ann, ...change }, ann)).toBe(isSame)
  expect(hasSameRights(ann, undefined)).toBe(false)
})

describe('a deleted tenant', () => {
  test('loses its users, and their earlier accesses are empty', () => {
    accesses.publishUser(ann, ann.id)
    accesses.publishUser({ ...ann, id: 'Bob1111111', tenant: 'default' }, 'Bob1111111')
    const access = accesses.of('acme', ann.roles)
    const { version } = access
    accesses.publishTenant('acme', false)
    expect(accesses.hasTenant('acme')).toBe(false)
    expect([accesses.user(ann.id), accesses.user('Bob1111111')?.name]).toEqual([undefined, 'Ann'])
    expect(access.version).not.toBe(version)
    expect(access.scope.grants).toEqual([])
    expect(accesses.of('acme', ['admin']).scope.grants).toEqual([])
  })

  test('has no earlier roles and users when it is created again', () => {
    accesses.publishUser(ann, ann.id)
    const access = accesses.of('acme', ['ops'])
    accesses.publishTenant('acme', false)
    accesses.publishTenant('acme', true)
    expect(accesses.user(ann.id)).toBeUndefined()
    expect(accesses.of('acme', ['ops'])).not.toBe(access)
    expect(accesses.of('acme', ['ops']).scope.grants).toEqual([])
  })

  test('may be deleted twice, and an existing tenant that is published again keeps its content', () => {
    accesses.publishTenant('acme', true)
    expect(accesses.of('acme', ['ops']).scope.grants).toHaveLength(1)
    accesses.publishTenant('acme', false)
    accesses.publishTenant('acme', false)
    expect(accesses.hasTenant('acme')).toBe(false)
  })
})

describe('a reload of everything', () => {
  const groups = new Map()
  const tenants = [
    { tenant: 'acme', groups, roles: [{ role: 'ops', grants: [grant('service', 'update')], since: -1 }] },
    { tenant: 'default', groups, roles: [] },
  ]

  test('changes nothing without a difference', () => {
    accesses.publishUser(ann, ann.id)
    const access = accesses.of('acme', ann.roles)
    const { version } = access
    const changes = accesses.load({ tenants, users: [{ ...ann }] })
    expect([changes.redefined.size, changes.endedTenants.size]).toEqual([0, 0])
    expect([access.version, access.since]).toEqual([version, -1])
    expect(accesses.of('acme', ann.roles)).toBe(access)
  })

  test('reports the differences of roles and tenants', () => {
    const bob = { ...ann, id: 'Bob1111111' }
    const carl = { ...ann, id: 'Carl111111', tenant: 'default' }
    for (const user of [ann, bob, carl]) accesses.publishUser(user, user.id)
    accesses.publishTenant('third', true)
    const [ops, third] = [accesses.of('acme', ['ops']), accesses.of('third', ['admin'])]
    const changes = accesses.load({
      tenants: [
        { tenant: 'acme', groups, roles: [{ role: 'ops', grants: [grant('updates', 'update')], since: 41 }] },
        { tenant: 'default', groups, roles: [] },
      ],
      users: [{ ...ann, roles: ['viewer'] }, carl],
    })
    expect([...changes.redefined].map(([tenant, scopes]) => [tenant, [...scopes.keys()]])).toEqual([['acme', ['ops']]])
    expect(changes.endedTenants).toEqual(new Set(['third']))
    expect([ops.since, may(ops.scope, 'updates', 'update')]).toEqual([41, true])
    expect(third.scope.grants).toEqual([])
    expect([accesses.user(ann.id)?.roles, accesses.user(bob.id)]).toEqual([['viewer'], undefined])
  })

  test('reports nothing at a start', () => {
    const changes = new Accesses().load({ tenants, users: [ann] })
    expect([changes.redefined.size, changes.endedTenants.size]).toEqual([0, 0])
  })

  test('drops users without a tenant', () => {
    accesses.load({ tenants, users: [{ ...ann, tenant: 'elsewhere' }] })
    expect(accesses.user(ann.id)).toBeUndefined()
  })
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Collects garbage until the condition holds, because finalizers run in a later task at an unknown time. */
async function collectUntil(holds: () => boolean): Promise<void> {
  for (let rounds = 0; rounds < 200 && !holds(); rounds++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    collectGarbage()
  }
}

test('a new Accesses still collects after it replaced another one right after a collection', async () => {
  for (let index = 0; index < 100; index++) accesses.of('default', ['viewer', `role ${index}`])
  // After the task that requested them, no reference remains.
  await new Promise((resolve) => setTimeout(resolve))
  collectGarbage()
  accesses = new Accesses()
  collectGarbage()
  accesses.publishTenant('acme', true)
  accesses.of('acme', ['viewer'])
  expect(accesses.count).toBe(1)
  await collectUntil(() => accesses.count === 0)
  expect(accesses.count).toBe(0)
})

test('accesses without references are collected, and referenced ones stay', async () => {
  const held = accesses.of('acme', ['ops'])
  for (let index = 0; index < 5_000; index++) accesses.of('acme', ['ops', `role ${index}`])
  expect(accesses.count).toBe(5_001)
  await collectUntil(() => accesses.count === 1)
  expect(accesses.count).toBe(1)
  expect(accesses.of('acme', ['ops'])).toBe(held)
  const changed = accesses.publishRole('acme', 'ops', [grant('meta', 'read')], 7)
  expect([...changed.keys()]).toEqual(['ops'])
  expect([may(held.scope, 'meta', 'read'), held.since, held.version]).toEqual([true, 7, 1])
  // A new access with the edited role has the same rights and offset.
  const anew = accesses.of('acme', ['ops', 'role 1'])
  expect([may(anew.scope, 'meta', 'read'), anew.since]).toEqual([true, 7])
})
