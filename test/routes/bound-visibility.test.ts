import { describe, expect, test } from 'vitest'
import type { Action, Grant } from '#model/scope'
import { scopeOf } from '#model/scope'
import { boundWithin, mayBind } from '#routes/bound-visibility'

const on = (devices: string[], services: string[], permissions: Grant['permissions']): Grant => ({
  permissions,
  devices,
  services,
})

describe('what is bound to devices', () => {
  const sees = (...devices: string[]) => on(devices, ['*'], { alarms: ['read'] })
  const bounds = { A: ['A'], B: ['B'], 'A and B': ['A', 'B'], nothing: [], all: '*' } as const

  test.each<[string, readonly Grant[], readonly (keyof typeof bounds)[]]>([
    ['who reaches any', [sees('*')], ['A', 'B', 'A and B', 'nothing', 'all']],
    ['who reaches one', [sees('A')], ['A', 'nothing']],
    ['who reaches both by two grants', [sees('A'), sees('B')], ['A', 'B', 'A and B', 'nothing']],
    [
      'who reaches one, and another for something else',
      [sees('A'), on(['B'], ['*'], { meta: ['read'] })],
      ['A', 'nothing'],
    ],
    [
      'who reaches both, narrowed to a service',
      [on(['A', 'B'], ['x'], { '*': ['*'] })],
      ['A', 'B', 'A and B', 'nothing'],
    ],
    ['who reaches nothing', [sees()], ['nothing']],
    ['who may not read it', [on(['*'], ['*'], { alarms: ['update'] })], []],
  ])('is seen by %s', (_, grants, seen) => {
    const scope = scopeOf(grants)
    const found = Object.entries(bounds).filter(([, bound]) => boundWithin(scope, 'alarms', 'read', bound))
    expect(found.map(([name]) => name)).toEqual(seen)
  })
})

describe('binding to devices', () => {
  const binds = (...devices: string[]) => on(devices, ['*'], { alarms: ['create'] })
  const reads = (devices: string[], ...services: string[]) => on(devices, services, { service: ['read'] })

  test.each<[string, readonly Grant[], readonly string[] | '*', string | undefined, boolean]>([
    ['who may both', [binds('A'), reads(['A'], '*')], ['A'], 'x', true],
    ['by one grant', [on(['A'], ['x'], { '*': ['*'] })], ['A'], 'x', true],
    ['all of a service', [binds('*'), reads(['*'], 'x')], '*', 'x', true],
    ['each by another grant', [binds('A', 'B'), reads(['A'], 'x'), reads(['B'], 'x')], ['A', 'B'], 'x', true],
    ['nothing', [binds('A'), reads(['B'], 'x')], [], 'x', true],
    ['any service where none is meant', [binds('A'), reads(['A'], 'y')], ['A'], undefined, true],
    ['who may not read them', [binds('A')], ['A'], undefined, false],
    ['who may read and not bind', [reads(['A'], '*')], ['A'], 'x', false],
    ['one outside', [binds('A', 'B'), reads(['A'], '*')], ['A', 'B'], 'x', false],
    ['another service', [binds('A'), reads(['A'], 'y')], ['A'], 'x', false],
    ['the service on another device', [binds('A', 'B'), reads(['A'], 'x'), reads(['B'], 'y')], ['A', 'B'], 'x', false],
    ['all, where some are his', [binds('*'), reads(['A', 'B'], 'x')], '*', 'x', false],
    ['all, where he may bind some', [binds('A'), reads(['*'], 'x')], '*', 'x', false],
    ['all of a service, where he may read another', [binds('*'), reads(['*'], 'y')], '*', 'x', false],
    ['nothing, who may read nothing', [binds('A')], [], 'x', false],
  ])('%s', (_, grants, bound, service, isAllowed) => {
    expect(mayBind(scopeOf(grants), 'alarms', 'create', bound, service)).toBe(isAllowed)
    for (const other of ['read', 'update', 'delete'] as Action[]) {
      expect(
        mayBind(scopeOf(grants.filter(({ permissions }) => !permissions['*'])), 'alarms', other, bound, service),
      ).toBe(false)
    }
  })
})
