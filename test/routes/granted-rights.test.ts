import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import { answerOf, codeIn, grant, newName, SignedInUser, signUp } from '#test/blackbox/signed-in-user'
import { SignInServer } from '#test/routes/sign-in-server'

/**
 * A caller gives, changes and ends no more rights than they have, and a code or an API key gives no more than its creator may give now.
 * Contract 2, Model.
 */

const reading = grant({ service: ['read'] })
const path = (name: string) => `/iam/users/${name}`
const withKey = (key: string) => ({
  get: (target: string) => http.get(target, { 'x-api-key': key }),
  post: (target: string, body: object) => http.ask(target, { method: 'POST', body, headers: { 'x-api-key': key } }),
})
type Asker = Pick<SignedInUser, 'post'>

const http = await SignInServer.open()
afterAll(() => http.close())
const admin = await SignedInUser.signIn(http)
await admin.putRole('manager', grant({ users: ['*'], roles: ['*'] }), reading)
await admin.putRole('reader', reading)
await admin.putRole('over', grant({ functions: ['read'] }))
const newManager = () => admin.bringIn(newName('manager'), ['manager'])
const manager = await newManager()

describe('a user manager may not change higher rights', () => {
  const over = { roles: ['over'] }
  let before: readonly string[]
  const rights = () => Promise.all(['users', 'roles', 'api-keys', 'users/above/sessions'].map(textOf))
  const textOf = async (of: string) => (await admin.get(`/iam/${of}`)).text
  let parameters: Readonly<Record<string, string>>

  beforeAll(async () => {
    const above = await admin.bringIn('above', ['over'])
    await admin.bring('below', ['reader'])
    const { id } = (await admin.post('/iam/api-keys', { name: 'of an administrator', ...over })).json as { id: string }
    parameters = { SESSION: `${above.claims.sid}`, KEY: id }
    before = await rights()
  })

  test.each<[string, string, object?]>([
    ['PUT', '/roles/new', grant({ functions: ['read'] })],
    ['PUT', '/roles/manager', grant({ '*': ['*'] })],
    ['PUT', '/roles/over', { grants: [] }],
    ['DELETE', '/roles/over'],
    ['POST', '/users', { name: 'new', ...over }],
    ['PATCH', '/users/below', over],
    ['PATCH', '/users/above', { email: 'above@acme.example' }],
    ['PATCH', '/users/above', { state: 'disabled' }],
    ['POST', '/users/above/code'],
    ['DELETE', '/users/above/sessions'],
    ['DELETE', '/users/above/sessions/SESSION'],
    ['DELETE', '/users/above'],
    ['POST', '/api-keys', { name: 'k', ...over }],
    ['DELETE', '/api-keys/KEY'],
  ])('%s %s %j', async (method, at, body) => {
    const target = `/iam${at.replace(/[A-Z]+/, (name) => parameters[name] ?? name)}`
    expect(answerOf(await manager.ask(target, { method, body }))).toEqual([403, undefined])
    expect(await rights()).toEqual(before)
  })
})

test('a role that a user holds is not deleted', async () => {
  await admin.putRole('held', reading)
  await admin.bring('holder', ['held'])
  expect(answerOf(await admin.delete('/iam/roles/held'))).toEqual([409, { error: 'the role is in use' }])
  await admin.delete(path('holder'))
  expect((await admin.delete('/iam/roles/held')).status).toBe(204)
})

const refused = [401, { error: 'invalid or expired code' }]
const suspended = [401, { error: 'suspended: the creator of this API key may not grant its roles' }]
const signUpWith = (name: string, code: string) =>
  http.ask('/iam/signup', { method: 'POST', body: { name, code, password: 'known to the maker' } })

async function invite(by: Asker, roles = ['reader']): Promise<{ name: string; code: string }> {
  const name = newName('invited')
  return { name, code: codeIn(await by.post('/iam/users', { name, roles })) }
}

async function makeKey(by: Asker, roles: readonly string[]): Promise<{ id: string; key: string }> {
  return (await by.post('/iam/api-keys', { name: 'Reporting', roles })).json as { id: string; key: string }
}

