import { readdirSync } from 'node:fs'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { DpopClient, type SecondFactorNeeded } from '#test/blackbox/dpop-client'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import {
  answerOf,
  basicHeader,
  codeIn,
  grant,
  Person,
  readToken,
  report,
  root,
  signUp,
  startWithIdentity,
} from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** A walk through contract 2 with clients of others and a real process; test/access and test/routes show each rule. */
describe('identity on', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity({ RATE_LIMITS: 'on', TRUST_PROXY: '1' })
    admin = await Person.signIn(server)
    for (const [name, value] of [
      ['NEAR', 1],
      ['FAR', 2],
    ] as const) {
      const { secret } = (await admin.post('/devices', { deviceIdentifier: name })).json as { secret: string }
      await report(server, { name, password: secret }, value)
    }
  })
  afterAll(() => server?.finish())

  const over = [401, { error: 'session over' }]
  const restart = async () => {
    await server.kill()
    await server.startAgain()
  }

  /** The code of an application of before, word for word, so that no application has to change. */
  test('a client of before works unchanged', async () => {
    const url = server.base
    class TokenHandler {
      token = ''
      refreshToken = ''

      async login(username: string, password: string) {
        const credentials = Buffer.from(`${username}:${password}`).toString('base64')
        const response = await fetch(`${url}/iam/token?scope=offline`, {
          method: 'GET',
          headers: { Authorization: `Basic ${credentials}` },
        })
        const { token, refreshToken } = (await response.json()) as { token: string; refreshToken: string }
        this.token = token
        this.refreshToken = refreshToken
      }

      async refresh() {
        const response = await fetch(`${url}/iam/token?grant_type=refresh_token&scope=offline`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ refreshToken: this.refreshToken }),
        })
        if (response.status === 401) throw new Error('log in again')
        const { token, refreshToken } = (await response.json()) as { token: string; refreshToken: string }
        this.token = token
        this.refreshToken = refreshToken
      }

      async fetch(path: string): Promise<Response> {
        const once = () => fetch(`${url}${path}`, { headers: { Authorization: `Bearer ${this.token}` } })
        const response = await once()
        if (response.status !== 401) return response
        await this.refresh()
        return once()
      }
    }

    const handler = new TokenHandler()
    await handler.login(root.name, root.password)
    const before = handler.refreshToken
    // As if the hour were over.
    handler.token = `${handler.token}x`
    const response = await handler.fetch('/events/ticket')
    expect(handler.refreshToken).not.toBe(before)
    const { ticket } = (await response.json()) as { ticket: string }
    const socket = new WebSocket(`${server.ws}/events/${ticket}`)
    const heard: unknown[] = []
    socket.on('message', (data) => heard.push(JSON.parse(String(data))))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const made = await admin.post('/devices', { deviceIdentifier: 'CLIENT-1' })
    const { secret } = made.json as { secret: string }
    await report(server, { name: 'CLIENT-1', password: secret }, 21.5)
    const online = { type: 'META_STATUS_CHANGE', deviceIdentifier: 'CLIENT-1', status: 'online' }
    await expect.poll(() => heard).toContainEqual(expect.objectContaining(online))
    for (const path of ['/devices?depth=2&raw=true', '/services?depth=2', '/meta?depth=1', '/schemas?depth=1']) {
      expect((await handler.fetch(path)).status).toBe(200)
    }
    socket.close()
  })

  test('the DPoP scheme: nonce, login, requests, sockets, refresh, sign-out', async () => {
    const client = await DpopClient.signIn(server)
    const { accessToken, refreshToken } = client.signedIn
    for (const place of ['/.well-known/jwks.json', '/api/v1/.well-known/jwks.json']) {
      const keys = createRemoteJWKSet(new URL(place, server.base))
      const { payload } = await jwtVerify(accessToken, keys, { typ: 'at+jwt', issuer: 'device-data-backend' })
      expect(payload).toMatchObject({ cnf: { jkt: expect.stringMatching(/^[\w-]{43}$/) }, roles: ['admin'] })
    }
    const headers = await client.headersFor('GET', '/events', accessToken)
    const direct = await EventClient.with(server, undefined, {}, headers).opened()
    expect(await EventClient.with(server, undefined, {}, headers).refused()).toBe(401)
    const ticketed = await EventClient.with(server, await ticketOf(client)).opened()
    expect((await client.refresh()).status).toBe(200)
    expect(client.signedIn.refreshToken).not.toBe(refreshToken)
    expect(await client.isIn()).toBe(true)
    const ticket = await ticketOf(client)
    expect((await client.post('/auth/logout')).status).toBe(204)
    for (const socket of [direct, ticketed])
      expect(await socket.closed()).toEqual({ code: 4401, reason: 'session over' })
    expect(await EventClient.with(server, ticket).refused()).toBe(401)
    expect(answerOf(await client.get('/iam/me'))).toEqual(over)
    expect(answerOf(await client.refresh())).toEqual([401, { error: 'invalid refresh token' }])
    // One nonce was enough for all of it.
    expect(client.challenges).toBe(1)
  })

  test('oauth4webapi finds the nonce by itself, and reads the reason of a refusal', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true } as const
    const keys = await oauth.generateKeyPair('ES256')
    // It has no name for our login: that proof is made by hand, with its key.
    const login = new DpopClient(server, keys)
    expect((await login.logIn(root)).status).toBe(200)
    const [DPoP, url] = [oauth.DPoP({}, keys), new URL(`${server.base}/iam/me?any=query`)]
    const get = (token: string) =>
      oauth.protectedResourceRequest(token, 'GET', url, undefined, undefined, { DPoP, ...insecure })
    const { accessToken } = login.signedIn
    const challenged: unknown = await get(accessToken).catch((thrown: unknown) => thrown)
    expect(oauth.isDPoPNonceError(challenged)).toBe(true)
    for (let time = 0; time < 2; time++) {
      expect(await (await get(accessToken)).json()).toMatchObject({ name: 'root' })
    }
    const refused: unknown = await get('garbage').catch((thrown: unknown) => thrown)
    expect(refused).toBeInstanceOf(oauth.WWWAuthenticateChallengeError)
    expect((refused as oauth.WWWAuthenticateChallengeError).cause).toMatchObject([
      { scheme: 'dpop', parameters: { error: 'invalid_token', algs: 'ES256' } },
    ])
  })

  test('one-time codes of an app, and a reset of them', async () => {
    const base = '/auth/2fa'
    const who = await admin.bring('coded', ['viewer'])
    const elsewhere = await Person.signIn(server, who)
    const client = await DpopClient.signIn(server, who)
    const enrolled = await client.post(`${base}/totp/enroll`, { password: who.password })
    const { secret } = enrolled.json as { secret: string }
    const codeOf = (steps: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })
    const activated = await client.post(`${base}/totp/activate`, { code: codeOf(-1), password: who.password })
    expect(activated.status).toBe(200)
    expect([await client.isIn(), await elsewhere.isIn()]).toEqual([true, false])
    expect(answerOf(await readToken(server, who))).toEqual([401, { error: '2fa_required' }])

    const { recoveryCodes } = activated.json as { recoveryCodes: readonly string[] }
    for (const [path, code] of [
      ['/totp', codeOf(0)],
      ['/recovery', recoveryCodes[0]],
    ]) {
      const need = await client.logIn(who)
      expect(need.json).toMatchObject({ expiresIn: 300, methods: ['totp', 'recovery'], enroll: false })
      const body = { token: (need.json as SecondFactorNeeded).token, code }
      const done = client.keep(await client.prove(`${base}${path}`, { method: 'POST', body }))
      expect([done.status, await client.isIn()]).toEqual([200, true])
    }

    const reset = await admin.post(`/iam/users/${who.name}/code`, { resetTwoFactor: true })
    await signUp(server, { name: who.name, password: 'another password' }, codeIn(reset))
    expect((await readToken(server, { name: who.name, password: 'another password' })).status).toBe(200)
  })

  test('an edit of a role reaches a token and a socket within a second', async () => {
    const near = (...devices: string[]) => grant({ service: ['read'], meta: ['read'] }, devices)
    await admin.putRole('near', near('NEAR'))
    const person = await admin.bringIn('near', ['near'])
    const socket = await EventClient.open(server, { offset: 'now' }, person)
    const position = await socket.ping()
    const before = performance.now()
    await admin.putRole('near', near('FAR'))
    await until(() => socket.controls.some(({ type }) => type === 'RESYNC'), 'RESYNC')
    expect(performance.now() - before).toBeLessThan(1_000)
    expect((await person.get('/devices')).json).toMatchObject([{ deviceIdentifier: 'FAR' }])
    expect((await person.get('/devices/NEAR')).status).toBe(404)
    for (const device of ['NEAR', 'FAR']) await admin.patch(`/meta/${device}`, { noted: 1 })
    await until(() => socket.of('META_SET').length > 0, 'META_SET')
    expect(socket.of('META_SET')).toMatchObject([{ deviceIdentifier: 'FAR' }])
    // A position from before the edit is not recovered.
    const resumed = await EventClient.open(server, { ...position }, person)
    expect(await resumed.stream()).toMatchObject({ recovered: false })
    await resumed.close()
    await admin.putRole('near', grant({ users: ['read'] }))
    expect((await socket.closed()).code).toBe(4403)
    expect(await person.isIn()).toBe(true)
  })

  test('tenants see nothing of each other, and the end of one is swept though the server dies meanwhile', async () => {
    const bosses = ['one', 'two'].map(async (tenantIdentifier) => {
      await admin.post('/iam/tenants', { tenantIdentifier, name: tenantIdentifier })
      return admin.bringIn(`boss of ${tenantIdentifier}`, ['admin'], {}, `?tenant=${tenantIdentifier}`)
    })
    const [here, there] = (await Promise.all(bosses)) as [Person, Person]
    const heard = await EventClient.open(server, { offset: 'now' }, there)
    const { secret } = (await here.post('/devices', { deviceIdentifier: 'SHARED' })).json as { secret: string }
    await report(server, { name: 'one/SHARED', password: secret }, 21)
    expect(answerOf(await there.get('/devices'))).toEqual([200, []])
    expect((await there.post('/devices', { deviceIdentifier: 'SHARED' })).status).toBe(201)
    await until(() => heard.of('DEVICE_ADD').length > 0, 'DEVICE_ADD')
    expect(heard.events.map(({ type }) => type)).toEqual(['DEVICE_ADD'])
    await heard.close()

    const made = Array.from({ length: 100 }, (_, index) =>
      here.post('/devices', { deviceIdentifier: `SWEPT-${index}` }),
    )
    await Promise.all(made)
    const socket = await EventClient.open(server, { offset: 'now' }, here)
    const position = await socket.ping()
    expect(answerOf(await admin.delete('/iam/tenants/one'))).toEqual([204, undefined])
    expect((await socket.closed()).code).toBe(4401)
    for (let times = 0; times < 2; times++) {
      await restart()
      expect((await admin.get('/iam/tenants/one')).status).toBe(404)
    }
    await until(async () => {
      const { status } = await admin.post('/iam/tenants', { tenantIdentifier: 'one', name: 'New' })
      expect([201, 409]).toContain(status)
      return status === 201
    }, 'the tenant to be swept')
    const next = await admin.bringIn('boss of one', ['admin'], {}, '?tenant=one')
    expect(answerOf(await next.get('/devices'))).toEqual([200, []])
    const resumed = await EventClient.open(server, { ...position }, next)
    expect(await resumed.stream()).toMatchObject({ recovered: false })
    await resumed.close()
  })

  test('sessions, keys, codes and roles, and their ends, survive a sudden death of the server', async () => {
    await admin.putRole('lasting', grant({ service: ['read'] }))
    const who = await admin.bring('kept', ['lasting'])
    const [kept, ended] = [await Person.signIn(server, who), await Person.signIn(server, who)]
    const dpop = await DpopClient.signIn(server, who)
    const used = dpop.signedIn.refreshToken
    await dpop.refresh()
    const post = async (path: string, body: object) =>
      (await admin.post(path, body)).json as { id: string; key: string; code: string }
    const keys = [
      await post('/iam/api-keys', { name: 'kept', roles: ['viewer'] }),
      await post('/iam/api-keys', { name: 'ended', roles: ['viewer'] }),
    ] as const
    const gateways = [
      await post('/iam/provisioning-keys', { name: 'kept', maxDevices: 1 }),
      await post('/iam/provisioning-keys', { name: 'ended' }),
    ] as const
    const { code } = await post('/iam/users', { name: 'invited', roles: ['viewer'] })
    await ended.post('/auth/logout')
    await admin.delete(`/iam/api-keys/${keys[1].id}`)
    await admin.delete(`/iam/provisioning-keys/${gateways[1].id}`)
    await admin.putRole('lasting', grant({ meta: ['read'] }))
    await restart()

    expect([await kept.isIn(), answerOf(await ended.get('/iam/me'))]).toEqual([true, over])
    const statusOf = async (key: string) => (await server.get('/iam/me', { 'x-api-key': key })).status
    expect([await statusOf(keys[0].key), await statusOf(keys[1].key)]).toEqual([200, 401])
    const link = async (device: string, key: string) => {
      const body = { deviceIdentifier: device, services: [], updates: [] }
      const headers = basicHeader({ name: '*', password: key })
      return (await server.ask('/link', { method: 'POST', body, headers })).status
    }
    const { key } = gateways[0]
    expect([await link('HALL-1', key), await link('HALL-2', key), await link('HALL-1', key)]).toEqual([204, 403, 204])
    expect(await link('HALL-3', gateways[1].key)).toBe(401)
    await signUp(server, { name: 'invited', password: 'password of invited' }, code)
    expect([(await kept.get('/devices')).status, (await kept.get('/meta')).status]).toEqual([403, 200])
    // The nonce of before is worth nothing: the client is told another one.
    expect([await dpop.isIn(), dpop.challenges]).toEqual([true, 2])
    // Within ten seconds the same successor comes again, though the server is another process.
    const { refreshToken } = dpop.signedIn
    expect((await dpop.refresh(used)).status).toBe(200)
    expect(dpop.signedIn.refreshToken).toBe(refreshToken)
  })

  test('wrong passwords hold up their address, as the trusted proxy names it', async () => {
    const guess = (address: string, password: string, claimed = '203.0.113.9') =>
      server.get('/iam/token', {
        ...basicHeader({ name: root.name, password }),
        'x-forwarded-for': `${claimed}, ${address}`,
      })
    for (let time = 0; time < 10; time++) {
      expect((await guess('192.0.2.1', 'wrong horse battery', `198.51.100.${time}`)).status).toBe(401)
    }
    expect(answerOf(await guess('192.0.2.1', root.password))).toEqual([429, { error: 'too many attempts' }])
    expect((await guess('192.0.2.2', root.password)).status).toBe(200)
  })
})

