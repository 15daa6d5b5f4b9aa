import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DpopClient } from '#test/blackbox/dpop-client'
import { EventClient } from '#test/blackbox/event-client'
import {
  codeIn,
  grant,
  newName,
  Person,
  readToken,
  report,
  startWithIdentity,
  told,
  wrongFields,
} from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Tenants: who may speak of them, under which hosts they are reached, how they go. Contract 2. */
describe('tenants', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity({ TRUST_PROXY: '1' })
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  const make = async (more: object = {}): Promise<string> => {
    const tenantIdentifier = newName('tenant')
    const made = await admin.post('/iam/tenants', { tenantIdentifier, name: 'Works', ...more })
    expect(made.status).toBe(201)
    return tenantIdentifier
  }
  const path = (tenant: string) => `/iam/tenants/${encodeURIComponent(tenant)}`
  /** Made again under its name, which is free when nothing of the old one is left. */
  const remake = (tenantIdentifier: string) =>
    until(
      async () => {
        const { status } = await admin.post('/iam/tenants', { tenantIdentifier, name: 'Anew' })
        expect([201, 409]).toContain(status)
        return status === 201
      },
      () => `${tenantIdentifier} to be swept`,
    )

  test('are made, read, changed and listed', async () => {
    const tenantIdentifier = newName('acme')
    const made = await admin.post('/iam/tenants', {
      tenantIdentifier,
      name: 'Acme Works',
      hosts: ['Devices.Acme.Example', 'devices.acme.example', 'acme.example:8443'],
    })
    const entry = {
      tenantIdentifier,
      name: 'Acme Works',
      hosts: ['devices.acme.example', 'acme.example:8443'],
      twoFactor: 'optional',
      basic: true,
      createdAt: expect.any(Number),
      resourceIdentifier: `crn#tenant:${tenantIdentifier}`,
    }
    expect(told(made)).toEqual([201, entry])
    expect(made.headers.get('location')).toBe(`/api/v1/iam/tenants/${tenantIdentifier}`)
    for (const name of [tenantIdentifier, `crn#tenant:${tenantIdentifier}`]) {
      expect(told(await admin.get(path(name)))).toEqual([200, entry])
    }
    const changed = await admin.patch(path(tenantIdentifier), { name: 'Acme', hosts: [], basic: false })
    const { hosts: _, ...without } = { ...entry, name: 'Acme', basic: false }
    expect(told(changed)).toEqual([200, without])
    expect(told(await admin.patch(path(tenantIdentifier), {}))).toEqual([200, without])
    const { json } = await admin.get('/iam/tenants')
    expect(json).toContainEqual(without)
    expect(json).toContainEqual(expect.objectContaining({ tenantIdentifier: 'default', basic: true }))
    const again = await admin.post('/iam/tenants', { tenantIdentifier, name: 'Other' })
    expect(told(again)).toEqual([409, { error: 'the tenant exists' }])
  })

  test.each([
    ['no name', { tenantIdentifier: 'x' }, 'name'],
    ['capitals', { tenantIdentifier: 'Acme', name: 'x' }, 'tenantIdentifier'],
    ['64 characters', { tenantIdentifier: 'x'.repeat(64), name: 'x' }, 'tenantIdentifier'],
    ['a host with a path', { tenantIdentifier: 'x', name: 'x', hosts: ['acme.example/api'] }, 'hosts.0'],
    ['33 hosts', { tenantIdentifier: 'x', name: 'x', hosts: Array.from({ length: 33 }, (_, i) => `h${i}`) }, 'hosts'],
    ['a policy that is none', { tenantIdentifier: 'x', name: 'x', twoFactor: 'never' }, 'twoFactor'],
    ['a half switch', { tenantIdentifier: 'x', name: 'x', basic: 'yes' }, 'basic'],
    ['more', { tenantIdentifier: 'x', name: 'x', state: 'active' }, 'state'],
  ])('%s: 400 that names it', async (_, body, at) => {
    expect(wrongFields(await admin.post('/iam/tenants', body))).toContain(at)
  })

  test('the one that always exists stays', async () => {
    expect(told(await admin.delete(path('default')))).toEqual([409, { error: expect.any(String) }])
    expect((await admin.delete(path('nowhere'))).status).toBe(404)
    expect((await admin.patch(path('nowhere'), {})).status).toBe(404)
  })

  test('an administrator of another one knows of none', async () => {
    const tenant = await make()
    const boss = await admin.bringIn(newName('boss'), ['admin'], {}, `?tenant=${tenant}`)
    expect(await boss.me()).toMatchObject({ tenant, roles: ['admin'] })
    for (const asked of ['/iam/tenants', path(tenant), path('default'), '/iam/signing-keys']) {
      expect(told(await boss.get(asked))).toEqual([403, undefined])
    }
    expect((await boss.post('/iam/tenants', { tenantIdentifier: 'mine', name: 'Mine' })).status).toBe(403)
    expect((await boss.delete(path('default'))).status).toBe(403)
    for (const of of ['default', tenant]) {
      expect((await boss.get(`/iam/users?tenant=${of}`)).status).toBe(403)
    }
    // Nor by a role that says so.
    expect((await boss.put('/iam/roles/operators', { grants: [grant({ tenants: ['*'] })] })).status).toBe(403)
    expect(((await boss.get('/iam/users')).json as unknown[]).length).toBe(1)
  })

  test('nothing of one is seen in another', async () => {
    const [one, other] = [await make(), await make()]
    const [here, there] = [
      await admin.bringIn(newName('here'), ['admin'], {}, `?tenant=${one}`),
      await admin.bringIn(newName('there'), ['admin'], {}, `?tenant=${other}`),
    ]
    const heard = await EventClient.open(server, { offset: 'now' }, there)
    const { secret } = (await here.post('/devices', { deviceIdentifier: 'SHARED-1' })).json as { secret: string }
    await report(server, { name: `${one}/SHARED-1`, password: secret }, 21)
    await here.put('/schemas/climate', { name: 'Climate', properties: {} })
    await here.putRole('ours', grant({ service: ['read'] }))
    expect(((await here.get('/devices')).json as unknown[]).length).toBe(1)
    for (const asked of ['/devices', '/services', '/meta', '/schemas']) {
      expect(told(await there.get(asked))).toEqual([200, []])
    }
    for (const asked of ['/devices/SHARED-1', '/meta/SHARED-1', '/schemas/climate', '/iam/roles/ours']) {
      expect((await there.get(asked)).status).toBe(404)
    }
    expect((await there.post('/devices', { deviceIdentifier: 'SHARED-1' })).status).toBe(201)
    const wrong = await server.ask('/link', {
      method: 'POST',
      body: { deviceIdentifier: 'SHARED-1', updates: [] },
      headers: { authorization: `Basic ${Buffer.from(`${other}/SHARED-1:${secret}`).toString('base64')}` },
    })
    expect(wrong.status).toBe(401)
    await until(() => heard.of('DEVICE_ADD').length > 0, 'DEVICE_ADD')
    expect(heard.events.map(({ type }) => type)).toEqual(['DEVICE_ADD'])
    await heard.close()
  })

  describe('hosts', () => {
    const forwarded = (host: string) => ({ 'x-forwarded-host': host })
    const basic = (who: { name: string; password: string }) => ({
      authorization: `Basic ${Buffer.from(`${who.name}:${who.password}`).toString('base64')}`,
    })

    test('restrict login and token to these; elsewhere it is as if he were not there', async () => {
      const tenant = await make({ hosts: ['acme.example', 'other.example:8443'] })
      const invited = await admin.post(`/iam/users?tenant=${tenant}`, { name: newName('hosted'), roles: ['viewer'] })
      const { name } = invited.json as { name: string }
      const who = { name, password: 'password of hosted' }
      await server.ask('/iam/signup', { method: 'POST', body: { ...who, code: codeIn(invited) } })
      const status = async (host: string) =>
        (await server.get('/iam/token', { ...basic(who), ...forwarded(host) })).status
      for (const host of ['acme.example', 'ACME.example', 'acme.example:443', 'other.example:8443']) {
        expect([host, await status(host)]).toEqual([host, 200])
      }
      for (const host of ['other.example', 'acme.example.evil', 'evil.acme.example', 'localhost']) {
        expect([host, await status(host)]).toEqual([host, 401])
      }
      expect(told(await readToken(server, who))).toEqual([401, { error: 'invalid credentials' }])
      const client = await DpopClient.make(server)
      expect(told(await client.logIn(who))).toEqual([401, { error: 'invalid credentials' }])
      const good = await server.get('/iam/token?scope=offline', { ...basic(who), ...forwarded('acme.example') })
      const { refreshToken, token } = good.json as { refreshToken: string; token: string }
      const refresh = (host: string) =>
        server.ask('/iam/token?grant_type=refresh_token', {
          method: 'POST',
          body: { refreshToken },
          headers: forwarded(host),
        })
      expect((await refresh('elsewhere.example')).status).toBe(401)
      expect((await refresh('acme.example')).status).toBe(200)
      // What he has is good under every name of the server.
      expect((await server.get('/iam/me', { authorization: `Bearer ${token}` })).status).toBe(200)
    })
  })

  describe('one that is deleted', () => {
    test('is unreachable at once: tokens, keys, sockets, tickets, devices', async () => {
      const tenant = await make()
      const boss = await admin.bringIn(newName('boss'), ['admin'], {}, `?tenant=${tenant}`)
      const { key } = (await boss.post('/iam/api-keys', { name: 'k', roles: ['viewer'] })).json as { key: string }
      const { secret } = (await boss.post('/devices', { deviceIdentifier: 'GONE-1' })).json as { secret: string }
      await report(server, { name: `${tenant}/GONE-1`, password: secret }, 1)
      const socket = await EventClient.open(server, { offset: 'now' }, boss)
      const { ticket } = (await boss.get('/events/ticket')).json as { ticket: string }
      expect(told(await admin.delete(path(tenant)))).toEqual([204, undefined])
      expect((await boss.get('/iam/me')).status).toBe(401)
      expect((await server.get('/iam/me', { 'x-api-key': key })).status).toBe(401)
      expect((await readToken(server, boss)).status).toBe(401)
      expect((await socket.closed()).code).toBe(4401)
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
      expect((await admin.get(path(tenant))).status).toBe(404)
      expect((await admin.get(`/iam/users?tenant=${tenant}`)).status).toBe(404)
      expect((await admin.get('/iam/tenants')).text).not.toContain(`"${tenant}"`)
      await remake(tenant)
    })

    test('leaves nothing to the next of its name', async () => {
      const tenant = await make()
      const name = newName('boss')
      const boss = await admin.bringIn(name, ['admin'], { email: 'boss@acme.example' }, `?tenant=${tenant}`)
      await boss.putRole('ours', grant({ service: ['read'] }))
      await boss.post('/devices', { deviceIdentifier: 'LEFT-1', meta: { room: 1 } })
      await boss.put('/schemas/left', { name: 'Left', properties: {} })
      const before = await EventClient.open(server, { offset: 'now' }, boss)
      await boss.patch('/meta/LEFT-1', { room: 2 })
      const position = await before.ping()
      await admin.delete(path(tenant))
      await remake(tenant)
      const next = await admin.bringIn(name, ['admin'], { email: 'boss@acme.example' }, `?tenant=${tenant}`)
      for (const asked of ['/devices', '/meta', '/schemas']) expect(told(await next.get(asked))).toEqual([200, []])
      for (const asked of ['/iam/roles/ours', '/devices/LEFT-1']) expect((await next.get(asked)).status).toBe(404)
      expect(told(await next.get('/iam/users'))).toMatchObject([200, [{ name }]])
      expect(await boss.isIn()).toBe(false)
      // A position in the stream of the old one fits no other.
      const resumed = await EventClient.open(server, { ...position }, next)
      expect(await resumed.stream()).toMatchObject({ recovered: false })
      await resumed.close()
    })

    test('is swept to the end, however often the server dies meanwhile', async () => {
      const tenant = await make()
      const boss = await admin.bringIn(newName('boss'), ['admin'], {}, `?tenant=${tenant}`)
      for (let batch = 0; batch < 4; batch++) {
        const devices = Array.from({ length: 50 }, (_, index) => `SWEPT-${batch}-${index}`)
        const made = devices.map((deviceIdentifier) => boss.post('/devices', { deviceIdentifier, meta: { batch } }))
        expect((await Promise.all(made)).every(({ status }) => status === 201)).toBe(true)
      }
      expect((await admin.delete(path(tenant))).status).toBe(204)
      for (let times = 0; times < 3; times++) {
        await server.kill()
        await server.startAgain()
        expect((await admin.get(path(tenant))).status).toBe(404)
      }
      await remake(tenant)
      const next = await admin.bringIn(newName('boss'), ['admin'], {}, `?tenant=${tenant}`)
      expect(told(await next.get('/devices'))).toEqual([200, []])
    })
  })

  test('keys to sign with are rotated, and nobody is signed out', async () => {
    const listed = async () => (await admin.get('/iam/signing-keys')).json as { kid: string; retiresAt?: number }[]
    const [first] = await listed()
    // The server's first key may be younger than a minute.
    const rotated = await admin.post('/iam/signing-keys')
    expect([201, 409]).toContain(rotated.status)
    if (rotated.status === 201) {
      expect(rotated.json).toEqual({ kid: expect.any(String), createdAt: expect.any(Number) })
      expect((await listed()).find(({ kid }) => kid === first?.kid)).toMatchObject({ retiresAt: expect.any(Number) })
    }
    expect(told(await admin.post('/iam/signing-keys'))).toEqual([409, { error: expect.any(String) }])
    expect(await admin.isIn()).toBe(true)
    expect((await listed()).filter(({ retiresAt }) => retiresAt === undefined)).toHaveLength(1)
  })
})
