import { describe, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import type { RouteAccess } from '#api/route-entry'
import { mayPut, permit } from '#http/authentication'
import { type Caller, unauthenticated } from '#model/caller'
import { Problem } from '#model/problem'
import { type Grant, scopeOf } from '#model/scope'

type Verdict = 'pass' | 403 | 404

const on = (
  devices: string[],
  services: string[],
  permissions: Grant['permissions'] = { service: ['read'] },
): Grant => ({ permissions, devices, services })
const callerWith = (...grants: Grant[]) => ({ ...anonymous, scope: scopeOf(grants) })

function verdictOf(task: () => void): Verdict {
  try {
    task()
    return 'pass'
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return error.kind.status as Verdict
  }
}

const callers = {
  unauthenticated,
  administrator: anonymous,
  other: callerWith(on(['*'], ['*'], { meta: ['*'], service: ['update'] })),
  'whole reader': callerWith(on(['*'], ['*'])),
  'A of x': callerWith(on(['A'], ['x'])),
  'B of x': callerWith(on(['B'], ['x'])),
  'A of y': callerWith(on(['A'], ['y'])),
  'A of y, B of x': callerWith(on(['A'], ['y']), on(['B'], ['x'])),
  'nothing at all': callerWith(on([], [])),
} as const

describe('the reach of a caller', () => {
  const read = { resource: 'service', action: 'read' } as const
  const accesses = {
    none: 'none',
    session: 'session',
    user: 'user',
    link: 'link',
    'service of device': { ...read, within: 'service of device' },
    device: { ...read, within: 'device' },
    service: { ...read, within: 'service' },
    list: { ...read, within: 'list' },
    tenant: { ...read, within: 'tenant' },
  } as const satisfies Record<string, RouteAccess>
  const parameters = { deviceIdentifier: 'A', serviceIdentifier: 'x' }

  const open = { none: 'pass', session: 'pass', user: 'pass', link: 'pass' } as const
  const all = (verdict: Verdict) => ({
    'service of device': verdict,
    device: verdict,
    service: verdict,
    list: verdict,
    tenant: verdict,
  })
  const table: Record<keyof typeof callers, Record<keyof typeof accesses, Verdict>> = {
    unauthenticated: { ...open, ...all(403) },
    administrator: { ...open, ...all('pass') },
    other: { ...open, ...all(403) },
    'whole reader': { ...open, ...all('pass') },
    'A of x': { ...open, ...all('pass') },
    'B of x': { ...open, ...all('pass'), 'service of device': 404, device: 404 },
    'A of y': { ...open, ...all('pass'), 'service of device': 404, service: 404 },
    // Lists of two grants are not merged: one grant must cover both the device and the service.
    'A of y, B of x': { ...open, ...all('pass'), 'service of device': 404 },
    'nothing at all': { ...open, ...all('pass'), 'service of device': 404, device: 404, service: 404 },
  }
  const rows = Object.entries(table).flatMap(([caller, verdicts]) =>
    Object.entries(verdicts).map(([access, verdict]) => [caller, access, verdict] as const),
  )
  test.each(rows)('%s at %s: %s', (caller, access, verdict) => {
    const of = callers[caller as keyof typeof callers]
    expect(verdictOf(() => permit(accesses[access as keyof typeof accesses], of, parameters))).toBe(verdict)
  })

  test.each(Object.keys(accesses))('%s: malformed parameters are 404 for callers with the permission', (access) => {
    const wanted = accesses[access as keyof typeof accesses]
    expect(verdictOf(() => permit(wanted, anonymous, undefined))).toBe(404)
    expect(verdictOf(() => permit(wanted, callers.other, undefined))).toBe(access in open ? 404 : 403)
  })

  test('a missing parameter is outside any reach, even of all devices', () => {
    expect(verdictOf(() => permit(accesses.device, callerWith(on(['*'], ['*'])), {}))).toBe(404)
  })
})

describe('the update hook', () => {
  const updater = on(['A'], ['x'], { updates: ['update'] })

  test.each<[string, Caller, Verdict]>([
    ['any signed request', unauthenticated, 'pass'],
    ['the anonymous user', anonymous, 'pass'],
    ['a caller with update on updates', callerWith(updater), 'pass'],
    ['a caller with read on updates', callerWith(on(['*'], ['*'], { updates: ['read', 'create', 'delete'] })), 403],
    ['a caller with permissions on other resources', callerWith(on(['*'], ['*'], { service: ['*'] })), 403],
    ['an authenticated caller without permissions', { ...unauthenticated, tenant: 'default' }, 403],
  ])('%s', (_, caller, verdict) => {
    expect(verdictOf(() => permit('hook', caller, {}))).toBe(verdict)
  })
})

describe('PUT that may create', () => {
  const schemas = (action: 'create' | 'update' | 'read', services: string[]) =>
    on(['*'], services, { schemas: [action] })
  const put = { resource: 'schemas', action: 'update', mayCreate: true, within: 'service' } as const

  test.each<[string, Grant[], Verdict]>([
    ['update', [schemas('update', ['x'])], 'pass'],
    ['create', [schemas('create', ['x'])], 'pass'],
    ['create elsewhere', [schemas('create', ['y'])], 404],
    ['update elsewhere, create here', [schemas('update', ['y']), schemas('create', ['x'])], 'pass'],
    ['read', [schemas('read', ['x'])], 403],
    ['nothing', [], 403],
  ])('a caller with %s', (_, grants, verdict) => {
    expect(verdictOf(() => permit(put, callerWith(...grants), { serviceIdentifier: 'x' }))).toBe(verdict)
  })

  test('create alone permits no other route', () => {
    const update = { resource: 'schemas', action: 'update', within: 'service' } as const
    expect(verdictOf(() => permit(update, callerWith(schemas('create', ['x'])), { serviceIdentifier: 'x' }))).toBe(403)
  })

  test.each<[string, Grant['permissions'], boolean, Verdict]>([
    ['create of an absent role', { roles: ['create'] }, false, 'pass'],
    ['create of an existing role', { roles: ['create'] }, true, 403],
    ['update of an absent role', { roles: ['update'] }, false, 403],
    ['update of an existing role', { roles: ['update'] }, true, 'pass'],
  ])('the existing state decides: %s', (_, permissions, exists, verdict) => {
    expect(verdictOf(() => mayPut(callerWith(on([], [], permissions)), 'roles', exists))).toBe(verdict)
  })
})
