import { type CryptoKeyPair, generateKeyPair, generateProof } from 'dpop'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { identityOn, newName, root, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { domain, NginxProxy, noNginx, type ProxyAnswer, type ProxyRequest } from '#test/ops/nginx-proxy'

/** The server behind nginx with the shipped configuration. Contract 2, DPoP and rate limits. */
describe('behind nginx', () => {
  let server: StartedServer
  let proxy: NginxProxy | undefined
  let admin: SignedInUser

  beforeAll(async () => {
    if (noNginx && !process.env.CI) {
      console.warn(noNginx)
      return
    }
    server = await StartedServer.start({ ...identityOn, TRUST_PROXY: 'on', RATE_LIMITS: 'on' })
    proxy = await NginxProxy.start(server.port)
    admin = await SignedInUser.signIn(server)
  })
  afterAll(async () => {
    await proxy?.stop()
    await server?.finish()
  })
  // In CI nginx is required: without it the start above fails.
  beforeEach((context) => {
    if (!proxy) context.skip(noNginx)
  })

  const nginx = () => proxy as NginxProxy
  const api = (path: string, request: ProxyRequest = {}) => nginx().ask(`/api/v1${path}`, request)
  const json = ({ text }: ProxyAnswer) => JSON.parse(text) as Record<string, unknown>
  const basic = (name: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  })
  /** Headers of clients, which must not count. */
  const forgedHeaders = {
    'x-forwarded-for': '203.0.113.66',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'evil.example',
    'x-real-ip': '203.0.113.66',
    forwarded: 'for=203.0.113.66;proto=http;host=evil.example',
  }

  /** Sends a request with a proof for `url`, and repeats it with the required nonce. */
  async function askWithProof(
    keys: CryptoKeyPair,
    url: string,
    path: string,
    request: ProxyRequest,
    accessToken?: string,
  ): Promise<ProxyAnswer> {
    const method = request.method ?? 'GET'
    const once = async (nonce?: string) => {
      const dpop = await generateProof(keys, url, method, nonce, accessToken)
      const authorization = accessToken === undefined ? {} : { authorization: `DPoP ${accessToken}` }
      return nginx().ask(path, { ...request, headers: { ...request.headers, ...authorization, dpop } })
    }
    const first = await once()
    const nonce = first.headers['dpop-nonce']
    return first.status === 400 && typeof nonce === 'string' ? once(nonce) : first
  }

  const login = { method: 'POST', body: JSON.stringify({ email: root.name, password: root.password }) }

  test('a proof must name the public URL, also with forged headers', async () => {
    const keys = await generateKeyPair('ES256')
    const path = '/api/v1/auth/login'
    const publicUrl = nginx().origin + path
    for (const headers of [{}, forgedHeaders]) {
      expect((await askWithProof(keys, publicUrl, path, { ...login, headers })).status).toBe(200)
    }
    const others = [
      `http://127.0.0.1:${server.port}${path}`,
      `http://${domain}:${nginx().port}${path}`,
      `http://evil.example${path}`,
      `https://evil.example${path}`,
      `https://${domain}${path}`,
    ]
    for (const other of others) {
      const answer = await askWithProof(keys, other, path, { ...login, headers: forgedHeaders })
      expect([other, answer.status, json(answer)]).toEqual([other, 401, { error: 'htu mismatch' }])
    }
  })

  test('paths are forwarded unchanged', async () => {
    const keys = await generateKeyPair('ES256')
    const signedIn = json(await askWithProof(keys, `${nginx().origin}/api/v1/auth/login`, '/api/v1/auth/login', login))
    const accessToken = String(signedIn.accessToken)
    expect((await admin.post('/devices', { deviceIdentifier: 'AB-1' })).status).toBe(201)
    const path = '/api/v1/devices/%41B%2D1'
    const answer = await askWithProof(keys, nginx().origin + path, `${path}?depth=0`, {}, accessToken)
    expect([answer.status, json(answer)]).toMatchObject([200, { deviceIdentifier: 'AB-1' }])
    for (const odd of ['/api/v1//devices', '/api/v1/devices/', '/api/v1/./devices', '/api/v1/x/../devices']) {
      expect([odd, (await nginx().ask(odd, { headers: admin.headers as Record<string, string> })).status]).toEqual([
        odd,
        404,
      ])
    }
  })

  test('sessions have the address of the connection, not one of forged headers', async () => {
    const user = await admin.bring(newName('forwarded'), ['viewer'])
    for (const headers of [{}, forgedHeaders, { 'x-forwarded-for': '203.0.113.1, 203.0.113.2' }]) {
      const answer = await api('/iam/token', {
        from: '127.0.0.9',
        headers: { ...basic(user.name, user.password), ...headers },
      })
      expect(answer.status).toBe(200)
    }
    const { json: sessions } = await admin.get(`/iam/users/${user.name}/sessions`)
    const addresses = (sessions as { address: string }[]).map(({ address }) => address)
    expect(addresses).toEqual(['127.0.0.9', '127.0.0.9', '127.0.0.9'])
  })

  test('wrong passwords are limited by address, which a client cannot forge', async () => {
    const user = await admin.bring(newName('guessed'), ['viewer'])
    const guess = (from: string, forged: string) =>
      api('/iam/token', { from, headers: { ...basic(user.name, 'a wrong password'), 'x-forwarded-for': forged } })
    const statuses: number[] = []
    for (let at = 0; at < 12; at++) statuses.push((await guess('127.0.0.21', `203.0.113.${at}`)).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    // Other addresses are not limited.
    expect((await api('/iam/token', { from: '127.0.0.22', headers: basic(user.name, user.password) })).status).toBe(200)
    expect((await guess('127.0.0.22', '127.0.0.21')).status).toBe(401)
  })

  test('websockets open, and close with the code of the server', async () => {
    const { ticket } = (await admin.get('/events/ticket')).json as { ticket: string }
    const url = `wss://127.0.0.1:${nginx().port}/api/v1/events/${ticket}?offset=now`
    const host = `${domain}:${nginx().port}`
    const socket = new WebSocket(url, [], {
      rejectUnauthorized: false,
      headers: { host, origin: `https://${host}` },
    })
    const received: { type: string }[] = []
    socket.on('message', (data) => received.push(JSON.parse(String(data)) as { type: string }))
    await new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    socket.send('no JSON')
    expect(await closed).toBe(4400)
    expect(received[0]).toMatchObject({ type: 'STREAM', recovered: true })
    const foreign = new WebSocket(url, [], {
      rejectUnauthorized: false,
      headers: { host, origin: 'https://evil.example', ...forgedHeaders },
    })
    expect(
      await new Promise((resolve) => foreign.once('unexpected-response', (_, { statusCode }) => resolve(statusCode))),
    ).toBe(403)
  })

  test('pages of the public origin may send requests, others may not', async () => {
    const allowed = async (origin: string) =>
      (await api('/health', { headers: { origin, ...forgedHeaders } })).headers['access-control-allow-origin']
    expect(await allowed(nginx().origin)).toBe(nginx().origin)
    for (const origin of ['https://evil.example', 'http://evil.example', `http://${domain}:${nginx().port}`]) {
      expect(await allowed(origin)).toBeUndefined()
    }
  })

  test('another host is refused', async () => {
    await expect(api('/health', { host: 'evil.example' })).rejects.toThrow()
  })

  test('long answers are streamed, and large bodies refused by the server', async () => {
    const answer = await api('/backup', { headers: admin.headers as Record<string, string> })
    expect([answer.status, answer.headers['transfer-encoding']]).toEqual([200, 'chunked'])
    const tooLarge = await api('/schemas/big', {
      method: 'PUT',
      headers: admin.headers as Record<string, string>,
      body: JSON.stringify({ name: 'x'.repeat(2 ** 20), properties: {} }),
    })
    expect([tooLarge.status, json(tooLarge)]).toEqual([413, { error: expect.stringContaining('1048576') }])
  })
})
