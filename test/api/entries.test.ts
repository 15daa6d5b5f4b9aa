import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chapters } from '#api/chapters'
import type { Permission, RouteEntry } from '#api/route-entry'

/** `test/api/documents.test.ts` checks that the chapters have every entry. */
const entries = chapters.flatMap((chapter) => chapter.entries.map((entry) => [entry.name, entry] as const))
const bodyOf = (name: string) => entries.find(([each]) => each === name)?.[1].body?.schema
const queryOf = (name: string) => entries.find(([each]) => each === name)?.[1].query

/** Names of fields that hold secrets. An entry with such a field must be marked as secret. */
const secretNames = /^(password|current|secret|code|key|token|accessToken|refreshToken|ticket|recoveryCodes|challenge)$/

function permissionOf({ access }: RouteEntry): Permission | undefined {
  return typeof access === 'object' ? access : undefined
}

function namesOf(schema: z.ZodType | undefined, io: 'input' | 'output'): string[] {
  const names: string[] = []
  JSON.stringify(schema ? z.toJSONSchema(schema, { io, unrepresentable: 'any' }) : {}, (name, value) => {
    if (name === 'properties') names.push(...Object.keys(value as object))
    return value as unknown
  })
  return names
}

describe.each(entries)('%s', (_, entry) => {
  test('validates each parameter of its path', () => {
    const names = [...entry.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    const { shape = {} } = (entry.parameters ?? {}) as { readonly shape?: object }
    expect(Object.keys(shape).sort()).toEqual(names.sort())
  })

  test('needs the permission that fits its method', () => {
    const usual = { GET: 'read', POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }
    // Contract 2, Resources; 5.7.
    const exceptions =
      /^(POST .*\/(secret|token|code|hand-over|acknowledge)|POST \/devices\/actions|POST \/updates\/.*|POST \/history\/(import|compact)|GET \/notifications\/outbox|DELETE \/meta\/.*|DELETE .*\/desired|DELETE \/iam\/users\/:name\/sessions.*)$/
    const permission = permissionOf(entry)
    if (!permission) return
    const call = `${entry.method} ${entry.path}`
    // A test run and a query store nothing, so read permission is enough.
    const expected = ['POST /functions/:functionId/test', 'POST /history/query'].includes(call)
      ? 'read'
      : usual[entry.method]
    expect(permission.action).toBe(exceptions.test(call) ? 'update' : expected)
  })

  test('is marked as secret exactly if its body or an answer has a secret field', () => {
    const names = [
      ...namesOf(entry.body?.schema, 'input'),
      ...Object.values(entry.answers).flatMap(({ schema }) => namesOf(schema, 'output')),
    ]
    const secrets = names.filter((name) => secretNames.test(name))
    // Routes with WebAuthn challenges also receive tokens or passwords. A backup is a stream without fields.
    const isExempt = entry.path.startsWith('/auth/2fa/webauthn/') || entry.path === '/backup'
    if (entry.isSecret) expect(secrets.length > 0 || isExempt, names.join()).toBe(true)
    else expect(secrets).toEqual([])
  })
})

const ofTenants = entries.filter(([, { path }]) => /^\/iam\/(users|roles|api-keys|provisioning-keys)/.test(path))
test.each(ofTenants)('%s accepts one tenant in its query', (_, { query }) => {
  expect(query?.parse({ tenant: 'crn#tenant:other' })).toEqual({ tenant: 'other' })
  expect(query?.safeParse({ tenant: 'Other' }).success).toBe(false)
  expect(query?.safeParse({ tenant: ['other', 'other'] }).success).toBe(false)
})

describe('bodies of requests for users and access', () => {
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
    expect(bodyOf(name)?.safeParse(given).success).toBe(false)
  })

  const accepted: [string, unknown, unknown][] = [
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
  test.each(accepted)('%s accepts %j', (name, given, parsed) => {
    expect(bodyOf(name)?.parse(given)).toEqual(parsed)
  })
})

test.each([
  ['offline', true],
  ['openid offline', true],
  ['online', false],
  ['', false],
  [undefined, undefined],
])('a token request with scope %j asks for a refresh token: %s', (scope, isOffline) => {
  for (const name of ['readToken', 'refreshToken']) {
    const query = { grant_type: 'refresh_token', ...(scope !== undefined && { scope }) }
    expect(queryOf(name)?.parse(query)).toMatchObject(scope === undefined ? {} : { scope: isOffline })
  }
})

test.each([undefined, 'password', ['refresh_token', 'refresh_token']])(
  'a token request with grant_type %j is refused',
  (grant) => {
    expect(queryOf('refreshToken')?.safeParse({ grant_type: grant }).success).toBe(false)
  },
)