describe('IAM=off', () => {
  let server: StartedServer

  beforeAll(async () => {
    server = await StartedServer.start({ IAM: 'off' })
  })
  afterAll(() => server?.finish())

  test.each<[string, Record<string, string>]>([
    ['no token', {}],
    ['a token that is none', { authorization: 'Bearer garbage' }],
    ['a DPoP token without a proof', { authorization: 'DPoP garbage' }],
    ['two credentials', { authorization: 'Bearer garbage', 'x-api-key': 'garbage' }],
  ])('with %s a caller is anonymous and may do everything', async (_, headers) => {
    const grants = [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }]
    const me = { name: 'anonymous', tenant: 'default', roles: [], grants }
    expect(answerOf(await server.get('/iam/me', headers))).toEqual([200, me])
    expect((await server.get('/devices', headers)).status).toBe(200)
  })

  test.each(['/iam/users', '/iam/token', '/iam/nothing/of/the/kind', '/auth/login', '/auth', '/iam'])(
    '%s is not there, with the reason',
    async (path) => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        expect(answerOf(await server.ask(path, { method }))).toEqual([404, { error: 'IAM is off' }])
      }
    },
  )

  test.each(['/iamb', '/author', '/authx/login'])('%s is not there', async (path) => {
    expect(answerOf(await server.get(path))).toEqual([404, { error: 'Not Found' }])
  })

  test('there are no keys to verify with and no key file, and a warning', async () => {
    for (const place of ['/.well-known/jwks.json', '/api/v1/.well-known/jwks.json']) {
      expect(await (await fetch(new URL(place, server.base))).json()).toEqual({ keys: [] })
    }
    expect(readdirSync(server.dataFolder)).not.toContain('identity.key')
    expect(server.run.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringMatching(/IAM is off/i) }),
    )
  })

  test('links and sockets open without credentials', async () => {
    const body = { deviceIdentifier: 'OPEN-1', services: [], updates: [] }
    expect((await server.ask('/link', { method: 'POST', body })).status).toBe(204)
    const direct = EventClient.with(server, undefined, {}, { authorization: 'Bearer garbage' })
    for (const socket of [await EventClient.open(server), await direct.opened()]) await socket.close()
  })

  test('a page of another origin is refused', async () => {
    for (const origin of ['https://evil.example', 'null', `http://evil.example:${server.port}`]) {
      const answer = await server.ask('/devices', { headers: { origin } })
      expect([answer.status, answer.text]).toEqual([403, ''])
    }
  })
})
