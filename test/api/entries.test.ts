import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Permission, RouteEntry } from '#api/entry'

/** Every entry that any file of the room exports: what is said of a route must be true of it. */
const folder = fileURLToPath(new URL('../../src/api', import.meta.url))
const modules = await Promise.all(
  readdirSync(folder).map(async (file) => (await import(join(folder, file))) as Record<string, unknown>),
)
const entries = modules.flatMap((module) =>
  Object.entries(module).filter((pair): pair is [string, RouteEntry] => isEntry(pair[1])),
)

function isEntry(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'method' in value && 'access' in value && 'example' in value
}

function permissionOf({ access }: RouteEntry): Permission | undefined {
  return typeof access === 'object' ? access : undefined
}

describe.each(entries)('%s', (exported, entry) => {
  const { example } = entry

  test('is exported by its name', () => {
    expect(entry.name).toBe(exported)
  })

  test('its path and its parameters name the same', () => {
    const names = [...entry.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    expect(Object.keys(example.parameters ?? {}).sort()).toEqual(names.sort())
    if (names.length > 0) expect(entry.parameters).toBeDefined()
  })

  test('its example fits: parameters, query, body and answer', () => {
    expect(entry.parameters?.safeParse(example.parameters ?? {}).error).toBeUndefined()
    expect(entry.query?.safeParse(example.query ?? {}).error).toBeUndefined()
    if (example.query) expect(entry.query).toBeDefined()
    expect(entry.body?.schema.safeParse(example.body).error).toBeUndefined()
    if (example.body !== undefined) expect(entry.body).toBeDefined()
    const answer = entry.answers[example.status]
    expect(answer).toBeDefined()
    expect(answer?.schema !== undefined).toBe(example.answer !== undefined)
    expect(answer?.schema?.safeParse(example.answer).error).toBeUndefined()
  })

  test('its method and what it needs go together', () => {
    const usual = { GET: 'read', POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }
    // Contract 2, Resources; 5.7.
    const exceptions =
      /^(POST .*\/(secret|code)|POST \/devices\/actions|POST \/updates\/.*|GET \/notifications\/outbox|DELETE \/meta\/.*|DELETE \/iam\/users\/:name\/sessions.*)$/
    const permission = permissionOf(entry)
    if (!permission) return
    const call = `${entry.method} ${entry.path}`
    // Trying out makes nothing.
    const expected = call === 'POST /functions/:functionId/test' ? 'read' : usual[entry.method]
    expect(permission.action).toBe(exceptions.test(call) ? 'update' : expected)
  })

  test('says how it is refused', () => {
    const statuses = Object.keys(entry.answers).map(Number)
    if (entry.access !== 'none') expect(statuses).toContain(401)
    if (permissionOf(entry)) expect(statuses).toContain(403)
    if (entry.body || entry.query) expect(statuses).toContain(400)
    if (permissionOf(entry) && entry.path.includes(':') && entry.method !== 'PUT') expect(statuses).toContain(404)
  })
})

const ofTenants = entries.filter(([, { path }]) => /^\/iam\/(users|roles|api-keys|provisioning-keys)/.test(path))
test.each(ofTenants)('%s can mean another tenant', (_, { query }) => {
  expect(query?.parse({ tenant: 'crn#tenant:other' })).toEqual({ tenant: 'other' })
  expect(query?.safeParse({ tenant: 'Other' }).success).toBe(false)
  expect(query?.safeParse({ tenant: ['other', 'other'] }).success).toBe(false)
})

describe('bodies of identity', () => {
  const refused: [string, unknown][] = [
    ['createUser', { name: 'a:b', roles: [] }],
    ['createUser', { name: 'ann' }],
    ['createUser', { name: 'ann', roles: ['viewer'], email: null }],
    ['createUser', { name: 'ann', roles: ['viewer'], expiresIn: 59 }],
    ['createUser', { name: 'ann', roles: ['viewer'], expiresIn: 31_536_001 }],
    ['createUser', { name: 'ann', roles: ['viewer'], expiresIn: 60.5 }],
    ['updateUser', { name: 'ben' }],
    ['updateUser', { state: 'invited' }],
    ['updateUser', { roles: null }],
    ['renewUserCode', { resetTwoFactor: 'true' }],
    ['createTenant', { tenantIdentifier: 'crn#tenant:other', name: 'Other' }],
    ['createTenant', { tenantIdentifier: 'other', name: 'Other', hosts: ['https://other.example'] }],
    ['updateTenant', { tenantIdentifier: 'other' }],
    ['updateTenant', { twoFactor: 'never' }],
    ['createApiKey', { name: 'x', roles: 'viewer' }],
    ['createProvisioningKey', { name: 'x', maxDevices: 0 }],
    ['createProvisioningKey', { name: 'x', maxDevices: 2 ** 32 }],
    ['signUp', { name: 'ann', code: 'x', password: 'too short' }],
    ['logIn', { email: 'ann', password: 'x', tenantIdentifier: 'Other' }],
    ['changePassword', { current: 'x', password: 'too short' }],
    ['refreshSession', { refreshToken: 'x'.repeat(4097) }],
    ['useTotp', { code: '492039' }],
  ]
  test.each(refused)('%s refuses %j', (name, given) => {
    const entry = entries.find(([exported]) => exported === name)?.[1]
    expect(entry?.body?.schema.safeParse(given).success).toBe(false)
  })

  const taken: [string, unknown, unknown][] = [
    ['renewUserCode', undefined, undefined],
    ['logOut', undefined, undefined],
    ['removeTotp', undefined, undefined],
    ['updateUser', { email: null }, { email: null }],
    ['updateUser', {}, {}],
    ['createUser', { name: 'ann', roles: [], expiresIn: 60 }, { name: 'ann', roles: [], expiresIn: 60 }],
    ['signUp', { name: 'a:b/', code: '', password: '0123456789' }, { name: 'a:b/', code: '', password: '0123456789' }],
    [
      'logIn',
      { email: 'ann', password: 'e\u0301', tenantIdentifier: 'crn#tenant:acme' },
      { email: 'ann', password: '\u00e9', tenantIdentifier: 'acme' },
    ],
  ]
  test.each(taken)('%s takes %j', (name, given, parsed) => {
    const entry = entries.find(([exported]) => exported === name)?.[1]
    expect(entry?.body?.schema.parse(given)).toEqual(parsed)
  })
})

test.each([
  ['offline', true],
  ['openid offline', true],
  ['online', false],
  ['', false],
  [undefined, undefined],
])('scope %j asks for a refresh token: %s', (scope, isOffline) => {
  for (const name of ['readToken', 'refreshToken']) {
    const entry = entries.find(([exported]) => exported === name)?.[1]
    const query = { grant_type: 'refresh_token', ...(scope !== undefined && { scope }) }
    expect(entry?.query?.parse(query)).toMatchObject(scope === undefined ? {} : { scope: isOffline })
  }
})

test.each([undefined, 'password', ['refresh_token', 'refresh_token']])('grant_type %j is refused', (grant) => {
  const entry = entries.find(([exported]) => exported === 'refreshToken')?.[1]
  expect(entry?.query?.safeParse({ grant_type: grant }).success).toBe(false)
})
