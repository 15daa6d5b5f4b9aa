import { describe, expect, test } from 'vitest'
import type { Action, Grant } from '#model/scope'
import { scopeOf } from '#model/scope'
import { boundWithin, mayBind } from '#routes/bound-visibility'

const on = (devices: string[], services: string[], permissions: Grant['permissions']): Grant => ({
  permissions,
  devices,
  services,
})

describe('a resource that is bound to devices', () => {
  const sees = (...devices: string[]) => on(devices, ['*'], { alarms: ['read'] })
  const bounds = { A: ['A'], B: ['B'], 'A and B': ['A', 'B'], nothing: [], all: '*' } as const

  test.each<[string, readonly Grant[], readonly (keyof typeof bounds)[]]>([
    ['a user who reaches all devices', [sees('*')], ['A', 'B', 'A and B', 'nothing', 'all']],
    ['a user who reaches one', [sees('A')], ['A', 'nothing']],
    ['a user who reaches both by two grants', [sees('A'), sees('B')], ['A', 'B', 'A and B', 'nothing']],
    [
      'a user who reaches one, and another one with another permission',
      [sees('A'), on(['B'], ['*'], { meta: ['read'] })],
      ['A', 'nothing'],
    ],
    [
      'a user who reaches both, limited to a service',
      [on(['A', 'B'], ['x'], { '*': ['*'] })],
      ['A', 'B', 'A and B', 'nothing'],
    ],
    ['a user who reaches no device', [sees()], ['nothing']],
    ['a user without read access', [on(['*'], ['*'], { alarms: ['update'] })], []],
  ])('is visible to %s', (_, grants, seen) => {
    const scope = scopeOf(grants)
    const found = Object.entries(bounds).filter(([, bound]) => boundWithin(scope, 'alarms', 'read', bound))
    expect(found.map(([name]) => name)).toEqual(seen)
  })
})

describe('a binding to devices', () => {
  const binds = (...devices: string[]) => on(devices, ['*'], { alarms: ['create'] })
  const reads = (devices: string[], ...services: string[]) => on(devices, services, { service: ['read'] })

  test.each<[string, readonly Grant[], readonly string[] | '*', string | undefined, boolean]>([
    ['with both permissions', [binds('A'), reads(['A'], '*')], ['A'], 'x', true],
    ['with one grant', [on(['A'], ['x'], { '*': ['*'] })], ['A'], 'x', true],
    ['all devices of a service', [binds('*'), reads(['*'], 'x')], '*', 'x', true],
    ['each device with its own grant', [binds('A', 'B'), reads(['A'], 'x'), reads(['B'], 'x')], ['A', 'B'], 'x', true],
    ['nothing', [binds('A'), reads(['B'], 'x')], [], 'x', true],
    ['any service where no service is given', [binds('A'), reads(['A'], 'y')], ['A'], undefined, true],
    ['without read access', [binds('A')], ['A'], undefined, false],
    ['with read access only', [reads(['A'], '*')], ['A'], 'x', false],
    ['one device outside the scope', [binds('A', 'B'), reads(['A'], '*')], ['A', 'B'], 'x', false],
    ['another service', [binds('A'), reads(['A'], 'y')], ['A'], 'x', false],
    ['the service on another device', [binds('A', 'B'), reads(['A'], 'x'), reads(['B'], 'y')], ['A', 'B'], 'x', false],
    ['all devices, with some in scope', [binds('*'), reads(['A', 'B'], 'x')], '*', 'x', false],
    ['all devices, with permission to bind some', [binds('A'), reads(['*'], 'x')], '*', 'x', false],
    ['all devices of a service, with read access to another one', [binds('*'), reads(['*'], 'y')], '*', 'x', false],
    ['no devices, without read access', [binds('A')], [], 'x', false],
  ])('%s is allowed or refused', (_, grants, bound, service, isAllowed) => {
    expect(mayBind(scopeOf(grants), 'alarms', 'create', bound, service)).toBe(isAllowed)
    for (const other of ['read', 'update', 'delete'] as Action[]) {
      expect(
        mayBind(scopeOf(grants.filter(({ permissions }) => !permissions['*'])), 'alarms', other, bound, service),
      ).toBe(false)
    }
  })
})
