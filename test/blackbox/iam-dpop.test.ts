import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DpopClient, type Pair } from '#test/blackbox/dpop-client'
import { EventClient } from '#test/blackbox/event-client'
import { claimsOf, headOf, Person, root, startWithIdentity, told, wrongFields } from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

/** The DPoP scheme, by clients that others wrote. §5.2, contract 2, RFC 9449. */
describe('the DPoP scheme', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  const pairIn = (answer: Answer) => answer.json as Pair
  const challenge = 'DPoP error="invalid_dpop_proof", algs="ES256"'

  describe('a life', () => {
    test('nonce, login, requests, refresh, sign-out', async () => {
      const client = await DpopClient.make(server)
      const login = await client.logIn(root)
      expect(told(login)).toEqual([200, { accessToken: expect.any(String), refreshToken: expect.any(String) }])
      expect([client.challenges, login.headers.get('cache-control')]).toEqual([1, 'no-store'])
      expect(told(await client.get('/iam/me'))).toEqual([
        200,
        { name: 'root', tenant: 'default', roles: ['admin'], grants: [expect.any(Object)], twoFactor: [] },
      ])
      expect((await client.get('/devices?depth=2')).status).toBe(200)
      const before = client.signedIn
      const refreshed = await client.refresh()
      expect([refreshed.status, refreshed.headers.get('cache-control')]).toEqual([200, 'no-store'])
      expect(pairIn(refreshed)).not.toEqual(before)
      expect(await client.isIn()).toBe(true)
      expect((await client.post('/auth/logout')).status).toBe(204)
      expect(told(await client.get('/iam/me'))).toEqual([401, { error: 'session over' }])
      expect(told(await client.refresh())).toEqual([401, { error: 'invalid refresh token' }])
      // One nonce was enough for all of it.
      expect(client.challenges).toBe(1)
    })

    test('its access token says whose key it is, for ten minutes, and anybody can verify it', async () => {
      const { accessToken, refreshToken } = (await DpopClient.signIn(server)).signedIn
      const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', server.base))
      const { payload } = await jwtVerify(accessToken, keys, { typ: 'at+jwt' })
      expect(payload).toMatchObject({ cnf: { jkt: expect.stringMatching(/^[\w-]{43}$/) }, roles: ['admin'] })
      expect(Number(payload.exp) - Number(payload.iat)).toBe(600)
      expect(headOf(accessToken)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
      expect(refreshToken.split('.')).toEqual([
        'default',
        claimsOf(accessToken).sid,
        '1',
        expect.stringMatching(/^[\w-]{43}$/),
      ])
    })

    test('its socket opens with a proof, or with a ticket', async () => {
      const client = await DpopClient.signIn(server)
      const headers = await client.headersFor('GET', '/events', client.signedIn.accessToken)
      const direct = EventClient.with(server, undefined, {}, headers)
      await direct.opened()
      const again = EventClient.with(server, undefined, {}, headers)
      expect(await again.refused()).toBe(401)
      const { ticket } = (await client.get('/events/ticket')).json as { ticket: string }
      const ticketed = EventClient.with(server, ticket)
      await ticketed.opened()
      await client.post('/auth/logout')
      for (const socket of [direct, ticketed]) expect((await socket.closed()).code).toBe(4401)
    })
  })

  describe('signing in', () => {
    test.each([
      ['a wrong password', { email: 'root', password: 'wrong horse battery' }],
      ['nobody', { email: 'nobody@nowhere.example', password: 'wrong horse battery' }],
      ['a tenant that is not there', { email: root.name, password: root.password, tenantIdentifier: 'nowhere' }],
      ['somebody who never signed up', { email: 'invited', password: 'wrong horse battery' }],
    ])('%s: all alike', async (_, body) => {
      await admin.post('/iam/users', { name: 'invited', roles: [] })
      const client = await DpopClient.make(server)
      const answer = await client.prove('/auth/login', { method: 'POST', body })
      expect(told(answer)).toEqual([401, { error: 'invalid credentials' }])
    })

    test.each<[string, unknown, string]>([
      ['no body', undefined, ''],
      ['no password', { email: 'root' }, 'password'],
      ['no email', { password: 'x' }, 'email'],
      ['more', { email: 'root', password: 'x', remember: true }, 'remember'],
      ['an email that is a list', { email: ['root'], password: 'x' }, 'email'],
      ['a malformed tenant', { email: 'root', password: 'x', tenantIdentifier: 'No Tenant' }, 'tenantIdentifier'],
    ])('%s: 400 that names it', async (_, body, path) => {
      const client = await DpopClient.make(server)
      const answer = await client.prove('/auth/login', { method: 'POST', body })
      expect(wrongFields(answer)).toContain(path)
    })

    test('by name or address, whatever the case', async () => {
      const who = await admin.bring('Casey', ['viewer'], { email: 'Casey@Acme.Example' })
      for (const name of ['casey', 'CASEY', 'casey@acme.example', 'CASEY@ACME.EXAMPLE']) {
        const client = await DpopClient.signIn(server, { ...who, name })
        expect(told(await client.get('/iam/me'))).toMatchObject([200, { name: 'Casey' }])
      }
    })

    test('one address in several tenants: the password decides, and where it does not, the client', async () => {
      const email = 'many@acme.example'
      for (const tenant of ['first', 'second', 'third']) {
        const name = `Works of ${tenant}`
        expect((await admin.post('/iam/tenants', { tenantIdentifier: tenant, name })).status).toBe(201)
      }
      const invite = async (tenant: string, password: string) => {
        const name = `many of ${tenant}`
        const invited = await admin.post(`/iam/users?tenant=${tenant}`, { name, email, roles: ['viewer'] })
        const { code } = invited.json as { code: string }
        const answer = await server.ask('/iam/signup', { method: 'POST', body: { name, code, password } })
        expect(answer.status).toBe(201)
      }
      await invite('first', 'the same password')
      await invite('second', 'the same password')
      await invite('third', 'another password')
      const tenantOf = async (client: DpopClient) => ((await client.get('/iam/me')).json as { tenant: string }).tenant

      const client = await DpopClient.make(server)
      expect(told(await client.logIn({ name: email, password: 'the same password' }))).toEqual([
        409,
        {
          error: 'TENANT_CONFLICT_ERROR',
          tenants: ['first', 'second'].map((tenant) => ({
            tenantIdentifier: tenant,
            name: `Works of ${tenant}`,
            resourceIdentifier: `crn#tenant:${tenant}`,
          })),
        },
      ])
      for (const tenantIdentifier of ['second', 'crn#tenant:second']) {
        const chosen = await DpopClient.signIn(
          server,
          { name: email, password: 'the same password' },
          { tenantIdentifier },
        )
        expect(await tenantOf(chosen)).toBe('second')
      }
      expect(await tenantOf(await DpopClient.signIn(server, { name: email, password: 'another password' }))).toBe(
        'third',
      )
      const wrong = await client.logIn({ name: email, password: 'another password' }, { tenantIdentifier: 'second' })
      expect(told(wrong)).toEqual([401, { error: 'invalid credentials' }])
    })
  })

  describe('every POST below /auth needs a proof', () => {
    const posts: [string, unknown][] = [
      ['/auth/login', { email: 'root', password: root.password }],
      ['/auth/token', { refreshToken: 'x' }],
      ['/auth/logout', undefined],
      ['/auth/2fa/totp', { token: 'x', code: '123456' }],
      ['/auth/2fa/recovery', { token: 'x', code: 'ABCD' }],
      ['/auth/2fa/totp/enroll', { token: 'x' }],
      ['/auth/2fa/totp/activate', { token: 'x', code: '123456' }],
      ['/auth/2fa/webauthn/register/options', { token: 'x' }],
      ['/auth/2fa/webauthn/authenticate/options', { token: 'x' }],
    ]
    test.each(posts)('%s', async (path, body) => {
      const answer = await server.ask(path, { method: 'POST', body })
      expect(told(answer)).toEqual([401, { error: 'missing proof' }])
      expect(answer.headers.get('www-authenticate')).toBe(challenge)
      expect(answer.headers.get('dpop-nonce')).toMatch(/^[\w-]{22}$/)
      const empty = await server.ask(path, { method: 'POST', body, headers: { dpop: '' } })
      expect(told(empty)).toEqual([401, { error: 'missing proof' }])
    })

    test.each(posts.filter(([path]) => path.startsWith('/auth/2fa/')))(
      '%s, also from a Basic session',
      async (path, body) => {
        const answer = await admin.post(path, body)
        expect(told(answer)).toEqual([401, { error: 'missing proof' }])
        expect(answer.headers.get('dpop-nonce')).toMatch(/^[\w-]{22}$/)
      },
    )

    test('a Basic session signs out without: there is no key to prove', async () => {
      const person = await Person.signIn(server)
      expect((await person.post('/auth/logout')).status).toBe(204)
      expect(await person.isIn()).toBe(false)
    })
  })

  describe('refreshing', () => {
    test('a lost answer costs nothing: the same successor comes again', async () => {
      const client = await DpopClient.signIn(server)
      const lost = client.signedIn
      const first = pairIn(await client.refresh(lost.refreshToken))
      const second = pairIn(await client.refresh(lost.refreshToken))
      expect(second.refreshToken).toBe(first.refreshToken)
      client.pair = second
      expect(await client.isIn()).toBe(true)
      expect((await client.refresh()).status).toBe(200)
    })

    test('what was used before that ends the session', async () => {
      const client = await DpopClient.signIn(server)
      const { refreshToken } = client.signedIn
      await client.refresh()
      await client.refresh()
      const newest = client.signedIn
      expect(told(await client.refresh(refreshToken))).toEqual([401, { error: 'invalid refresh token' }])
      expect(told(await client.refresh(newest.refreshToken))).toEqual([401, { error: 'invalid refresh token' }])
      expect(told(await client.get('/iam/me'))).toEqual([401, { error: 'session over' }])
    })

    test('another key gets nothing, and takes nothing', async () => {
      const client = await DpopClient.signIn(server)
      const thief = await DpopClient.make(server)
      const answer = await thief.refresh(client.signedIn.refreshToken)
      expect(told(answer)).toEqual([401, { error: 'key mismatch' }])
      expect(answer.headers.get('www-authenticate')).toBe(challenge)
      expect((await client.refresh()).status).toBe(200)
    })

    test.each([
      ['no token', 'x'],
      ['another session', 'default.123456789A.1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
      ['of a Basic session', undefined],
    ])('%s: 401', async (_, token) => {
      const client = await DpopClient.make(server)
      const answer = await client.refresh(token ?? (await Person.signIn(server)).tokens.refreshToken)
      expect(told(answer)).toEqual([401, { error: 'invalid refresh token' }])
    })

    test('a number further on is nobody’s, and ends nothing', async () => {
      const client = await DpopClient.signIn(server)
      const { refreshToken } = client.signedIn
      const guessed = refreshToken.replace(/\.1\./, '.2.')
      expect(told(await client.refresh(guessed))).toEqual([401, { error: 'invalid refresh token' }])
      expect((await client.refresh(refreshToken)).status).toBe(200)
    })
  })

  describe('signing out', () => {
    test('with the refresh token and a proof, when the access token is gone', async () => {
      const client = await DpopClient.signIn(server)
      const { refreshToken } = client.signedIn
      const thief = await DpopClient.make(server)
      const stolen = await thief.prove('/auth/logout', { method: 'POST', body: { refreshToken } })
      expect(told(stolen)).toEqual([401, { error: 'key mismatch' }])
      expect(await client.isIn()).toBe(true)
      expect((await client.prove('/auth/logout', { method: 'POST', body: { refreshToken } })).status).toBe(204)
      expect(await client.isIn()).toBe(false)
    })

    test('with nothing to end: 400', async () => {
      const client = await DpopClient.make(server)
      expect(told(await client.prove('/auth/logout', { method: 'POST', body: {} }))).toMatchObject([
        400,
        { details: [{ path: 'refreshToken' }] },
      ])
    })

    test('all=true ends all, of either scheme; anything but a boolean is refused', async () => {
      const who = await admin.bring('leaver', ['viewer'])
      const basic = await Person.signIn(server, who)
      const [one, other] = [await DpopClient.signIn(server, who), await DpopClient.signIn(server, who)]
      expect((await one.post('/auth/logout?all=yes')).status).toBe(400)
      expect((await one.post('/auth/logout?all=false')).status).toBe(204)
      expect([await one.isIn(), await other.isIn(), await basic.isIn()]).toEqual([false, true, true])
      expect((await other.post('/auth/logout?all=true')).status).toBe(204)
      expect([await other.isIn(), await basic.isIn(), await admin.isIn()]).toEqual([false, false, true])
    })
  })

  /** By the rules of RFC 9449 as another implementation of clients understands them. */
  describe('oauth4webapi', () => {
    const insecure = { [oauth.allowInsecureRequests]: true } as const

    test('finds nonce and keys by itself, and gets its resource', async () => {
      // It has no word for our login: that proof is made by hand, with its key.
      const keys = await oauth.generateKeyPair('ES256')
      const login = new DpopClient(server, keys)
      expect((await login.logIn(root)).status).toBe(200)
      const { accessToken } = login.signedIn
      const handle = oauth.DPoP({}, keys)
      const url = new URL(`${server.base}/iam/me?any=query`)
      const get = (DPoP = handle) =>
        oauth.protectedResourceRequest(accessToken, 'GET', url, undefined, undefined, { DPoP, ...insecure })

      const error: unknown = await get().catch((thrown: unknown) => thrown)
      expect(oauth.isDPoPNonceError(error)).toBe(true)
      const response = await get()
      expect([response.status, await response.json()]).toMatchObject([200, { name: 'root' }])
      // Each time another proof.
      expect((await get()).status).toBe(200)
    })

    test('reads why it is refused', async () => {
      const handle = oauth.DPoP({}, await oauth.generateKeyPair('ES256'))
      const url = new URL(`${server.base}/iam/me`)
      const get = () =>
        oauth.protectedResourceRequest('garbage', 'GET', url, undefined, undefined, { DPoP: handle, ...insecure })
      await get().catch(() => undefined)
      const error: unknown = await get().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(oauth.WWWAuthenticateChallengeError)
      expect((error as oauth.WWWAuthenticateChallengeError).cause).toMatchObject([
        { scheme: 'dpop', parameters: { error: 'invalid_token', algs: 'ES256' } },
      ])
    })
  })
})
