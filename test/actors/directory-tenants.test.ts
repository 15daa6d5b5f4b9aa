import { describe, expect, test } from 'vitest'
import { removedUsersMax, tenantsMax } from '#actors/directory/directory'
import { isReachable, rowById, rowByName, rowsAfter, rowsByLogin, tenantRow } from '#actors/directory/queries'
import { type DirectoryCommand, directoryAddress } from '#actors/directory/state'
import { effectsOf } from '#runtime/actor'
import { now, outcomeOf, turnAt } from '#test/actors/acting-actor'
import { type ActingDirectory, directoryWith } from '#test/actors/acting-directory'

describe('a tenant', () => {
  test('named default exists from the beginning', () => {
    const { state, records } = directoryWith()
    expect(tenantRow(state, 'default')).toMatchObject({ tenantIdentifier: 'default', basic: true, state: 'active' })
    expect(records.size).toBe(0)
  })

  test('is added and changed, with a notice each time', () => {
    const directory = directoryWith()
    expect(outcomeOf(directory.addTenant('acme'))).toMatchObject({ tenantIdentifier: 'acme', createdAt: now })
    const change = { hosts: ['acme.example'], basic: false, twoFactor: 'required' } as const
    const changed = directory.act({ type: 'update_tenant', tenant: 'acme', change })
    const expected = { tenantIdentifier: 'acme', name: 'acme', createdAt: now, state: 'active', ...change }
    expect(outcomeOf(changed)).toEqual(expected)
    directory.act({ type: 'update_tenant', tenant: 'default', change: { name: 'Ours' } })
    expect(tenantRow(directory.state, 'default')).toMatchObject({ name: 'Ours', basic: true })
    expect(directory.notices.received).toEqual(['tenant acme active', 'tenant acme active', 'tenant default active'])
  })

  const notFound = 'not_found: Not Found'
  const alwaysExists = 'conflict: tenant default always exists'
  const hasUsers = 'conflict: the tenant still has users'
  const change = {}
  test.each<[string, DirectoryCommand | string, string]>([
    ['a second addition', 'acme', 'conflict: the tenant exists'],
    ['an addition of the default tenant', 'default', 'conflict: the tenant exists'],
    ['an addition during its deletion', 'gone', 'conflict: the tenant is being deleted'],
    ['a change of an unknown tenant', { type: 'update_tenant', tenant: 'none', change }, notFound],
    ['a change during its deletion', { type: 'update_tenant', tenant: 'gone', change }, notFound],
    ['a deletion of the default tenant', { type: 'delete_tenant', tenant: 'default' }, alwaysExists],
    ['a second deletion', { type: 'delete_tenant', tenant: 'gone' }, notFound],
    ['a deletion of an unknown tenant', { type: 'delete_tenant', tenant: 'none' }, notFound],
    ['the removal of users while it is not being deleted', { type: 'forget_users', tenant: 'acme' }, notFound],
    ['a sweep of a tenant that is not being deleted', { type: 'tenant_swept', tenant: 'acme' }, notFound],
    ['the end of a deletion while the tenant has users', { type: 'tenant_swept', tenant: 'gone' }, hasUsers],
  ])('%s is refused', (_, command, refusal) => {
    const directory = directoryWith('acme', 'gone')
    directory.add('ann', { tenant: 'gone' })
    directory.act({ type: 'delete_tenant', tenant: 'gone' })
    const decision = typeof command === 'string' ? directory.addTenant(command) : directory.act(command)
    expect(outcomeOf(decision)).toBe(refusal)
  })

  test('that is added again under the same idempotency key is answered as before, and another tenant is refused', () => {
    const directory = directoryWith()
    const add = (name: string, isRepeated: boolean) => {
      const login = { twoFactor: 'optional', basic: true } as const
      const tenant = { tenantIdentifier: 'acme', name, hosts: ['acme.example'], ...login }
      return directory.act({ type: 'add_tenant', tenant, isRepeated })
    }
    add('Acme', false)
    const made = tenantRow(directory.state, 'acme')
    expect(add('Acme', true)).toMatchObject({ type: 'record', answer: made })
    expect(outcomeOf(add('Acme', false))).toBe('conflict: the tenant exists')
    expect(outcomeOf(add('Other', true))).toBe('conflict: the tenant exists')
    expect(tenantRow(directory.state, 'acme')).toBe(made)
    directory.act({ type: 'delete_tenant', tenant: 'acme' })
    expect(outcomeOf(add('Acme', true))).toBe('conflict: the tenant is being deleted')
  })

  test(`cannot be added when there are ${tenantsMax}`, () => {
    const { definition, state } = directoryWith()
    const row = tenantRow(state, 'default')
    if (!row) throw new Error('no tenant')
    for (let index = 1; index < tenantsMax; index++) state.tenants.set(`t${index}`, row)
    const add: DirectoryCommand = { type: 'add_tenant', tenant: { ...row, tenantIdentifier: 'more' } }
    expect(outcomeOf(definition.decide(state, add, turnAt()))).toBe(
      `conflict: a server has at most ${tenantsMax} tenants`,
    )
    state.tenants.delete('t1')
    expect(definition.decide(state, add, turnAt()).type).toBe('record')
  })

  test('is deleted for all callers at once, and its users follow in batches, including the last administrator', () => {
    const directory = directoryWith('acme')
    directory.add('root', { tenant: 'acme', roles: ['admin'], email: 'r@acme.example' })
    directory.act({ type: 'delete_tenant', tenant: 'acme' })
    const { state } = directory
    expect(tenantRow(state, 'acme')).toBeUndefined()
    expect(rowByName(state, 'root')).toBeUndefined()
    expect(rowById(state, 'ROOT')).toBeUndefined()
    expect(rowsAfter(state, 'acme', '', 9)).toEqual([])
    expect(rowsByLogin(state, 'r@acme.example', 'any')).toEqual([])
    expect(isReachable(state, 'acme', 'any')).toBe(false)
    expect(directory.notices.received).toEqual(['tenant acme deleting'])
    expect(outcomeOf(directory.act({ type: 'forget_users', tenant: 'acme' }))).toBe(0)
    expect(directory.notices.received).toEqual(['user ROOT gone'])
    directory.act({ type: 'tenant_swept', tenant: 'acme' })
    expect(directory.notices.received).toEqual(['tenant acme gone'])
    expect(directory.records.size).toBe(0)
    expect(directory.addTenant('acme').type).toBe('record')
    expect(directory.invite('root', { tenant: 'acme' }).type).toBe('record')
  })

  test('removes a limited number of users in one turn', () => {
    const directory = directoryWith('acme')
    const { definition, state, notices } = directory
    directory.fill('acme', removedUsersMax + 5)
    const act = (command: DirectoryCommand) => {
      const decision = definition.decide(state, command, turnAt())
      if (decision.type === 'record') {
        for (const change of decision.records ?? []) definition.change?.(state, change)
        for (const effect of effectsOf(definition, directoryAddress, decision) ?? []) effect()
      }
      return outcomeOf(decision)
    }
    act({ type: 'delete_tenant', tenant: 'acme' })
    notices.lines.length = 0
    expect(act({ type: 'forget_users', tenant: 'acme' })).toBe(5)
    expect(notices.lines).toHaveLength(removedUsersMax)
    expect(act({ type: 'forget_users', tenant: 'acme' })).toBe(0)
    expect(state.users.size).toBe(0)
    expect(act({ type: 'forget_users', tenant: 'acme' })).toBe(0)
  })
})

