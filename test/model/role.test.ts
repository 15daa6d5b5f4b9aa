import { describe, expect, test } from 'vitest'
import { builtInRoles, isBuiltIn, RoleEntry, RoleGrants, roleGrantsMax } from '#model/role'
import { actions, Grant, isPermitted, type Resource, resources, scopeOf } from '#model/scope'

const grant = { permissions: { service: ['read'] }, devices: ['sensor-1'], services: ['*'] }
const normal = { ...grant, devices: ['SENSOR-1'] }

describe('the body of a role', () => {
  test.each<[string, unknown, unknown]>([
    ['grants', { grants: [grant, grant] }, { grants: [normal, normal] }],
    ['no grants', { grants: [] }, { grants: [] }],
    ['one grant without a list', grant, { grants: [normal] }],
  ])('may have %s', (_, body, role) => {
    expect(RoleGrants.parse(body)).toEqual(role)
  })

  test('that is shown can be put again', () => {
    const { grants } = RoleGrants.parse(grant)
    const entry = { name: 'ops', grants, builtIn: false, resourceIdentifier: 'crn#role:default/ops' }
    expect(RoleGrants.parse({ grants: RoleEntry.parse(entry).grants })).toEqual({ grants })
  })

  test.each<[string, unknown, string[]]>([
    ['nothing', undefined, ['']],
    ['null', null, ['']],
    ['a list', [grant], ['']],
    ['an empty object', {}, ['grants']],
    ['a bad name in a grant', { grants: [grant, { ...grant, devices: ['A', 'a/b'] }] }, ['grants.1.devices.1']],
    ['a bad name in a grant without a list, with its path', { ...grant, devices: ['A', 'a/b'] }, ['devices.1']],
    ['a grant without a list and without a field', { devices: ['A'], services: [] }, ['permissions']],
    ['an unknown field', { grants: [], name: 'ops' }, ['']],
    ['an unknown field of a grant without a list', { ...grant, name: 'ops' }, ['']],
    ['both at once', { ...grant, grants: [grant] }, ['']],
    ['too many grants', { grants: Array(roleGrantsMax + 1).fill(grant) }, ['grants']],
    ['too large', { grants: Array(40).fill({ ...grant, devices: Array(1_000).fill('SENSOR-1') }) }, ['grants']],
    ['too large without a list', { ...grant, devices: Array(10_000).fill('X'.repeat(64)) }, ['']],
  ])('is refused with %s', (_, body, paths) => {
    const { error } = RoleGrants.safeParse(body)
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual(paths)
  })

  test('is refused with grants of a prototype', () => {
    expect(RoleGrants.safeParse(Object.create(grant)).success).toBe(false)
  })

  test('may have the maximum number of grants', () => {
    expect(RoleGrants.safeParse({ grants: Array(roleGrantsMax).fill(grant) }).success).toBe(true)
  })
})

describe('built-in roles', () => {
  const given = (role: keyof typeof builtInRoles, resource: Resource) =>
    actions.filter((action) => isPermitted(scopeOf(builtInRoles[role]), resource, action)).join(' ')
  const all = 'create read update delete'

  test.each<[Resource, string, string]>([
    ['service', 'read update', 'read'],
    ['device', 'read', 'read'],
    ['schemas', 'read', 'read'],
    ['meta', 'read update', 'read'],
    ['alarms', 'read update', 'read'],
    ['notifications', all, all],
    ['functions', 'read', 'read'],
    ['updates', 'read update', 'read'],
    ['users', '', ''],
    ['roles', '', ''],
    ['tenants', '', ''],
    ['health', 'read', 'read'],
    ['audit', '', ''],
  ])('permit on %s: operator %j, viewer %j, admin everything', (resource, operator, viewer) => {
    const roles = ['operator', 'viewer', 'admin'] as const
    expect(roles.map((role) => given(role, resource))).toEqual([operator, viewer, all])
  })

  test('are listed above for every resource', () => {
    expect(resources).toHaveLength(13)
  })

  test('reach every device and service, and are ordinary grants', () => {
    for (const grants of Object.values(builtInRoles)) {
      for (const one of grants) expect(Grant.parse(one)).toEqual({ ...one, devices: ['*'], services: ['*'] })
    }
  })

  test('have fixed names', () => {
    for (const name of ['admin', 'operator', 'viewer']) expect(isBuiltIn(name)).toBe(true)
    for (const name of ['Admin', 'ops', 'constructor', 'toString']) expect(isBuiltIn(name)).toBe(false)
  })
})
