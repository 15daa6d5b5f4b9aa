import { afterAll, describe, expect, test } from 'vitest'
import { DpopClient } from '#test/blackbox/dpop-client'
import { answerOf, basicHeader, grant, newName, SignedInUser } from '#test/blackbox/signed-in-user'
import type { Answer } from '#test/blackbox/started-server'
import { RawClient } from '#test/http/raw-client'
import { SignInServer } from '#test/routes/sign-in-server'

/** Sign-in and rights as far as they only show in requests. Contract 2. */

const http = await SignInServer.open({ settings: { areRateLimitsOn: true }, server: { isProxyTrusted: true } })
afterAll(() => http.close())
const admin = await SignedInUser.signIn(http)

test.each([
  [undefined, 604_800_000],
  [60, 60_000],
])('an invitation with expiresIn %s lasts %i ms, and the answer has its path', async (expiresIn, ms) => {
  const name = newName('invited person')
  const invited = await admin.post('/iam/users', { name, roles: [], expiresIn })
  expect(Math.abs((invited.json as { expiresAt: number }).expiresAt - http.now() - ms)).toBeLessThan(30_000)
  const location = invited.headers.get('location') ?? ''
  expect(location).toBe(`/api/v1/iam/users/${encodeURIComponent(name)}`)
  expect((await admin.get(location.slice('/api/v1'.length))).json).toMatchObject({ name, state: 'invited', roles: [] })
})

test('roles are listed by name, including the built-in ones', async () => {
  for (const role of ['zone', 'bystander']) await admin.putRole(role, grant({ meta: ['read'] }))
  const roles = (await admin.get('/iam/roles')).json as { name: string; builtIn: boolean }[]
  expect(roles.map(({ name, builtIn }) => [name, builtIn])).toEqual([
    ['admin', true],
    ['bystander', false],
    ['operator', true],
    ['viewer', true],
    ['zone', false],
  ])
})

describe('attempts to sign in', () => {
  const from = (address: string) => ({ 'x-forwarded-for': `203.0.113.99, ${address}` })
  const basic = (person: { name: string; password: string }, address: string) =>
    http.get('/iam/token', { ...basicHeader(person), ...from(address) })
  const held = (answer: Answer) => {
    expect([answer.headers.get('retry-after'), ...answerOf(answer)]).toEqual([
      expect.stringMatching(/^[1-6]?\d$/),
      429,
      { error: 'too many attempts' },
    ])
  }

  test('count each request with a password or code for its user and its address', async () => {
    const ann = await admin.bringIn('ann', ['viewer'])
    const wrong = 'wrong horse battery'
    const [headers, method] = [from('192.0.2.1'), 'POST']
    const client = await DpopClient.make(http)
    const ways: [number, () => Promise<Answer>][] = [
      [4, () => client.prove('/auth/login', { method, body: { email: 'ann', password: wrong }, headers })],
      [3, () => http.ask('/iam/signup', { method, body: { name: 'ann', code: 'x', password: wrong }, headers })],
      [2, () => ann.ask('/auth/password', { method: 'PUT', body: { current: wrong, password: wrong }, headers })],
      [1, () => basic({ name: 'ann', password: wrong }, '192.0.2.1')],
    ]
    for (const [times, ask] of ways) {
      for (let time = 0; time < times; time++) expect((await ask()).status).toBe(401)
    }
    for (const [, ask] of ways) held(await ask())
    expect((await basic(ann, '192.0.2.2')).status).toBe(200)
  })

  test('count bodies of more than 8 KiB or of an invalid shape for their address', async () => {
    const bob = await admin.bring('bob', ['viewer'])
    const headers = from('192.0.2.3')
    const keys = Object.fromEntries(Array.from({ length: 2_000 }, (_, place) => [`k${place}`, 0]))
    const client = await DpopClient.make(http)
    const post = (path: string, body: unknown) => http.ask(path, { method: 'POST', body, headers })
    const refresh = '/iam/token?grant_type=refresh_token'
    for (const refusal of [
      await post('/iam/signup', keys),
      await post(refresh, keys),
      await client.prove('/auth/login', { method: 'POST', body: keys, headers }),
    ]) {
      expect(answerOf(refusal)).toEqual([413, { error: expect.stringMatching(/8192 bytes/) }])
    }
    for (let time = 0; time < 57; time++) expect((await post('/iam/signup', { name: 7 })).status).toBe(400)
    for (const body of [keys, { name: 7 }]) held(await post('/iam/signup', body))
    held(await basic(bob, '192.0.2.3'))
    // Refreshes of a valid shape and other addresses are not held up.
    expect((await post(refresh, { refreshToken: 'x' })).status).toBe(401)
    expect((await basic(bob, '192.0.2.4')).status).toBe(200)
  })
})

