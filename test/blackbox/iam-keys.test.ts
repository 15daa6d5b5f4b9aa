import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import { basicHeader, grant, Person, startWithIdentity, told, wrongFields } from '#test/blackbox/people'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import type { Answer, Ask, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** API keys, which act as users, and provisioning keys, which let devices in. Contract 2, 7. */
describe('keys', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  interface Made {
    readonly id: string
    readonly key: string
  }
  const madeIn = (answer: Answer) => {
    expect(told(answer)).toEqual([201, { id: expect.any(String), key: expect.any(String) }])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    return answer.json as Made
  }
  const withKey = (key: string) => ({
    get: (path: string) => server.get(path, { 'x-api-key': key }),
    ask: (path: string, ask: Ask) => server.ask(path, { ...ask, headers: { 'x-api-key': key } }),
  })

  describe('an API key', () => {
    const make = async (roles: readonly string[], more: object = {}) =>
      madeIn(await admin.post('/iam/api-keys', { name: 'Reporting', roles, ...more }))

    test('is shown once, listed without what is secret, and acts as a user with its roles', async () => {
      const answer = await admin.post('/iam/api-keys', { name: 'Reporting', roles: ['viewer'], expiresIn: 3600 })
      const { id, key } = madeIn(answer)
      expect(answer.headers.get('location')).toBe(`/api/v1/iam/api-keys/${id}`)
      expect(key).toMatch(new RegExp(`^default\\.${id}\\.[\\w-]{43}$`))
      const list = await admin.get('/iam/api-keys')
      expect(list.json).toContainEqual({
        id,
        name: 'Reporting',
        roles: ['viewer'],
        createdAt: expect.any(Number),
        expiresAt: expect.any(Number),
        resourceIdentifier: `crn#key:${id}`,
        createdBy: expect.stringMatching(/^crn#user:/),
        isSuspended: false,
      })
      expect(list.text).not.toContain(key.split('.')[2])
      const asker = withKey(key)
      expect(told(await asker.get('/iam/me'))).toMatchObject([
        200,
        { name: 'Reporting', tenant: 'default', roles: ['viewer'], grants: [expect.any(Object)] },
      ])
      expect((await asker.get('/devices?depth=2')).status).toBe(200)
      expect((await asker.get('/iam/users')).status).toBe(403)
      expect((await asker.ask('/devices', { method: 'POST', body: { deviceIdentifier: 'X' } })).status).toBe(403)
    })

    test('has tickets and sockets, which end with it', async () => {
      const { id, key } = await make(['viewer'])
      const socket = EventClient.with(server, await ticketOf(withKey(key)))
      await socket.opened()
      const direct = EventClient.with(server, undefined, {}, { 'x-api-key': key })
      await direct.opened()
      const ticket = await ticketOf(withKey(key))
      expect(told(await admin.delete(`/iam/api-keys/${id}`))).toEqual([204, undefined])
      expect(told(await withKey(key).get('/iam/me'))[0]).toBe(401)
      for (const client of [socket, direct]) expect((await client.closed()).code).toBe(4401)
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
      expect((await admin.delete(`/iam/api-keys/${id}`)).status).toBe(404)
    })

    test('is no person', async () => {
      const { get, ask } = withKey((await make(['admin'])).key)
      expect(told(await get('/auth/sessions'))).toEqual([403, undefined])
      const body = { current: 'correct horse battery', password: 'another password' }
      expect(told(await ask('/auth/password', { method: 'PUT', body }))).toEqual([403, undefined])
      // Nor a credential of the scheme that gives tokens.
      expect((await get('/iam/token')).status).toBe(401)
    })

    test('beside another credential is one too many', async () => {
      const { key } = await make(['viewer'])
      const answer = await server.get('/iam/me', { 'x-api-key': key, ...admin.headers })
      expect(told(answer)).toEqual([401, { error: 'more than one credential' }])
    })

    test.each([
      ['garbage', () => 'garbage'],
      ['another secret', (key: string) => `${key.slice(0, -3)}AAA`],
      ['another tenant', (key: string) => key.replace('default', 'other')],
      ['another id', (key: string) => key.replace(/\.(.)/, (_, first) => (first === 'A' ? '.B' : '.A'))],
      ['no tenant', (key: string) => key.slice('default.'.length)],
      ['more behind it', (key: string) => `${key}.more`],
    ])('%s: 401', async (_, spoil) => {
      const { key } = await make(['viewer'])
      const answer = await withKey(spoil(key)).get('/iam/me')
      expect([answer.status, answer.headers.has('www-authenticate')]).toEqual([401, true])
    })

    test('means what its roles mean now', async () => {
      await admin.putRole('key-role', grant({ service: ['read'] }))
      const { key } = await make(['key-role'])
      expect((await withKey(key).get('/devices')).status).toBe(200)
      await admin.putRole('key-role', grant({ meta: ['read'] }))
      expect((await withKey(key).get('/devices')).status).toBe(403)
    })

    test('survives a sudden death of the server, as does its end', async () => {
      const [kept, ended] = [await make(['viewer']), await make(['viewer'])]
      await admin.delete(`/iam/api-keys/${ended.id}`)
      await server.kill()
      await server.startAgain()
      expect((await withKey(kept.key).get('/iam/me')).status).toBe(200)
      expect((await withKey(ended.key).get('/iam/me')).status).toBe(401)
    })

    test.each([
      ['no name', { roles: [] }, 'name'],
      ['no roles', { name: 'k' }, 'roles'],
      ['a role that is not there', { name: 'k', roles: ['nosuch'] }, 'roles.0'],
      ['59 seconds', { name: 'k', roles: [], expiresIn: 59 }, 'expiresIn'],
      ['more', { name: 'k', roles: [], key: 'mine' }, 'key'],
    ])('%s: 400 that names it', async (_, body, at) => {
      expect(wrongFields(await admin.post('/iam/api-keys', body))).toContain(at)
    })
  })

  describe('a provisioning key', () => {
    const make = async (more: object = {}) =>
      madeIn(await admin.post('/iam/provisioning-keys', { name: 'Hall', ...more }))
    const post = (device: string, key: string, tenant = '') =>
      server.ask('/link', {
        method: 'POST',
        body: {
          deviceIdentifier: device,
          services: sensor,
          updates: [{ serviceIdentifier: climate, ...degrees(1) }],
        },
        headers: basicHeader({ name: `${tenant}*`, password: key }),
      })
    const entryOf = async (id: string) =>
      ((await admin.get('/iam/provisioning-keys')).json as { id: string }[]).find((entry) => entry.id === id)

    test('lets devices in, as many as it may, and counts them', async () => {
      const { id, key } = await make({ maxDevices: 2 })
      expect(key).toMatch(new RegExp(`^${id}\\.[\\w-]{43}$`))
      expect((await post('HALL-1', key)).status).toBe(204)
      expect((await post('HALL-2', key, 'default/')).status).toBe(204)
      expect((await post('HALL-3', key)).status).toBe(403)
      expect((await post('HALL-1', key)).status).toBe(204)
      expect(await entryOf(id)).toEqual({
        id,
        name: 'Hall',
        createdAt: expect.any(Number),
        maxDevices: 2,
        devices: 2,
        resourceIdentifier: `crn#key:${id}`,
      })
      await admin.delete('/devices/HALL-1')
      await until(async () => (await post('HALL-3', key)).status === 204, 'room for another')
      expect((await admin.get('/devices/HALL-1')).status).toBe(404)
    })

    test('ends when it is deleted, also over a sudden death', async () => {
      const [kept, ended] = [await make(), await make()]
      expect((await post('ENDS-1', ended.key)).status).toBe(204)
      expect(told(await admin.delete(`/iam/provisioning-keys/${ended.id}`))).toEqual([204, undefined])
      expect((await post('ENDS-1', ended.key)).status).toBe(401)
      await server.kill()
      await server.startAgain()
      expect((await post('ENDS-1', ended.key)).status).toBe(401)
      expect((await post('ENDS-2', kept.key)).status).toBe(204)
      expect(await entryOf(ended.id)).toBeUndefined()
      expect((await admin.delete(`/iam/provisioning-keys/${ended.id}`)).status).toBe(404)
    })

    test('is for any device: who may make some of them makes none of these', async () => {
      await admin.putRole('maker-of-some', grant({ device: ['*'] }, ['SOME-1']))
      const maker = await admin.bringIn('maker-of-some', ['maker-of-some'])
      const { id } = await make()
      expect((await maker.get('/iam/provisioning-keys')).status).toBe(200)
      expect((await maker.post('/iam/provisioning-keys', { name: 'Mine' })).status).toBe(403)
      expect((await maker.delete(`/iam/provisioning-keys/${id}`)).status).toBe(403)
    })

    test('opens nothing else', async () => {
      const { key } = await make()
      expect((await withKey(key).get('/iam/me')).status).toBe(401)
      expect((await server.get('/devices', basicHeader({ name: '*', password: key }))).status).toBe(401)
    })

    test.each([
      ['no name', {}, 'name'],
      ['no device at all', { name: 'k', maxDevices: 0 }, 'maxDevices'],
      ['half a device', { name: 'k', maxDevices: 1.5 }, 'maxDevices'],
      ['more', { name: 'k', roles: [] }, 'roles'],
    ])('%s: 400 that names it', async (_, body, at) => {
      expect(wrongFields(await admin.post('/iam/provisioning-keys', body))).toContain(at)
    })
  })

  test.each(['api-keys', 'provisioning-keys'])('%s: what can be no id is not there', async (kind) => {
    for (const id of ['x', 'a/b', '0OIl123456']) expect((await admin.delete(`/iam/${kind}/${id}`)).status).toBe(404)
  })
})
