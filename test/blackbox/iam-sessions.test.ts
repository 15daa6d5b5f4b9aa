import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DpopClient } from '#test/blackbox/dpop-client'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import { grant, newName, Person, readToken, startWithIdentity, told } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** A token is as good as its session. Contract 2, Sessions. */
describe('sessions', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  interface Session {
    readonly id: string
    readonly isCurrent: boolean
  }
  const over = [401, { error: 'session over' }]

  test('are listed to their owner, of either scheme, and end one by one', async () => {
    const who = await admin.bring(newName('owner'), ['viewer'])
    const basic = await Person.signIn(server, who)
    const dpop = await DpopClient.signIn(server, who)
    const list = async () => (await basic.get('/auth/sessions')).json as Session[]
    const sessions = await list()
    for (const session of sessions) {
      expect(session).toEqual({
        id: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{10}$/),
        createdAt: expect.any(Number),
        lastUsedAt: expect.any(Number),
        address: '127.0.0.1',
        agent: expect.any(String),
        scheme: expect.stringMatching(/^(basic|dpop)$/),
        isCurrent: expect.any(Boolean),
      })
    }
    expect(sessions).toMatchObject([
      { scheme: 'dpop', isCurrent: false },
      { scheme: 'basic', isCurrent: true },
    ])
    const [other, own] = sessions as [Session, Session]
    expect(told(await basic.delete(`/auth/sessions/${other.id}`))).toEqual([204, undefined])
    expect(told(await dpop.get('/iam/me'))).toEqual(over)
    expect((await basic.delete(`/auth/sessions/${other.id}`)).status).toBe(404)
    // Somebody else's is not there either.
    expect((await basic.delete(`/auth/sessions/${admin.claims.sid}`)).status).toBe(404)
    expect((await basic.delete('/auth/sessions/x')).status).toBe(404)
    expect(await admin.isIn()).toBe(true)
    expect((await basic.delete(`/auth/sessions/${own.id}`)).status).toBe(204)
    expect(told(await basic.get('/auth/sessions'))).toEqual(over)
  })

  test('are listed to and ended by administrators', async () => {
    const who = await admin.bring(newName('other'), ['viewer'])
    const [one, two] = [await Person.signIn(server, who), await Person.signIn(server, who)]
    const path = `/iam/users/${who.name}/sessions`
    const listed = (await admin.get(path)).json as Session[]
    expect(listed).toHaveLength(2)
    expect(listed.every(({ isCurrent }) => !isCurrent)).toBe(true)
    expect((await admin.delete(`${path}/${one.claims.sid}`)).status).toBe(204)
    expect([await one.isIn(), await two.isIn()]).toEqual([false, true])
    expect((await admin.delete(`${path}/${one.claims.sid}`)).status).toBe(404)
    expect((await admin.delete(path)).status).toBe(204)
    expect(await two.isIn()).toBe(false)
    expect(told(await admin.get(path))).toEqual([200, []])
    expect((await admin.get('/iam/users/nobody/sessions')).status).toBe(404)
  })

  test('sockets close with 4401 when their session ends, and no others', async () => {
    const who = await admin.bring(newName('socket'), ['viewer'])
    const [leaving, staying] = [await Person.signIn(server, who), await Person.signIn(server, who)]
    const sockets = [
      await EventClient.open(server, { offset: 'now' }, leaving),
      await EventClient.open(server, { offset: 'now' }, leaving),
    ]
    const other = await EventClient.open(server, { offset: 'now' }, staying)
    const ticket = await ticketOf(leaving)
    const before = performance.now()
    await leaving.post('/auth/logout')
    for (const socket of sockets) expect(await socket.closed()).toEqual({ code: 4401, reason: 'session over' })
    expect(performance.now() - before).toBeLessThan(1_000)
    expect(await EventClient.with(server, ticket).refused()).toBe(401)
    await other.ping()
    await other.close()
  })

  test('end with their newest token, and so do their sockets', async () => {
    await server.stop()
    await server.startAgain({ TOKEN_LIFETIME_S: '2', ACCESS_TOKEN_LIFETIME_S: '2', REFRESH_TOKEN_LIFETIME_S: '10' })
    try {
      const { token } = (await readToken(server, { name: admin.name, password: admin.password })).json as {
        token: string
      }
      const headers = { authorization: `Bearer ${token}` }
      const begun = performance.now()
      const { ticket } = (await server.get('/events/ticket', headers)).json as { ticket: string }
      const socket = EventClient.with(server, ticket)
      await socket.opened()
      const client = await DpopClient.signIn(server)
      expect((await socket.closed()).code).toBe(4401)
      expect(performance.now() - begun).toBeLessThan(4_000)
      expect(told(await server.get('/iam/me', headers))).toEqual([401, { error: 'token expired' }])
      await until(async () => !(await client.isIn()), 'the access token to end')
      expect(told(await client.get('/iam/me'))).toEqual([401, { error: 'token expired' }])
      // Its refresh token lives on, and gives it more time.
      expect((await client.refresh()).status).toBe(200)
      expect(await client.isIn()).toBe(true)
    } finally {
      await server.stop()
      await server.startAgain({
        TOKEN_LIFETIME_S: '3600',
        ACCESS_TOKEN_LIFETIME_S: '600',
        REFRESH_TOKEN_LIFETIME_S: '28800',
      })
      admin = await Person.signIn(server)
    }
  })

  test('at most a hundred a user: the oldest ends', async () => {
    const who = await admin.bring(newName('many'), ['viewer'])
    const first = await Person.signIn(server, who)
    const second = await Person.signIn(server, who)
    for (let count = 2; count < 100; count += 7) {
      const more = Math.min(7, 100 - count)
      await Promise.all(Array.from({ length: more }, () => readToken(server, who)))
    }
    expect([await first.isIn(), await second.isIn()]).toEqual([true, true])
    await Person.signIn(server, who)
    expect([await first.isIn(), await second.isIn()]).toEqual([false, true])
    expect(((await second.get('/auth/sessions')).json as Session[]).length).toBe(100)
  })

  test('another password ends the others', async () => {
    const who = await admin.bring(newName('changer'), ['viewer'])
    const [one, two] = [await Person.signIn(server, who), await Person.signIn(server, who)]
    const change = (body: object) => one.put('/auth/password', body)
    const password = 'yet another password'
    const wrong = await change({ current: 'wrong horse battery', password })
    expect(told(wrong)).toEqual([401, { error: 'invalid credentials' }])
    expect(told(await change({ current: who.password, password: 'short' }))).toMatchObject([
      400,
      { details: [{ path: 'password' }] },
    ])
    expect((await change({ password })).status).toBe(400)
    expect(await two.isIn()).toBe(true)
    expect(told(await change({ current: who.password, password }))).toEqual([204, undefined])
    expect([await one.isIn(), await two.isIn()]).toEqual([true, false])
    expect((await readToken(server, who)).status).toBe(401)
    expect((await readToken(server, { name: who.name, password })).status).toBe(200)
  })

  test('survive a sudden death of the server; so do their ends, and refreshing', async () => {
    const who = await admin.bring(newName('kept'), ['viewer'])
    const [kept, ended] = [await Person.signIn(server, who), await Person.signIn(server, who)]
    const dpop = await DpopClient.signIn(server, who)
    const used = dpop.signedIn.refreshToken
    await dpop.refresh()
    await ended.post('/auth/logout')
    await server.kill()
    await server.startAgain()
    expect([await kept.isIn(), await ended.isIn()]).toEqual([true, false])
    expect(told(await ended.get('/iam/me'))).toEqual(over)
    // Nonces of before are worth nothing: it is told another one.
    expect(await dpop.isIn()).toBe(true)
    expect(dpop.challenges).toBe(2)
    // Within ten seconds the same successor comes again, though the server is another process.
    const { refreshToken } = dpop.signedIn
    expect((await dpop.refresh(used)).status).toBe(200)
    expect(dpop.signedIn.refreshToken).toBe(refreshToken)
    expect((await dpop.refresh()).status).toBe(200)
  })

  test('edits of rights survive it as well', async () => {
    await admin.putRole('lasting', grant({ service: ['read'] }))
    const person = await admin.bringIn(newName('lasting'), ['lasting'])
    await admin.putRole('lasting', grant({ meta: ['read'] }))
    await server.kill()
    await server.startAgain()
    expect((await person.get('/devices')).status).toBe(403)
    expect((await person.get('/meta')).status).toBe(200)
  })
})
