import { beforeAll, describe, expect, test } from 'vitest'
import { connect, type Problem } from '#client/client'
import { makeKeys } from '#client/dpop-proof'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import { memoryStore } from '#client/session-store'
import { json, TestFetch, type TestRequest, tokenRefused } from '#test/client/test-fetch'

/** Whose session a client uses when another user signs in, in the same or another tab. Contract 2, Sessions. */

const grants = [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }]
const me = (name: string) => ({ name, tenant: 'default', roles: ['admin'], grants })

/** A token with the claims of tokens of the server. */
function tokenOf(name: string, sid: string, number: number): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { sub: `crn#user:${name}`, sid, number, iat: now, exp: now + 600 }
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.e30`
}

function claimsOf({ headers }: TestRequest): { sub: string; sid: string; number: number } | undefined {
  const [, claims] = headers.get('authorization')?.split('.') ?? []
  return claims === undefined ? undefined : JSON.parse(Buffer.from(claims, 'base64url').toString())
}

describe('a session', () => {
  let keys: KeyPair

  beforeAll(async () => {
    keys = await makeKeys()
  })

  const sessionOf = (name: string, sid: string, number: number): StoredSession => ({
    keys,
    accessToken: tokenOf(name, sid, number),
    refreshToken: `${name} ${sid} ${number}`,
  })

  /** A server that renews the sessions that have not ended. */
  class Server extends TestFetch {
    /** Sessions that ended. */
    readonly over = new Set<string>()
    /** Refuses the next access token. */
    isRefusing = false

    constructor(answer: (request: TestRequest) => Promise<Response | undefined> = async () => undefined) {
      super(async (request) => (await answer(request)) ?? this.#answer(request))
    }

    #answer(request: TestRequest): Response {
      const { path, body } = request
      if (path === '/auth/login') {
        const { email } = body as { email: string }
        return json(200, sessionOf(email, 'new', 1))
      }
      if (path === '/auth/token') {
        const [name = '', sid = '', number] = (body as { refreshToken: string }).refreshToken.split(' ')
        return this.over.has(sid) ? json(401, { error: 'no' }) : json(200, sessionOf(name, sid, Number(number) + 1))
      }
      const claims = claimsOf(request)
      const isRefused = this.isRefusing || !claims || this.over.has(claims.sid)
      this.isRefusing = false
      if (isRefused) return tokenRefused()
      return path === '/auth/logout' ? new Response(null, { status: 204 }) : json(200, me(claims.sub.slice(9)))
    }
  }

  async function tabOf(server: Server, store: SessionStore, session: StoredSession) {
    await store.write(session)
    const client = connect({ url: 'http://server.example', fetch: server.fetch, store })
    await client.restore()
    return client
  }

  test('of another user in the store is neither used nor changed', async () => {
    const server = new Server()
    const store = memoryStore()
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    const othersSession = sessionOf('bob', 'b', 1)
    await store.write(othersSession)
    const before = server.requests.length
    server.isRefusing = true
    expect(await tab.call('GET /iam/me')).toMatchObject({ name: 'ann' })
    expect(server.requests.slice(before).map((request) => claimsOf(request)?.sub)).not.toContain('crn#user:bob')
    expect([await store.read(), tab.session.value.name]).toEqual([othersSession, 'ann'])
    // After the session of this user has ended, the client can use the session of the other user.
    server.over.add('a')
    expect(await tab.call('GET /iam/me').catch(({ status }: Problem) => status)).toBe(401)
    expect([tab.session.value.state, await store.read()]).toEqual(['signed out', othersSession])
    expect(await tab.restore()).toMatchObject({ state: 'signed in', name: 'bob' })
  })

  test('of the same user in the store is used, even if it is another session', async () => {
    const server = new Server()
    const store = memoryStore()
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    await store.write(sessionOf('ann', 'b', 1))
    server.over.add('a')
    expect(await tab.call('GET /iam/me')).toMatchObject({ name: 'ann' })
    expect(server.requests.map((request) => claimsOf(request)?.sid)).toEqual(['a', 'a', 'b'])
    expect(server.statusesOf('POST /auth/token')).toEqual([])
  })

  test('is deleted even if another tab has stored newer tokens, but another session is not deleted', async () => {
    const server = new Server()
    const store = memoryStore()
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    await store.write(sessionOf('ann', 'a', 2))
    await tab.signOut()
    expect(await store.read()).toBeUndefined()
    const other = await tabOf(server, store, sessionOf('ann', 'a', 1))
    const othersSession = sessionOf('bob', 'b', 1)
    await store.write(othersSession)
    await other.signOut()
    expect(await store.read()).toEqual(othersSession)
  })

  test('is kept if a proxy answers its renewal with a page', async () => {
    const store = memoryStore()
    const server = new Server(async ({ path }) =>
      path === '/auth/token' ? new Response('<html>', { headers: { 'content-type': 'text/html' } }) : undefined,
    )
    const tab = connect({ url: 'http://server.example', fetch: server.fetch, store })
    const stored = sessionOf('ann', 'a', 1)
    await store.write(stored)
    server.isRefusing = true
    await expect(tab.restore()).rejects.toThrow('the answer contains no tokens')
    expect(await store.read()).toEqual(stored)
  })

  test('that ends while another user signs in does not repeat its request as the other user', async () => {
    const store = memoryStore()
    const server: Server = new Server(async ({ method }) => {
      if (method !== 'DELETE') return undefined
      server.over.add('a')
      await tab.signIn({ email: 'bob', password: 'password of bob' })
      return tokenRefused()
    })
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    const parameters = { deviceIdentifier: 'PUMP-1' }
    await expect(tab.call('DELETE /devices/:deviceIdentifier', { parameters })).rejects.toMatchObject({ status: 401 })
    expect(server.statusesOf('DELETE /devices/PUMP-1')).toHaveLength(1)
    expect(tab.session.value).toMatchObject({ state: 'signed in', name: 'bob' })
  })

  test('belongs to the last sign-in, even if the answer to an earlier one arrives later', async () => {
    const store = memoryStore()
    let isFirst = true
    const server: Server = new Server(async ({ path }) => {
      if (path !== '/iam/me' || !isFirst) return undefined
      isFirst = false
      await tab.signIn({ email: 'bob', password: 'password of bob' })
      return json(200, me('ann'))
    })
    await store.write(sessionOf('ann', 'a', 1))
    const tab = connect({ url: 'http://server.example', fetch: server.fetch, store })
    expect(await tab.restore()).toMatchObject({ name: 'bob' })
    expect(tab.session.value).toMatchObject({ name: 'bob' })
  })
})

test.each([
  ['signed in', { roles: ['viewer'], grants }],
  ['signed in', { roles: [], grants: [] }],
  ['IAM off', { roles: [], grants }],
])('a user named anonymous is %s with %j', async (state, rights) => {
  const server = new TestFetch(() => json(200, { name: 'anonymous', tenant: 'default', ...rights }))
  const client = connect({ url: 'http://server.example', fetch: server.fetch, credentials: { apiKey: 'a.b.c' } })
  expect(await client.restore()).toMatchObject({ state, name: 'anonymous' })
})
