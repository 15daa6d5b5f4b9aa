import { type CryptoKeyPair, generateKeyPair, generateProof } from 'dpop'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { identityOn, newName, Person, root } from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { type Asked, domain, NginxProxy, noNginx, type Told } from '#test/ops/nginx-proxy'

/**
 * The server behind a real nginx with the configuration that we ship: what is believed of `X-Forwarded-…`, and what is not.
 * Contract 2, DPoP and rate limits.
 */
describe('behind nginx', () => {
  let server: StartedServer
  let proxy: NginxProxy | undefined
  let admin: Person

  beforeAll(async () => {
    if (noNginx && !process.env.CI) {
      console.warn(noNginx)
      return
    }
    server = await StartedServer.start({ ...identityOn, TRUST_PROXY: 'on', RATE_LIMITS: 'on' })
    proxy = await NginxProxy.start(server.port)
    admin = await Person.signIn(server)
  })
  afterAll(async () => {
    await proxy?.stop()
    await server?.finish()
  })
  // In CI there has to be one: there the start above fails.
  beforeEach((context) => {
    if (!proxy) context.skip(noNginx)
  })

  const front = () => proxy as NginxProxy
  const api = (path: string, asked: Asked = {}) => front().ask(`/api/v1${path}`, asked)
  const json = ({ text }: Told) => JSON.parse(text) as Record<string, unknown>
  const basic = (name: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  })
  /** What clients may say of themselves. */
  const lies = {
    'x-forwarded-for': '203.0.113.66',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.example',
    'x-real-ip': '203.0.113.66',
    forwarded: 'for=203.0.113.66;proto=http;host=evil.example',
  }

  /** A proof for what is said to be seen; once more with the nonce that is asked for. */
  async function proven(
    keys: CryptoKeyPair,
    url: string,
    path: string,
    asked: Asked,
    accessToken?: string,
  ): Promise<Told> {
    const method = asked.method ?? 'GET'
    const once = async (nonce?: string) => {
      const dpop = await generateProof(keys, url, method, nonce, accessToken)
      const authorization = accessToken === undefined ? {} : { authorization: `DPoP ${accessToken}` }
      return front().ask(path, { ...asked, headers: { ...asked.headers, ...authorization, dpop } })
    }
    const first = await once()
    const nonce = first.headers['dpop-nonce']
    return first.status === 400 && typeof nonce === 'string' ? once(nonce) : first
  }

  const login = { method: 'POST', body: JSON.stringify({ email: root.name, password: root.password }) }

  test('a proof is for the address that clients see, whatever a request says of it', async () => {
    const keys = await generateKeyPair('ES256')
    const path = '/api/v1/auth/login'
    const seen = front().origin + path
    for (const headers of [{}, lies]) {
      expect((await proven(keys, seen, path, { ...login, headers })).status).toBe(200)
    }
    const others = [
      `http://127.0.0.1:${server.port}${path}`,
      `http://${domain}:${front().port}${path}`,
      `http://evil.example${path}`,
      `https://evil.example${path}`,
      `https://${domain}${path}`,
    ]
    for (const other of others) {
      const answer = await proven(keys, other, path, { ...login, headers: lies })
      expect([other, answer.status, json(answer)]).toEqual([other, 401, { error: 'htu mismatch' }])
    }
  })

  test('paths come through byte for byte', async () => {
    const keys = await generateKeyPair('ES256')
    const signedIn = json(await proven(keys, `${front().origin}/api/v1/auth/login`, '/api/v1/auth/login', login))
    const accessToken = String(signedIn.accessToken)
    expect((await admin.post('/devices', { deviceIdentifier: 'AB-1' })).status).toBe(201)
    const path = '/api/v1/devices/%41B%2D1'
    const asked = await proven(keys, front().origin + path, `${path}?depth=0`, {}, accessToken)
    expect([asked.status, json(asked)]).toMatchObject([200, { deviceIdentifier: 'AB-1' }])
    for (const odd of ['/api/v1//devices', '/api/v1/devices/', '/api/v1/./devices', '/api/v1/x/../devices']) {
      expect([odd, (await front().ask(odd, { headers: admin.headers as Record<string, string> })).status]).toEqual([
        odd,
        404,
      ])
    }
  })

  test('sessions are from the last address, not from one that a client names', async () => {
    const who = await admin.bring(newName('seen'), ['viewer'])
    for (const headers of [{}, lies, { 'x-forwarded-for': '203.0.113.1, 203.0.113.2' }]) {
      const answer = await api('/iam/token', {
        from: '127.0.0.9',
        headers: { ...basic(who.name, who.password), ...headers },
      })
      expect(answer.status).toBe(200)
    }
    const { json: sessions } = await admin.get(`/iam/users/${who.name}/sessions`)
    const addresses = (sessions as { address: string }[]).map(({ address }) => address)
    expect(addresses).toEqual(['127.0.0.9', '127.0.0.9', '127.0.0.9'])
  })

  test('who guesses is slowed down by his own address, and cannot give himself another', async () => {
    const who = await admin.bring(newName('guessed'), ['viewer'])
    const guess = (from: string, forged: string) =>
      api('/iam/token', { from, headers: { ...basic(who.name, 'a wrong password'), 'x-forwarded-for': forged } })
    const statuses: number[] = []
    for (let at = 0; at < 12; at++) statuses.push((await guess('127.0.0.21', `203.0.113.${at}`)).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    // Others go on, him from elsewhere among them.
    expect((await api('/iam/token', { from: '127.0.0.22', headers: basic(who.name, who.password) })).status).toBe(200)
    expect((await guess('127.0.0.22', '127.0.0.21')).status).toBe(401)
  })

  test('websockets open, and close with the code that the server says', async () => {
    const { ticket } = (await admin.get('/events/ticket')).json as { ticket: string }
    const url = `wss://127.0.0.1:${front().port}/api/v1/events/${ticket}?offset=now`
    const host = `${domain}:${front().port}`
    const socket = new WebSocket(url, [], {
      rejectUnauthorized: false,
      headers: { host, origin: `https://${host}` },
    })
    const heard: { type: string }[] = []
    socket.on('message', (data) => heard.push(JSON.parse(String(data)) as { type: string }))
    await new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    socket.send('no JSON')
    expect(await closed).toBe(4400)
    expect(heard[0]).toMatchObject({ type: 'STREAM', recovered: true })
    const foreign = new WebSocket(url, [], {
      rejectUnauthorized: false,
      headers: { host, origin: 'https://evil.example', ...lies },
    })
    expect(
      await new Promise((resolve) => foreign.once('unexpected-response', (_, { statusCode }) => resolve(statusCode))),
    ).toBe(403)
  })

  test('pages of the name that clients see may ask, others may not', async () => {
    const allowed = async (origin: string) =>
      (await api('/health', { headers: { origin, ...lies } })).headers['access-control-allow-origin']
    expect(await allowed(front().origin)).toBe(front().origin)
    for (const origin of ['https://evil.example', 'http://evil.example', `http://${domain}:${front().port}`]) {
      expect(await allowed(origin)).toBeUndefined()
    }
  })

  test('another name is not answered', async () => {
    await expect(api('/health', { host: 'evil.example' })).rejects.toThrow()
  })

  test('long answers and large bodies go through as they come', async () => {
    const answer = await api('/backup', { headers: admin.headers as Record<string, string> })
    expect([answer.status, answer.headers['transfer-encoding']]).toEqual([200, 'chunked'])
    const tooLarge = await api('/schemas/big', {
      method: 'PUT',
      headers: admin.headers as Record<string, string>,
      body: JSON.stringify({ name: 'x'.repeat(2 ** 20), properties: {} }),
    })
    expect([tooLarge.status, json(tooLarge)]).toEqual([413, { error: expect.stringContaining('1048576') }])
  })

  // The last: it takes the server away from the others.
  test('without TRUST_PROXY none of it is heard', async () => {
    expect(await server.stop()).toBe(0)
    await proxy?.stop()
    await server.startAgain({ TRUST_PROXY: 'off' })
    proxy = await NginxProxy.start(server.port)
    const person = await Person.signIn(server)
    const who = await person.bring(newName('unseen'), ['viewer'])
    expect(
      (await api('/iam/token', { from: '127.0.0.9', headers: { ...basic(who.name, who.password), ...lies } })).status,
    ).toBe(200)
    const { json: sessions } = await person.get(`/iam/users/${who.name}/sessions`)
    expect((sessions as { address: string }[]).map(({ address }) => address)).toEqual(['127.0.0.1'])
    const path = '/api/v1/auth/login'
    const keys = await generateKeyPair('ES256')
    // Host comes through, and nothing says that it was TLS.
    expect(
      (await proven(keys, `http://${domain}:${front().port}${path}`, path, { ...login, headers: lies })).status,
    ).toBe(200)
    expect((await proven(keys, front().origin + path, path, login)).status).toBe(401)
  })
})