describe('users are found', () => {
  function threeTenants(): ActingDirectory {
    const directory = directoryWith('beta')
    directory.addTenant('acme', ['acme.example', 'devices.example:8443', '[::1]:9000'])
    directory.add('ann', { email: 'ann@example.org' })
    directory.add('anna', { email: 'ann@example.org', tenant: 'beta' })
    directory.add('ann2', { email: 'Ann@Example.org', tenant: 'acme' })
    directory.invite('ann3', { email: 'inv@example.org' })
    directory.add('off', { email: 'off@example.org' })
    directory.act({ type: 'update_user', user: 'OFF', state: 'disabled' })
    // This name is equal to the address of another user.
    directory.add('anna@example.org', { id: 'TWIN' })
    directory.add('bob', { email: 'anna@example.org' })
    return directory
  }

  test.each<[string, string, string[]]>([
    ['ANN@EXAMPLE.ORG', 'acme.example', ['ANN2', 'ANNA', 'ANN'].sort()],
    ['ann@example.org', 'elsewhere.example', ['ANN', 'ANNA']],
    ['Ann', 'elsewhere.example', ['ANN']],
    ['ann2', 'elsewhere.example', []],
    ['ann2', 'acme.example', ['ANN2']],
    ['inv@example.org', 'any', []],
    ['off@example.org', 'any', []],
    ['off', 'any', []],
    ['nobody', 'any', []],
    ['anna@example.org', 'any', ['BOB', 'TWIN']],
  ])('by %s under host %s', (text, host, ids) => {
    const rows = rowsByLogin(threeTenants().state, text, host)
    expect(rows.map(({ id }) => id).sort()).toEqual(ids)
    expect(rows.map(({ tenant }) => tenant)).toEqual(rows.map(({ tenant }) => tenant).sort())
  })

  test('once if their name and address are equal', () => {
    const directory = directoryWith()
    directory.add('x@example.org', { email: 'X@example.org', id: 'X' })
    expect(rowsByLogin(directory.state, 'x@EXAMPLE.org', 'any').map(({ id }) => id)).toEqual(['X'])
  })

  test.each([
    ['acme', 'acme.example', true],
    ['acme', 'ACME.Example', true],
    ['acme', 'acme.example:8080', true],
    ['acme', 'devices.example:8443', true],
    ['acme', 'devices.example', false],
    ['acme', 'devices.example:8080', false],
    ['acme', '[::1]:9000', true],
    ['acme', '[::1]', false],
    ['acme', 'sub.acme.example', false],
    ['acme', '', false],
    ['beta', 'anything', true],
    ['none', 'anything', false],
  ])('in tenant %s under host %s: %s', (tenant, host, expected) => {
    expect(isReachable(threeTenants().state, tenant, host)).toBe(expected)
  })
})

test('users of a tenant are listed by name without regard to case', () => {
  const directory = directoryWith('other')
  for (const name of ['bob', 'Ann', 'cid', 'Zed', 'ann2']) directory.add(name)
  directory.add('else', { tenant: 'other' })
  const names = (after: string, countMax = 9, tenant = 'default') =>
    rowsAfter(directory.state, tenant, after, countMax).map(({ name }) => name)
  expect(names('')).toEqual(['Ann', 'ann2', 'bob', 'cid', 'Zed'])
  expect(names('ANN')).toEqual(['ann2', 'bob', 'cid', 'Zed'])
  expect(names('ANN', 2)).toEqual(['ann2', 'bob'])
  expect(names('zed')).toEqual([])
  expect(names('', 9, 'none')).toEqual([])
  // Another user takes the same name in another case, and has the same place in the list.
  directory.act({ type: 'remove_user', user: 'BOB' })
  directory.add('BOB', { id: 'BOB2' })
  expect(names('ann2')).toEqual(['BOB', 'cid', 'Zed'])
  expect(names('bob')).toEqual(['cid', 'Zed'])
})
