import { describe, expect, test } from 'vitest'
import { builtInRoles, isBuiltIn, RoleEntry, RoleGrants, roleGrantsMax } from '#model/role'
import { actions, Grant, isPermitted, type Resource, resources, scopeOf } from '#model/scope'

const grant = { permissions: { service: ['read'] }, devices: ['sensor-1'], services: ['*'] }
const normal = { ...grant, devices: ['SENSOR-1'] }

describe('what a role is put as', () => {
  test.each<[string, unknown, unknown]>([
    ['grants', { grants: [grant, grant] }, { grants: [normal, normal] }],
    ['no grants', { grants: [] }, { grants: [] }],
    ['one grant directly', grant, { grants: [normal] }],
  ])('%s', (_, body, role) => {
    expect(RoleGrants.parse(body)).toEqual(role)
  })

  test('what is shown of a role can be put again', () => {
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
    ['a bad name in a grant directly, named where it stands', { ...grant, devices: ['A', 'a/b'] }, ['devices.1']],
    ['a grant directly with something missing', { devices: ['A'], services: [] }, ['permissions']],
    ['an unknown field', { grants: [], name: 'ops' }, ['']],
    ['an unknown field of a grant directly', { ...grant, name: 'ops' }, ['']],
    ['both at once', { ...grant, grants: [grant] }, ['']],
    ['too many grants', { grants: Array(roleGrantsMax + 1).fill(grant) }, ['grants']],
    ['too large', { grants: Array(40).fill({ ...grant, devices: Array(1_000).fill('SENSOR-1') }) }, ['grants']],
    ['too large directly', { ...grant, devices: Array(10_000).fill('X'.repeat(64)) }, ['']],
  ])('not %s', (_, body, paths) => {
    const { error } = RoleGrants.safeParse(body)
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual(paths)
  })

  test('not grants that come from a prototype', () => {
    expect(RoleGrants.safeParse(Object.create(grant)).success).toBe(false)
  })

  test('as many grants as there may be', () => {
    expect(RoleGrants.safeParse({ grants: Array(roleGrantsMax).fill(grant) }).success).toBe(true)
  })
})

describe('built-in roles', () => {
  const scope = {
    admin: scopeOf(builtInRoles.admin),
    operator: scopeOf(builtInRoles.operator),
    viewer: scopeOf(builtInRoles.viewer),
  }
  const given = (role: keyof typeof scope, resource: Resource) =>
    actions.filter((action) => isPermitted(scope[role], resource, action)).join(' ')
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
  ])('on %s: operator %j, viewer %j, admin everything', (resource, operator, viewer) => {
    expect([given('operator', resource), given('viewer', resource), given('admin', resource)]).toEqual([
      operator,
      viewer,
      all,
    ])
  })

  test('nothing is left out above', () => {
    expect(resources).toHaveLength(12)
  })

  test('they reach every device and service, and are grants like others', () => {
    for (const grants of Object.values(builtInRoles)) {
      for (const one of grants) expect(Grant.parse(one)).toEqual({ ...one, devices: ['*'], services: ['*'] })
    }
  })

  test.each([
    ['admin', true],
    ['operator', true],
    ['viewer', true],
    ['Admin', false],
    ['ops', false],
    ['constructor', false],
    ['toString', false],
  ])('%s is one: %s', (name, isOne) => {
    expect(isBuiltIn(name)).toBe(isOne)
  })
})
