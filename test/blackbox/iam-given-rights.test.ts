import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import { codeIn, grant, newName, Person, startWithIdentity, told } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'

/** Codes and API keys give no more than their makers may give at the moment of use. Contract 2, Model. */
describe('rights that were given and widened later', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
    await admin.putRole('manager', grant({ users: ['*'], roles: ['read'], service: ['read'] }))
    await admin.putRole('reader', grant({ service: ['read'] }))
  })
  afterAll(() => server?.finish())

  const path = (name: string) => `/iam/users/${name}`
  const signUpWith = (name: string, code: string) =>
    server.ask('/iam/signup', { method: 'POST', body: { name, code, password: 'known to the maker' } })
  const refused = [401, { error: 'invalid or expired code' }]
  const manager = () => admin.bringIn(newName('manager'), ['manager'])
  const withKey = (key: string) => ({
    get: (target: string) => server.get(target, { 'x-api-key': key }),
    post: (target: string, body: object) => server.ask(target, { method: 'POST', body, headers: { 'x-api-key': key } }),
  })
  type Asker = Pick<Person, 'post'>
  const invite = async (by: Asker, roles = ['reader']) => {
    const name = newName('invited')
    return { name, code: codeIn(await by.post('/iam/users', { name, roles })) }
  }
  const makeKey = async (by: Asker, roles: readonly string[]) => {
    const { json } = await by.post('/iam/api-keys', { name: 'Reporting', roles })
    return json as { readonly id: string; readonly key: string }
  }
  const suspended = [401, { error: 'suspended: the maker of this API key may not give its roles' }]

  describe('a code of a user manager', () => {
    test('is void once an administrator has raised the user, and good again when that is undone', async () => {
      const { name, code } = await invite(await manager())
      await admin.patch(path(name), { roles: ['admin'] })
      expect(told(await signUpWith(name, code))).toEqual(refused)
      await admin.patch(path(name), { roles: ['reader'] })
      expect((await signUpWith(name, code)).status).toBe(201)
    })

    test('is void once a role of the user has widened', async () => {
      const role = newName('role')
      await admin.putRole(role, grant({ service: ['read'] }))
      const { name, code } = await invite(await manager(), [role])
      await admin.putRole(role, grant({ service: ['read'], device: ['delete'] }))
      expect(told(await signUpWith(name, code))).toEqual(refused)
    })

    test('that resets the password and the second factor does neither for a user who was raised', async () => {
      const who = await admin.bring(newName('raised'), ['reader'])
      const by = await manager()
      const code = codeIn(await by.post(`${path(who.name)}/code`, { resetTwoFactor: true }))
      await admin.patch(path(who.name), { roles: ['admin'] })
      expect(told(await signUpWith(who.name, code))).toEqual(refused)
      expect(await (await Person.signIn(server, who)).isIn()).toBe(true)
    })

    test('is void while its maker may not manage users, is disabled or is gone', async () => {
      const by = await manager()
      const { name, code } = await invite(by)
      await admin.patch(path(by.name), { roles: ['reader'] })
      expect(told(await signUpWith(name, code))).toEqual(refused)
      await admin.patch(path(by.name), { roles: ['manager'], state: 'disabled' })
      expect(told(await signUpWith(name, code))).toEqual(refused)
      await admin.delete(path(by.name))
      expect(told(await signUpWith(name, code))).toEqual(refused)
      expect(told(await signUpWith(name, codeIn(await admin.post(`${path(name)}/code`))))[0]).toBe(201)
    })

    test('of an administrator stays good when the user is raised', async () => {
      const { name, code } = await invite(admin)
      await admin.patch(path(name), { roles: ['admin'] })
      expect((await signUpWith(name, code)).status).toBe(201)
    })
  })

  describe('an API key of a user manager', () => {
    test('is suspended while one of its roles gives more than its maker may give', async () => {
      const role = newName('role')
      await admin.putRole(role, grant({ service: ['read'] }))
      const { id, key } = await makeKey(await manager(), [role])
      const socket = EventClient.with(server, await ticketOf(withKey(key)))
      await socket.opened()
      const ticket = await ticketOf(withKey(key))
      await admin.putRole(role, grant({ service: ['read'], users: ['*'], roles: ['*'] }))
      expect(told(await withKey(key).get('/iam/me'))).toEqual(suspended)
      expect((await socket.closed()).code).toBe(4401)
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
      const listed = (await admin.get('/iam/api-keys')).json as { id: string }[]
      expect(listed.find((entry) => entry.id === id)).toMatchObject({ isSuspended: true })
      await admin.putRole(role, grant({ service: ['read'] }))
      expect((await withKey(key).get('/iam/me')).status).toBe(200)
    })

    test('is suspended while its maker lacks what it gives, and for good when its maker is gone', async () => {
      const by = await manager()
      const { key } = await makeKey(by, ['reader'])
      await admin.patch(path(by.name), { roles: [] })
      expect(told(await withKey(key).get('/devices'))).toEqual(suspended)
      await admin.patch(path(by.name), { roles: ['reader'] })
      expect((await withKey(key).get('/devices')).status).toBe(200)
      await admin.delete(path(by.name))
      expect(told(await withKey(key).get('/devices'))).toEqual(suspended)
    })

    test('makes codes and keys that are worth no more than itself', async () => {
      const by = await manager()
      const first = await makeKey(by, ['manager'])
      const second = await makeKey(withKey(first.key), ['manager'])
      expect((await withKey(second.key).get('/iam/users')).status).toBe(200)
      expect(told(await withKey(second.key).post('/iam/api-keys', { name: 'third', roles: [] }))).toEqual([
        409,
        { error: 'an API key that was made by an API key makes no further ones' },
      ])
      const { name, code } = await invite(withKey(second.key))
      await admin.patch(path(by.name), { state: 'disabled' })
      expect(told(await withKey(second.key).get('/iam/users'))).toEqual(suspended)
      expect(told(await signUpWith(name, code))).toEqual(refused)
      await admin.patch(path(by.name), { state: 'active' })
      expect((await withKey(second.key).get('/iam/users')).status).toBe(200)
      await admin.delete(`/iam/api-keys/${first.id}`)
      expect(told(await withKey(second.key).get('/iam/users'))).toEqual(suspended)
    })
  })

  test('what an operator of all tenants gave in another one ends with the right to manage tenants', async () => {
    const tenant = newName('plant')
    await admin.post('/iam/tenants', { tenantIdentifier: tenant, name: tenant })
    const rights = grant({ users: ['*'], service: ['read'] })
    await admin.put(`/iam/roles/reader?tenant=${tenant}`, grant({ service: ['read'] }))
    await admin.putRole('operator-of-all', rights as object, grant({ tenants: ['*'] }))
    const by = await admin.bringIn(newName('operator'), ['operator-of-all'])
    const name = newName('invited')
    const code = codeIn(await by.post(`/iam/users?tenant=${tenant}`, { name, roles: ['reader'] }))
    const { json } = await by.post(`/iam/api-keys?tenant=${tenant}`, { name: 'k', roles: ['reader'] })
    const { key } = json as { key: string }
    expect((await withKey(key).get('/devices')).status).toBe(200)
    await admin.putRole('operator-of-all', rights as object)
    expect(told(await signUpWith(name, code))).toEqual(refused)
    expect(told(await withKey(key).get('/devices'))).toEqual(suspended)
  })

  test('survives a sudden death of the server', async () => {
    const by = await manager()
    const { name, code } = await invite(by)
    const { key } = await makeKey(by, ['reader'])
    await admin.patch(path(name), { roles: ['admin'] })
    await admin.patch(path(by.name), { state: 'disabled' })
    await server.kill()
    await server.startAgain()
    expect(told(await signUpWith(name, code))).toEqual(refused)
    expect(told(await withKey(key).get('/devices'))).toEqual(suspended)
  })
})