describe('a body that arrives late', () => {
  type Send = () => Promise<{ status: number | undefined; text: string }>

  /** Sends a request without the end of its body; the returned function sends the end. */
  async function begin(path: string, headers: Readonly<Record<string, string>>, body: object): Promise<Send> {
    const text = JSON.stringify(body)
    const lines = Object.entries({
      host: 'localhost',
      'content-type': 'application/json',
      'content-length': `${text.length}`,
      connection: 'close',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    const head = `POST /api/v1${path} HTTP/1.1\r\n${lines.join('')}\r\n`
    const client = new RawClient(http.port).send(`${head}${text.slice(0, 5)}`)
    // The server has the first request once it has answered a later one.
    expect((await http.get('/health')).status).toBe(200)
    return async () => {
      const received = await client.send(text.slice(5)).closed()
      return { status: client.statuses[0], text: received.slice(received.indexOf('\r\n\r\n') + 4) }
    }
  }

  const newKey = { name: 'late', roles: ['admin'] }
  const over = { status: 401, text: '{"error":"session over"}' }

  test.each<[string, (person: SignedInUser) => Promise<unknown>, object]>([
    ['is unchanged', async () => undefined, { status: 201 }],
    ['was deleted', (person) => admin.delete(`/iam/users/${person.name}`), over],
    ['was disabled', (person) => admin.patch(`/iam/users/${person.name}`, { state: 'disabled' }), over],
    ['was signed out', (person) => admin.delete(`/iam/users/${person.name}/sessions`), over],
    [
      'lost their roles',
      (person) => admin.patch(`/iam/users/${person.name}`, { roles: ['viewer'] }),
      { status: 403, text: '' },
    ],
  ])('of a user who %s is answered by the present rights', async (_, change, answer) => {
    const person = await admin.bringIn(newName('late'), ['admin'])
    const before = (await admin.get('/iam/api-keys')).text
    const finish = await begin('/iam/api-keys', person.headers, newKey)
    await change(person)
    expect(await finish()).toMatchObject(answer)
    expect((await admin.get('/iam/api-keys')).text === before).toBe(!('status' in answer && answer.status === 201))
  })

  test('is authorized by the present grants of a role', async () => {
    await admin.putRole('maker', grant({ device: ['create'] }))
    const person = await admin.bringIn(newName('late'), ['maker'])
    const begun = ['LATE-1', 'LATE-2'].map((deviceIdentifier) =>
      begin('/devices', person.headers, { deviceIdentifier }),
    )
    const [inside, outside] = (await Promise.all(begun)) as [Send, Send]
    await admin.putRole('maker', grant({ device: ['create'] }, ['LATE-1']))
    expect([(await inside()).status, (await outside()).status]).toEqual([201, 404])
    expect((await admin.get('/devices/LATE-2')).status).toBe(404)
  })

  test('with a deleted API key creates nothing', async () => {
    const { id, key } = (await admin.post('/iam/api-keys', newKey)).json as { id: string; key: string }
    const finish = await begin('/devices', { 'x-api-key': key }, { deviceIdentifier: 'LATE-3' })
    await admin.delete(`/iam/api-keys/${id}`)
    expect(await finish()).toEqual({ status: 401, text: '{"error":"invalid API key"}' })
    expect((await admin.get('/devices/LATE-3')).status).toBe(404)
  })

  test('of an administrator creates nothing in a new tenant of the same name', async () => {
    const tenant = { tenantIdentifier: 'late', name: 'Late' }
    await admin.post('/iam/tenants', tenant)
    const boss = await admin.bringIn('late-boss', ['admin'], {}, '?tenant=late')
    const finish = await begin('/devices', boss.headers, { deviceIdentifier: 'GHOST-1' })
    await admin.delete('/iam/tenants/late')
    await expect.poll(async () => (await admin.post('/iam/tenants', tenant)).status).toBe(201)
    expect((await finish()).status).toBe(401)
    const next = await admin.bringIn('late-next', ['admin'], {}, '?tenant=late')
    expect((await next.get('/devices/GHOST-1')).status).toBe(404)
  })
})