describe('a code of a user manager', () => {
  test('is void once an administrator has given the user more rights, and valid again when that is undone', async () => {
    const { name, code } = await invite(manager)
    await admin.patch(path(name), { roles: ['admin'] })
    expect(answerOf(await signUpWith(name, code))).toEqual(refused)
    await admin.patch(path(name), { roles: ['reader'] })
    await signUp(http, { name, password: 'known to the maker' }, code)
  })

  test('is void once a role of the user gives more', async () => {
    await admin.putRole('widened', reading)
    const { name, code } = await invite(manager, ['widened'])
    await admin.putRole('widened', grant({ service: ['read'], device: ['delete'] }))
    expect(answerOf(await signUpWith(name, code))).toEqual(refused)
  })

  test('that resets password and second factor is void for a user who got more rights', async () => {
    const raised = await admin.bring(newName('raised'), ['reader'])
    const code = codeIn(await manager.post(`${path(raised.name)}/code`, { resetTwoFactor: true }))
    await admin.patch(path(raised.name), { roles: ['admin'] })
    expect(answerOf(await signUpWith(raised.name, code))).toEqual(refused)
    expect(await (await SignedInUser.signIn(http, raised)).isIn()).toBe(true)
  })

  test('is void while the manager lacks the rights, is disabled, or was deleted', async () => {
    const by = await newManager()
    const { name, code } = await invite(by)
    for (const change of [{ roles: [] }, { roles: ['manager'], state: 'disabled' }]) {
      await admin.patch(path(by.name), change)
      expect(answerOf(await signUpWith(name, code))).toEqual(refused)
    }
    await admin.delete(path(by.name))
    expect(answerOf(await signUpWith(name, code))).toEqual(refused)
    expect((await signUpWith(name, codeIn(await admin.post(`${path(name)}/code`)))).status).toBe(201)
  })
})

describe('an API key of a user manager', () => {
  test('is suspended, with its sockets and tickets, while a role of it gives more than its maker may give', async () => {
    await admin.putRole('of-key', reading)
    const { id, key } = await makeKey(manager, ['of-key'])
    const socket = await EventClient.with(http, await ticketOf(withKey(key))).opened()
    const ticket = await ticketOf(withKey(key))
    await admin.putRole('of-key', grant({ service: ['read'], functions: ['read'] }))
    expect(answerOf(await withKey(key).get('/iam/me'))).toEqual(suspended)
    expect((await socket.closed()).code).toBe(4401)
    expect(await EventClient.with(http, ticket).refused()).toBe(401)
    expect((await admin.get('/iam/api-keys')).json).toContainEqual(expect.objectContaining({ id, isSuspended: true }))
    await admin.putRole('of-key', reading)
    expect((await withKey(key).get('/iam/me')).status).toBe(200)
  })

  test('is suspended while its maker lacks its rights, and for good when the maker is deleted', async () => {
    const by = await newManager()
    const { key } = await makeKey(by, ['reader'])
    await admin.patch(path(by.name), { roles: [] })
    expect(answerOf(await withKey(key).get('/devices'))).toEqual(suspended)
    await admin.patch(path(by.name), { roles: ['reader'] })
    expect((await withKey(key).get('/devices')).status).toBe(200)
    await admin.delete(path(by.name))
    expect(answerOf(await withKey(key).get('/devices'))).toEqual(suspended)
  })

  test('creates only codes and keys within its own rights', async () => {
    const by = await newManager()
    const first = await makeKey(by, ['manager'])
    const { key } = await makeKey(withKey(first.key), ['manager'])
    expect(answerOf(await withKey(key).post('/iam/api-keys', { name: 'third', roles: [] }))).toEqual([
      409,
      { error: 'an API key that was created with an API key cannot create others' },
    ])
    const { name, code } = await invite(withKey(key))
    await admin.patch(path(by.name), { state: 'disabled' })
    expect(answerOf(await withKey(key).get('/iam/users'))).toEqual(suspended)
    expect(answerOf(await signUpWith(name, code))).toEqual(refused)
    await admin.patch(path(by.name), { state: 'active' })
    expect((await withKey(key).get('/iam/users')).status).toBe(200)
    await admin.delete(`/iam/api-keys/${first.id}`)
    expect(answerOf(await withKey(key).get('/iam/users'))).toEqual(suspended)
  })
})

test('codes and keys of an operator of all tenants end with the right to manage tenants', async () => {
  await admin.post('/iam/tenants', { tenantIdentifier: 'plant', name: 'Plant' })
  await admin.put('/iam/roles/reader?tenant=plant', reading)
  const rights = grant({ users: ['*'], service: ['read'] })
  await admin.putRole('operator-of-all', rights, grant({ tenants: ['*'] }))
  const by = await admin.bringIn('operator', ['operator-of-all'])
  const code = codeIn(await by.post('/iam/users?tenant=plant', { name: 'of plant', roles: ['reader'] }))
  const { json } = await by.post('/iam/api-keys?tenant=plant', { name: 'k', roles: ['reader'] })
  const { get } = withKey((json as { key: string }).key)
  expect((await get('/devices')).status).toBe(200)
  await admin.putRole('operator-of-all', rights)
  expect(answerOf(await signUpWith('of plant', code))).toEqual(refused)
  expect(answerOf(await get('/devices'))).toEqual(suspended)
})
