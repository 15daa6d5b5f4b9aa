import { get } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import {
  basicHeader,
  claimsOf,
  headOf,
  newName,
  Person,
  readToken,
  report,
  root,
  startWithIdentity,
  told,
} from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** The Basic scheme, as clients of before rely on it. §4.1, §5.1, contract 2. */
describe('the Basic scheme', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  const refresh = (refreshToken: string, query = 'grant_type=refresh_token') =>
    server.ask(`/iam/token?${query}`, { method: 'POST', body: { refreshToken } })

  describe('tokens', () => {
    test('one alone without scope, two with scope=offline, both kept by nobody', async () => {
      const alone = await readToken(server, root)
      expect(told(alone)).toEqual([200, { token: expect.any(String) }])
      const both = await readToken(server, root, '?scope=offline')
      expect(told(both)).toEqual([200, { token: expect.any(String), refreshToken: expect.any(String) }])
      for (const answer of [alone, both]) expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(Object.keys((await readToken(server, root, '?scope=openid')).json as object)).toEqual(['token'])
      expect(Object.keys((await readToken(server, root, '?scope=openid+offline')).json as object)).toContain(
        'refreshToken',
      )
    })

    test('both are JWTs of their own types, verifiable with the published key, at both places', async () => {
      const { token, refreshToken = '' } = admin.tokens
      expect(headOf(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
      expect(headOf(refreshToken)).toEqual({ alg: 'ES256', typ: 'rt+jwt', kid: expect.any(String) })
      for (const place of ['/.well-known/jwks.json', '/api/v1/.well-known/jwks.json']) {
        const keys = createRemoteJWKSet(new URL(place, server.base))
        const { payload } = await jwtVerify(token, keys, { typ: 'at+jwt', issuer: 'device-data-backend' })
        expect(payload).toEqual({
          iss: 'device-data-backend',
          aud: 'device-data-backend',
          sub: expect.stringMatching(/^crn#user:[1-9A-HJ-NP-Za-km-z]{10}$/),
          tenant: 'default',
          sid: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{10}$/),
          jti: expect.any(String),
          iat: expect.any(Number),
          exp: Number(payload.iat) + 3600,
          roles: ['admin'],
          permissions: { '*': ['*'] },
          devices: ['*'],
          services: ['*'],
        })
        await jwtVerify(refreshToken, keys, { typ: 'rt+jwt' })
      }
      const refreshed = claimsOf(refreshToken)
      // Signed a moment after it began.
      expect(Number(refreshed.exp) - Number(refreshed.iat) - 8 * 3600).toBeCloseTo(0, -1)
      const { keys } = (await (await fetch(new URL('/.well-known/jwks.json', server.base))).json()) as {
        keys: object[]
      }
      for (const key of keys) {
        expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
      }
    })

    test('tell what they allow only where one grant of few names holds all of it', async () => {
      const read = { service: ['read'] }
      await admin.putRole('one', { permissions: read, devices: ['A', 'B'], services: ['x'] })
      await admin.putRole(
        'two',
        { permissions: read, devices: ['A'], services: ['*'] },
        { permissions: read, devices: ['B'], services: ['*'] },
      )
      const many = Array.from({ length: 32 }, (_, index) => `D-${index}`)
      await admin.putRole('many', { permissions: read, devices: many, services: ['*'] })
      const claims = async (roles: string[]) => (await admin.bringIn(newName('told'), roles)).claims
      expect(await claims(['one'])).toMatchObject({ permissions: read, devices: ['A', 'B'], services: ['x'] })
      for (const roles of [['two'], ['many'], ['one', 'two'], []]) {
        const said = await claims(roles)
        expect(said).toMatchObject({ roles })
        for (const name of ['permissions', 'devices', 'services']) expect(said).not.toHaveProperty(name)
      }
    })

    test('a name in any script and a password with colons', async () => {
      const who = { name: 'Ærøskøbing 山', password: 'pass:word:with:colons ✓' }
      const invited = await admin.post('/iam/users', { name: who.name, roles: ['viewer'] })
      const { code } = invited.json as { code: string }
      expect((await server.ask('/iam/signup', { method: 'POST', body: { ...who, code } })).status).toBe(201)
      const person = await Person.signIn(server, who)
      expect(await person.me()).toMatchObject({ name: who.name, roles: ['viewer'], tenant: 'default' })
      expect((await readToken(server, { ...who, name: who.name.toUpperCase() })).status).toBe(200)
    })
  })

  describe('what is no credential is refused alike', () => {
    const refused: [string, Record<string, string>][] = [
      ['a wrong password', basicHeader({ name: 'root', password: 'wrong horse battery' })],
      ['nobody', basicHeader({ name: 'nobody', password: root.password })],
      ['an empty password', basicHeader({ name: 'root', password: '' })],
      ['an empty name', basicHeader({ name: '', password: root.password })],
      ['a password of 5 000 characters', basicHeader({ name: 'root', password: 'x'.repeat(5_000) })],
      ['a tenant in front, as devices write it', basicHeader({ name: 'default/root', password: root.password })],
    ]
    test.each(refused)('%s', async (_, headers) => {
      const answer = await server.get('/iam/token', headers)
      expect(told(answer)).toEqual([401, { error: 'invalid credentials' }])
    })

    test.each<[string, Record<string, string>]>([
      ['no header', {}],
      ['no Base64', { authorization: 'Basic !!!!' }],
      ['no colon', { authorization: `Basic ${Buffer.from('root').toString('base64')}` }],
      ['a bearer', { authorization: 'Bearer abc' }],
      ['no UTF-8', { authorization: `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}` }],
    ])('%s', async (_, headers) => {
      expect((await server.get('/iam/token', headers)).status).toBe(401)
    })

    test('a page hears no Basic challenge, so that no browser pops up a prompt; others do', async () => {
      const challengeOf = (mode: string | undefined) =>
        new Promise<string>((resolve, reject) => {
          // Not by `fetch`, which says by itself that it is a page's.
          const headers = {
            ...basicHeader({ name: 'root', password: 'wrong' }),
            ...(mode && { 'sec-fetch-mode': mode }),
          }
          get(`${server.base}/iam/token`, { headers }, (response) => {
            response.resume()
            resolve(response.headers['www-authenticate'] ?? '')
          }).on('error', reject)
        })
      for (const mode of [undefined, 'navigate']) expect(await challengeOf(mode)).toContain('Basic realm=')
      for (const mode of ['cors', 'same-origin']) expect(await challengeOf(mode)).not.toContain('Basic')
    })
  })

  describe('what a token opens', () => {
    test.each<[string, string | undefined, string]>([
      ['none', undefined, 'authentication required'],
      ['no token at all', 'Bearer', 'authentication required'],
      ['garbage', 'Bearer garbage', 'invalid token'],
      ['three parts of garbage', 'Bearer a.b.c', 'invalid token'],
    ])('%s: 401', async (_, authorization, error) => {
      const answer = await server.get('/iam/me', authorization === undefined ? {} : { authorization })
      expect([answer.status, answer.headers.has('www-authenticate')]).toEqual([401, true])
      if (authorization !== 'Bearer') expect(answer.json).toEqual({ error })
    })

    test('a refresh token is no access token, nor the other way round', async () => {
      const { token, refreshToken = '' } = admin.tokens
      const wrong = await server.get('/iam/me', { authorization: `Bearer ${refreshToken}` })
      expect(told(wrong)).toEqual([401, { error: 'invalid token' }])
      expect(told(await refresh(token))).toEqual([401, { error: 'invalid refresh token' }])
    })

    test('a changed character anywhere makes it worthless', async () => {
      const { token } = admin.tokens
      for (const at of [2, token.indexOf('.') + 5, token.lastIndexOf('.') + 5]) {
        const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
        const answer = await server.get('/iam/me', { authorization: `Bearer ${changed}` })
        expect(told(answer)).toEqual([401, { error: 'invalid token' }])
      }
    })

    test('a path that is not there is 404 before anybody asks who is there', async () => {
      expect((await server.get('/nowhere')).status).toBe(404)
      expect((await server.get('/devices/*')).status).toBe(401)
      expect((await admin.get('/devices/*')).status).toBe(404)
    })
  })

  describe('refreshing', () => {
    const offline = async () => (await Person.signIn(server)).tokens as Required<Person['tokens']>
    const pairIn = (answer: Answer) => answer.json as { token: string; refreshToken: string }
    const isGood = async (token: string) =>
      (await server.get('/iam/me', { authorization: `Bearer ${token}` })).status === 200

    test('gives another pair; requests in flight may still use the old access token', async () => {
      const first = await offline()
      const answer = await refresh(first.refreshToken, 'grant_type=refresh_token&scope=offline')
      expect(told(answer)).toEqual([200, { token: expect.any(String), refreshToken: expect.any(String) }])
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const second = pairIn(answer)
      expect(second.refreshToken).not.toBe(first.refreshToken)
      expect(claimsOf(second.token).sid).toBe(claimsOf(first.token).sid)
      expect([await isGood(first.token), await isGood(second.token)]).toEqual([true, true])
    })

    test('with a token that was used ends the session: somebody else has it', async () => {
      const first = await offline()
      const second = pairIn(await refresh(first.refreshToken))
      expect(told(await refresh(first.refreshToken))).toEqual([401, { error: 'invalid refresh token' }])
      expect(told(await refresh(second.refreshToken))).toEqual([401, { error: 'invalid refresh token' }])
      for (const token of [first.token, second.token]) {
        const answer = await server.get('/iam/me', { authorization: `Bearer ${token}` })
        expect(told(answer)).toEqual([401, { error: 'session over' }])
      }
    })

    test.each([
      ['nothing', { grant_type: '' }],
      ['another kind', { grant_type: 'password' }],
    ])('asks for what is given: %s', async (_, query) => {
      const { refreshToken } = await offline()
      const answer = await refresh(refreshToken, String(new URLSearchParams(query)))
      expect(told(answer)).toEqual([
        400,
        { error: 'Validation Error', details: [{ path: 'grant_type', message: expect.any(String) }] },
      ])
    })

    test.each([
      ['no body', undefined],
      ['no token', {}],
      ['a number', { refreshToken: 1 }],
      ['more', { refreshToken: 'a', scope: 'offline' }],
    ])('takes one token and nothing else: %s', async (_, body) => {
      const answer = await server.ask('/iam/token?grant_type=refresh_token', { method: 'POST', body })
      expect(answer.status).toBe(400)
    })

    test.each(['garbage', 'a.b.c', ''])('%j is no good', async (token) => {
      expect(told(await refresh(token))).toEqual([401, { error: 'invalid refresh token' }])
    })
  })

  describe('where the tenant wants more than a password', () => {
    const other = { name: 'basic-user', password: 'password of basic-user' }

    beforeAll(async () => {
      await admin.post('/iam/tenants', { tenantIdentifier: 'strict', name: 'Strict' })
      await admin.bring(other.name, ['admin'], {}, '?tenant=strict')
    })

    test.each([
      [{ basic: false }, { basic: true }, 'use the DPoP scheme'],
      [{ twoFactor: 'required' }, { twoFactor: 'optional' }, '2fa_required'],
    ])('%j: told after the right password alone; who is in stays in, and can’t refresh', async (on, off, error) => {
      const before = await Person.signIn(server, other)
      expect((await admin.patch('/iam/tenants/strict', on)).status).toBe(200)
      expect(told(await readToken(server, other))).toEqual([401, { error }])
      const wrong = await readToken(server, { ...other, password: 'wrong horse battery' })
      expect(told(wrong)).toEqual([401, { error: 'invalid credentials' }])
      expect(await before.isIn()).toBe(true)
      expect(told(await refresh(before.tokens.refreshToken ?? ''))).toEqual([401, { error }])
      expect((await admin.patch('/iam/tenants/strict', off)).status).toBe(200)
      expect((await readToken(server, other)).status).toBe(200)
    })
  })

  /** What an application of before does, word for word: kept as it is, so that none of them has to change. */
  test('a client of before works unchanged', async () => {
    const url = server.base
    class TokenHandler {
      token = ''
      refreshToken = ''
      refreshes = 0

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
        this.refreshes++
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
    // As if the hour were over.
    handler.token = `${handler.token}x`
    const response = await handler.fetch('/events/ticket')
    expect(handler.refreshes).toBe(1)
    const { ticket } = (await response.json()) as { ticket: string }
    const socket = new WebSocket(`${server.ws}/events/${ticket}`)
    const heard: { type: string }[] = []
    socket.on('message', (data) => heard.push(JSON.parse(String(data)) as { type: string }))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))

    const made = await admin.post('/devices', { deviceIdentifier: 'CLIENT-1' })
    const { secret } = made.json as { secret: string }
    await report(server, { name: 'CLIENT-1', password: secret }, 21.5)
    const change = await until(() => heard.find(({ type }) => type === 'META_STATUS_CHANGE'), 'META_STATUS_CHANGE')
    expect(change).toMatchObject({ deviceIdentifier: 'CLIENT-1', status: 'online' })
    for (const path of ['/devices?depth=2&raw=true', '/services?depth=2', '/meta?depth=1', '/schemas?depth=1']) {
      expect((await handler.fetch(path)).status).toBe(200)
    }
    socket.close()
  })
})
