import { readdirSync } from 'node:fs'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { DpopClient } from '#test/blackbox/dpop-client'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import { answerOf, identityOn, report, root, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'

/** Uses client libraries of other authors. `test/access` and `test/routes` test each rule. Contract 2. */
describe('IAM=on', () => {
  let server: StartedServer
  let admin: SignedInUser

  beforeAll(async () => {
    server = await StartedServer.here(identityOn)
    admin = await SignedInUser.signIn(server)
  })
  afterAll(() => server?.finish())

  const over = [401, { error: 'session over' }]

  /** The code of an existing application, because no application should have to change. */
  test('an existing client works unchanged', async () => {
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
    // Continue as if the token had expired.
    handler.token = `${handler.token}x`
    const response = await handler.fetch('/events/ticket')
    expect(handler.refreshToken).not.toBe(before)
    const { ticket } = (await response.json()) as { ticket: string }
    const socket = new WebSocket(`${server.ws}/events/${ticket}`)
    const received: unknown[] = []
    socket.on('message', (data) => received.push(JSON.parse(String(data))))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    await report(server, await admin.makeDevice('CLIENT-1'), 21.5)
    const online = { type: 'META_STATUS_CHANGE', deviceIdentifier: 'CLIENT-1', status: 'online' }
    await expect.poll(() => received).toContainEqual(expect.objectContaining(online))
    for (const path of ['/devices?depth=2&raw=true', '/services?depth=2', '/meta?depth=1', '/schemas?depth=1']) {
      expect((await handler.fetch(path)).status).toBe(200)
    }
    socket.close()
  })

  test('a client can use the DPoP scheme with nonce, login, requests, sockets, refresh and sign-out', async () => {
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
    // The client had to learn only one nonce.
    expect(client.challenges).toBe(1)
  })

  test('oauth4webapi repeats a request with the nonce, and reads the reason of a refusal', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true } as const
    const keys = await oauth.generateKeyPair('ES256')
    // oauth4webapi does not support the login of this server, so another client signs in with the same key.
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
})

describe('IAM=off', () => {
  let server: StartedServer

  beforeAll(async () => {
    server = await StartedServer.start({ IAM: 'off' })
  })
  afterAll(() => server?.finish())

  test.each(['/iam/users', '/iam/token', '/iam/nothing/of/the/kind', '/auth/login', '/auth', '/iam'])(
    '%s is not found, with the reason',
    async (path) => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        expect(answerOf(await server.ask(path, { method }))).toEqual([404, { error: 'IAM is off' }])
      }
    },
  )

  test.each(['/iamb', '/author', '/authx/login'])('%s is not found', async (path) => {
    expect(answerOf(await server.get(path))).toEqual([404, { error: 'Not Found' }])
  })

  test('there are no public keys and no key file, and the log has a warning', async () => {
    for (const place of ['/.well-known/jwks.json', '/api/v1/.well-known/jwks.json']) {
      expect(await (await fetch(new URL(place, server.base))).json()).toEqual({ keys: [] })
    }
    expect(readdirSync(server.dataFolder)).not.toContain('identity.key')
    expect(server.run.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringMatching(/IAM is off/i) }),
    )
  })
})
