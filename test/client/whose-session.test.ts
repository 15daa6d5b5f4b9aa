import { beforeAll, describe, expect, test } from 'vitest'
import { connect, type Problem } from '#client/client'
import { makeKeys } from '#client/dpop-proof'
import type { KeyPair, StoredSession } from '#client/options'
import { MemoryStore } from '#client/session-store'
import { AnsweringFetch, type Asked, json, tokenRefused } from '#test/client/answering-fetch'

/** In whose name a client asks, whoever signs in beside it: in another tab, or in the same. Contract 2, Sessions. */

const grants = [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }]
const me = (name: string) => ({ name, tenant: 'default', roles: ['admin'], grants })

/** Says whose it is, as the server's do. */
function tokenOf(name: string, sid: string, number: number): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { sub: `crn#user:${name}`, sid, number, iat: now, exp: now + 600 }
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.e30`
}

function claimsOf({ headers }: Asked): { sub: string; sid: string; number: number } | undefined {
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

  /** Renews whoever's refresh token is the last one of his session, while that lasts. */
  class Server extends AnsweringFetch {
    /** Sessions that ended. */
    readonly over = new Set<string>()
    /** The next access token has come to its end. */
    isRefusing = false

    constructor(answer: (asked: Asked) => Promise<Response | undefined> = async () => undefined) {
      super(async (asked) => (await answer(asked)) ?? this.#answer(asked))
    }

    #answer(asked: Asked): Response {
      const { path, body } = asked
      if (path === '/auth/login') {
        const { email } = body as { email: string }
        return json(200, sessionOf(email, 'new', 1))
      }
      if (path === '/auth/token') {
        const [name = '', sid = '', number] = (body as { refreshToken: string }).refreshToken.split(' ')
        return this.over.has(sid) ? json(401, { error: 'no' }) : json(200, sessionOf(name, sid, Number(number) + 1))
      }
      const claims = claimsOf(asked)
      const isRefused = this.isRefusing || !claims || this.over.has(claims.sid)
      this.isRefusing = false
      if (isRefused) return tokenRefused()
      return path === '/auth/logout' ? new Response(null, { status: 204 }) : json(200, me(claims.sub.slice(9)))
    }
  }

  async function tabOf(server: Server, store: MemoryStore, session: StoredSession) {
    await store.write(session)
    const client = connect({ url: 'http://server.example', fetch: server.fetch, store })
    await client.restore()
    return client
  }

  test('that somebody else has left in the store is not taken up, nor touched', async () => {
    const server = new Server()
    const store = new MemoryStore()
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    const his = sessionOf('bob', 'b', 1)
    await store.write(his)
    const older = server.asked.length
    server.isRefusing = true
    expect(await tab.call('GET /iam/me')).toMatchObject({ name: 'ann' })
    expect(server.asked.slice(older).map((asked) => claimsOf(asked)?.sub ?? 'nobody')).not.toContain('crn#user:bob')
    expect([await store.read(), tab.session.value.name]).toEqual([his, 'ann'])
    // And from then on, until it is over: then he is shown as himself.
    server.over.add('a')
    expect(await tab.call('GET /iam/me').catch(({ status }: Problem) => status)).toBe(401)
    expect([tab.session.value.state, await store.read()]).toEqual(['signed out', his])
    expect(await tab.restore()).toMatchObject({ state: 'signed in', name: 'bob' })
  })

  test('of the same user in the store is gone on with, also where it is another one', async () => {
    const server = new Server()
    const store = new MemoryStore()
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    await store.write(sessionOf('ann', 'b', 1))
    server.over.add('a')
    expect(await tab.call('GET /iam/me')).toMatchObject({ name: 'ann' })
    expect(server.asked.map((asked) => claimsOf(asked)?.sid)).toEqual(['a', 'a', 'b'])
    expect(server.countOf('POST /auth/token')).toBe(0)
  })

  test('is forgotten with its tokens that another tab has by now, and no other', async () => {
    const server = new Server()
    const store = new MemoryStore()
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    await store.write(sessionOf('ann', 'a', 2))
    await tab.signOut()
    expect(await store.read()).toBeUndefined()
    const other = await tabOf(server, store, sessionOf('ann', 'a', 1))
    const his = sessionOf('bob', 'b', 1)
    await store.write(his)
    await other.signOut()
    expect(await store.read()).toEqual(his)
  })

  test('is not lost to somebody in between who answers its renewal', async () => {
    const store = new MemoryStore()
    const server = new Server(async ({ path }) =>
      path === '/auth/token' ? new Response('<html>', { headers: { 'content-type': 'text/html' } }) : undefined,
    )
    const tab = connect({ url: 'http://server.example', fetch: server.fetch, store })
    const kept = sessionOf('ann', 'a', 1)
    await store.write(kept)
    server.isRefusing = true
    await expect(tab.restore()).rejects.toThrow('the answer contains no tokens')
    expect(await store.read()).toEqual(kept)
  })

  test('that ends while somebody else signs in has nothing done in his name', async () => {
    const store = new MemoryStore()
    const server: Server = new Server(async ({ method }) => {
      if (method !== 'DELETE') return undefined
      server.over.add('a')
      await tab.signIn({ email: 'bob', password: 'his password' })
      return tokenRefused()
    })
    const tab = await tabOf(server, store, sessionOf('ann', 'a', 1))
    const parameters = { deviceIdentifier: 'PUMP-1' }
    await expect(tab.call('DELETE /devices/:deviceIdentifier', { parameters })).rejects.toMatchObject({ status: 401 })
    expect(server.countOf('DELETE /devices/PUMP-1')).toBe(1)
    expect(tab.session.value).toMatchObject({ state: 'signed in', name: 'bob' })
  })

  test('is that of who signed in last, whenever it is heard who asked before', async () => {
    const store = new MemoryStore()
    let isHeld = true
    const server: Server = new Server(async ({ path }) => {
      if (path !== '/iam/me' || !isHeld) return undefined
      isHeld = false
      await tab.signIn({ email: 'bob', password: 'his password' })
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
])('whoever is called anonymous is %s with %j', async (state, rights) => {
  const server = new AnsweringFetch(() => json(200, { name: 'anonymous', tenant: 'default', ...rights }))
  const client = connect({ url: 'http://server.example', fetch: server.fetch, credentials: { apiKey: 'a.b.c' } })
  expect(await client.restore()).toMatchObject({ state, name: 'anonymous' })
})
