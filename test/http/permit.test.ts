import { describe, expect, test } from 'vitest'
import { anonymous } from '#access/anonymous'
import type { RouteAccess } from '#api/entry'
import { mayPut, permit } from '#http/authentication'
import { type Caller, unauthenticated } from '#model/caller'
import { Problem } from '#model/problem'
import { type Grant, scopeOf } from '#model/scope'

type Verdict = 'pass' | 403 | 404

const on = (
  devices: string[],
  services: string[],
  permissions: Grant['permissions'] = { service: ['read'] },
): Grant => ({
  permissions,
  devices,
  services,
})
const who = (...grants: Grant[]) => ({ ...anonymous, scope: scopeOf(grants) })

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
  everybody: anonymous,
  other: who(on(['*'], ['*'], { meta: ['*'], service: ['update'] })),
  'whole reader': who(on(['*'], ['*'])),
  'A of x': who(on(['A'], ['x'])),
  'B of x': who(on(['B'], ['x'])),
  'A of y': who(on(['A'], ['y'])),
  'A of y, B of x': who(on(['A'], ['y']), on(['B'], ['x'])),
  'nothing at all': who(on([], [])),
} as const

describe('what of the path lies inside', () => {
  const read = { resource: 'service', action: 'read' } as const
  const accesses = {
    none: 'none',
    session: 'session',
    person: 'person',
    link: 'link',
    'service of device': { ...read, within: 'service of device' },
    device: { ...read, within: 'device' },
    service: { ...read, within: 'service' },
    list: { ...read, within: 'list' },
    tenant: { ...read, within: 'tenant' },
  } as const satisfies Record<string, RouteAccess>
  const parameters = { deviceIdentifier: 'A', serviceIdentifier: 'x' }

  const open = { none: 'pass', session: 'pass', person: 'pass', link: 'pass' } as const
  const all = (verdict: Verdict) => ({
    'service of device': verdict,
    device: verdict,
    service: verdict,
    list: verdict,
    tenant: verdict,
  })
  const table: Record<keyof typeof callers, Record<keyof typeof accesses, Verdict>> = {
    unauthenticated: { ...open, ...all(403) },
    everybody: { ...open, ...all('pass') },
    other: { ...open, ...all(403) },
    'whole reader': { ...open, ...all('pass') },
    'A of x': { ...open, ...all('pass') },
    'B of x': { ...open, ...all('pass'), 'service of device': 404, device: 404 },
    'A of y': { ...open, ...all('pass'), 'service of device': 404, service: 404 },
    // Never two lists merged: the device by one grant and the service by another are not that service of that device.
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

  test.each(Object.keys(accesses))('%s: malformed parameters are 404 to whoever may act there', (access) => {
    const wanted = accesses[access as keyof typeof accesses]
    expect(verdictOf(() => permit(wanted, anonymous, undefined))).toBe(404)
    expect(verdictOf(() => permit(wanted, callers.other, undefined))).toBe(access in open ? 404 : 403)
  })

  test('a name that the path lacks lies inside nothing, not even of all', () => {
    expect(verdictOf(() => permit(accesses.device, who(on(['*'], ['*'])), {}))).toBe(404)
  })
})

describe('the update hook', () => {
  const updater = on(['A'], ['x'], { updates: ['update'] })

  test.each<[string, Caller, Verdict]>([
    ['whoever signed, as far as this goes', unauthenticated, 'pass'],
    ['the anonymous user', anonymous, 'pass'],
    ['who may update', who(updater), 'pass'],
    ['who may read updates', who(on(['*'], ['*'], { updates: ['read', 'create', 'delete'] })), 403],
    ['who may update something else', who(on(['*'], ['*'], { service: ['*'] })), 403],
    ['an authenticated caller without permissions', { ...unauthenticated, tenant: 'default' }, 403],
  ])('%s', (_, caller, verdict) => {
    expect(verdictOf(() => permit('hook', caller, {}))).toBe(verdict)
  })
})

describe('putting what may be new', () => {
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
  ])('who may %s', (_, grants, verdict) => {
    expect(verdictOf(() => permit(put, who(...grants), { serviceIdentifier: 'x' }))).toBe(verdict)
  })

  test('create gets in nowhere else', () => {
    const update = { resource: 'schemas', action: 'update', within: 'service' } as const
    expect(verdictOf(() => permit(update, who(schemas('create', ['x'])), { serviceIdentifier: 'x' }))).toBe(403)
  })

  test.each<[string, Grant['permissions'], boolean, Verdict]>([
    ['create, where it is not', { roles: ['create'] }, false, 'pass'],
    ['create, where it is', { roles: ['create'] }, true, 403],
    ['update, where it is not', { roles: ['update'] }, false, 403],
    ['update, where it is', { roles: ['update'] }, true, 'pass'],
  ])('what happens decides: %s', (_, permissions, isThere, verdict) => {
    expect(verdictOf(() => mayPut(who(on([], [], permissions)), 'roles', isThere))).toBe(verdict)
  })
})
