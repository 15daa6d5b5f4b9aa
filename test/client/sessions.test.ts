import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, ConnectionLost, connect, may } from '#client/client'
import type { ConnectOptions } from '#client/options'
import { memoryStore } from '#client/session-store'
import { type Credentials, newName, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { TestFetch, type TestRequest, tokenRefused } from '#test/client/test-fetch'

/** Sessions on a real server. §5, contract 2. */
describe('the session of a client', () => {
  let server: StartedServer
  let admin: SignedInUser

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await SignedInUser.signIn(server)
  })
  afterAll(() => server?.finish())

  const url = () => `http://127.0.0.1:${server.port}`
  const client = (options: ConnectOptions = {}) => {
    const record = new RecordedFetch()
    return { record, client: connect({ url: url(), fetch: record.fetch, ...options }) }
  }
  const newUser = (roles = ['viewer']) => admin.bring(newName('person'), roles)
  const signIn = (client: Client, { name, password }: Credentials) => client.signIn({ email: name, password })
  /** Expects that the server refuses a call. */
  const refused = (call: Promise<unknown>, problem: object) =>
    expect(call).rejects.toMatchObject({ name: 'Problem', ...problem })

  test('needs one nonce, has the name and permissions of the user, and can be ended', async () => {
    const user = await newUser(['operator'])
    const { client: person, record } = client()
    expect(person.session.value).toEqual({ state: 'unknown', permissions: {} })
    const states: string[] = []
    person.session.subscribe(() => states.push(person.session.value.state))
    expect(await signIn(person, user)).toBe('signed in')
    expect(record.statusesOf('POST /auth/login')).toEqual([400, 200])
    expect(person.session.value).toMatchObject({ state: 'signed in', name: user.name, tenant: 'default' })
    expect(may(person.session.value, 'service', 'update')).toBe(true)
    expect(may(person.session.value, 'users', 'read')).toBe(false)
    expect(await person.call('GET /devices', { query: { depth: 2, raw: false } })).toEqual([])
    expect(record.requests.filter(({ status }) => status === 400)).toHaveLength(1)
    expect(record.requests.at(-1)?.headers.get('authorization')).toMatch(/^DPoP /)
    await person.signOut()
    expect(person.session.value.state).toBe('signed out')
    await refused(person.call('GET /devices'), { status: 401 })
    expect(states).toEqual(['signed in', 'signed out'])
  })

  test('is shared by the clients of one store, and ends for all of them', async () => {
    const user = await newUser()
    const store = memoryStore()
    const { client: first } = client({ store })
    await signIn(first, user)
    const stored = await store.read()
    expect(stored?.keys.privateKey.extractable).toBe(false)
    const { client: second, record } = client({ store })
    expect(await second.restore()).toMatchObject({ state: 'signed in', name: user.name })
    expect(record.statusesOf('POST /auth/token')).toEqual([])
    await second.signOut()
    expect(await store.read()).toBeUndefined()
    await refused(first.call('GET /iam/me'), { status: 401 })
    expect(first.session.value.state).toBe('signed out')
    expect(await client({ store }).client.restore()).toMatchObject({ state: 'signed out' })
  })

  test('is renewed once for all calls of all its clients', async () => {
    const user = await newUser()
    const store = memoryStore()
    const one = client({ store })
    const other = client({ store })
    await signIn(one.client, user)
    await other.client.restore()
    for (const { client, record } of [one, other]) {
      await client.call('GET /iam/me')
      record.expireToken()
    }
    const calls = [one, other].flatMap(({ client }) => Array.from({ length: 10 }, () => client.call('GET /iam/me')))
    expect((await Promise.all(calls)).map(({ name }) => name)).toEqual(Array(20).fill(user.name))
    const renewals = [one, other].flatMap(({ record }) => record.statusesOf('POST /auth/token'))
    expect(renewals.filter((status) => status === 200)).toHaveLength(1)
  })

  test('survives a renewal whose answer is lost', async () => {
    const user = await newUser()
    const { client: person, record } = client()
    await signIn(person, user)
    record.expireToken()
    let lost = 0
    record.isLost = ({ path, status }) => path === '/auth/token' && status === 200 && lost++ === 0
    expect(await person.call('GET /iam/me')).toMatchObject({ name: user.name })
    expect([lost > 0, record.statusesOf('POST /auth/token').filter((status) => status === 200)]).toEqual([
      true,
      [200, 200],
    ])
    record.expireToken()
    expect(await person.call('GET /iam/me')).toMatchObject({ name: user.name })
  })

  test('is over when the server ends it', async () => {
    const user = await newUser()
    const { client: person } = client()
    await signIn(person, user)
    await admin.patch(`/iam/users/${user.name}`, { state: 'disabled' })
    await refused(person.call('GET /devices'), { message: 'session over' })
    expect(person.session.value.state).toBe('signed out')
  })

  test('works on a machine whose clock is wrong by an hour', async () => {
    const user = await newUser()
    for (const wrongMs of [-3_600_000, 3_600_000]) {
      const { client: person, record } = client({ now: () => Date.now() + wrongMs })
      expect(await signIn(person, user)).toBe('signed in')
      expect(await person.call('GET /iam/me')).toMatchObject({ name: user.name })
      // The client corrects first the time and then the nonce. Later proofs have both.
      expect(record.statusesOf('POST /auth/login')).toEqual([401, 400, 200])
      expect(record.statusesOf('GET /iam/me')).toEqual([200, 200])
      expect(Math.abs(person.now() - Date.now())).toBeLessThan(60_000)
    }
  })

  test('begins only with the name of a tenant if several tenants match', async () => {
    const { name, password } = await newUser()
    for (const tenantIdentifier of ['one', 'two']) {
      expect((await admin.post('/iam/tenants', { tenantIdentifier, name: tenantIdentifier })).status).toBe(201)
      const invited = await admin.post(`/iam/users?tenant=${tenantIdentifier}`, {
        name: `${name}-${tenantIdentifier}`,
        email: 'both@example.com',
        roles: ['viewer'],
      })
      const { code } = invited.json as { code: string }
      await connect({ url: url() }).call('POST /iam/signup', {
        body: { name: `${name}-${tenantIdentifier}`, code, password },
      })
    }
    const { client: person } = client()
    const outcome = await person.signIn({ email: 'both@example.com', password })
    expect(outcome).toMatchObject({ tenants: [{ tenantIdentifier: 'one' }, { tenantIdentifier: 'two' }] })
    expect(await person.signIn({ email: 'both@example.com', password, tenantIdentifier: 'two' })).toBe('signed in')
    expect(person.session.value).toMatchObject({ tenant: 'two', name: `${name}-two` })
  })

  test('begins after the setup of a required second factor, and later after a recovery code', async () => {
    const strict = { tenantIdentifier: 'strict', name: 'Strict', twoFactor: 'required' }
    expect((await admin.post('/iam/tenants', strict)).status).toBe(201)
    const user = await admin.bring(newName('strict'), ['viewer'], {}, '?tenant=strict')
    const { client: person } = client()
    expect(await signIn(person, user)).toEqual({ secondFactor: { methods: ['totp', 'webauthn'], enroll: true } })
    expect(person.session.value).toMatchObject({ state: 'second factor', enroll: true })
    const { secret, otpauthUri } = await person.enrollTotp()
    expect(otpauthUri).toMatch(/^otpauth:/)
    const { recoveryCodes } = await person.activateTotp(new TOTP({ secret }).generate())
    expect(person.session.value).toMatchObject({ state: 'signed in', name: user.name })
    await person.signOut()
    expect(await signIn(person, user)).toEqual({
      secondFactor: { methods: expect.arrayContaining(['totp', 'recovery']), enroll: false },
    })
    await refused(person.secondFactor({ code: '000000' }), { status: 401 })
    expect(person.session.value.state).toBe('second factor')
    expect(await person.secondFactor({ recovery: recoveryCodes[0] ?? '' })).toBe('signed in')
    expect(await person.call('GET /iam/me')).toMatchObject({ name: user.name })
    const { client: program } = client({ credentials: { scheme: 'basic', ...user } })
    await refused(program.call('GET /iam/me'), { status: 401, code: '2fa_required' })
    const { client: other } = client({ credentials: { scheme: 'dpop', email: user.name, password: user.password } })
    await refused(other.call('GET /iam/me'), { status: 401, code: '2fa_required' })
  })

  test('continues after a wrong password, which the client distinguishes from an expired token', async () => {
    const user = await newUser()
    const { client: person, record } = client()
    await refused(person.signIn({ email: user.name, password: 'wrong password' }), {
      status: 401,
      message: 'invalid credentials',
    })
    await signIn(person, user)
    const body = { current: 'wrong password', password: 'another password' }
    await refused(person.call('PUT /auth/password', { body }), { message: 'invalid credentials' })
    expect(record.statusesOf('PUT /auth/password')).toEqual([401])
    expect(person.session.value.state).toBe('signed in')
  })

  test('of a program starts automatically, is renewed, and starts again after its end', async () => {
    const user = await newUser()
    for (const credentials of [
      { scheme: 'basic', ...user },
      { scheme: 'dpop', email: user.name, password: user.password },
    ] as const) {
      const { client: program, record } = client({ credentials })
      const calls = Array.from({ length: 5 }, () => program.call('GET /iam/me'))
      expect((await Promise.all(calls)).map(({ name }) => name)).toEqual(Array(5).fill(user.name))
      const signsIn = credentials.scheme === 'basic' ? 'GET /iam/token?scope=offline' : 'POST /auth/login'
      const renews =
        credentials.scheme === 'basic' ? 'POST /iam/token?grant_type=refresh_token&scope=offline' : 'POST /auth/token'
      const successCount = (route: string) => record.statusesOf(route).filter((status) => status === 200).length
      record.expireToken()
      await Promise.all([program.call('GET /iam/me'), program.call('GET /iam/me')])
      expect([successCount(signsIn), successCount(renews)]).toEqual([1, 1])
      expect((await admin.delete(`/iam/users/${user.name}/sessions`)).status).toBe(204)
      expect(await program.call('GET /iam/me')).toMatchObject({ name: user.name })
      expect(successCount(signsIn)).toBe(2)
    }
  })

  test('is not needed with an API key', async () => {
    const { key } = (await admin.post('/iam/api-keys', { name: newName('key'), roles: ['viewer'] })).json as {
      key: string
    }
    const { client: program } = client({ credentials: { apiKey: key } })
    expect(await program.restore()).toMatchObject({ state: 'signed in', roles: ['viewer'] })
    expect(await client({ credentials: { apiKey: 'no such key' } }).client.restore()).toMatchObject({
      state: 'signed out',
    })
  })

  test('reports the errors of its calls', async () => {
    const { client: program } = client({ credentials: { scheme: 'basic', name: 'root', password: admin.password } })
    await refused(program.call('GET /devices', { query: { limit: 0 } }), {
      status: 400,
      details: [{ path: 'limit', message: expect.any(String) }],
      requestId: expect.any(String),
    })
    const parameters = { deviceIdentifier: 'NO-SUCH' }
    await refused(program.call('GET /devices/:deviceIdentifier', { parameters }), {
      status: 404,
      message: 'Not Found',
    })
    expect(await program.answer('GET /devices/:deviceIdentifier', { parameters })).toMatchObject({ status: 404 })
    const lost = await connect({ url: 'http://127.0.0.1:9' })
      .call('GET /health')
      .catch((error) => error)
    expect(lost).toBeInstanceOf(ConnectionLost)
    expect(lost.mayHaveChanged).toBe(false)
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(program.call('GET /health', { signal })).rejects.toThrow('enough')
    await expect(
      program.call('GET /devices/:deviceIdentifier', { parameters: { deviceIdentifier: '..' } }),
    ).rejects.toBeInstanceOf(TypeError)
  })
})

/** Sends requests to a real server. A test can expire tokens and lose answers. */
class RecordedFetch extends TestFetch {
  /** Decides whether an answer is lost after the server has sent it. */
  isLost: (request: TestRequest) => boolean = () => false
  readonly #expired = new Set<string | null>()

  constructor() {
    super(async (request, forward) => {
      const isExpired = this.#expired.has(request.headers.get('authorization'))
      const response = isExpired ? tokenRefused() : await forward()
      request.status = response.status
      if (!this.isLost(request)) return response
      await response.arrayBuffer()
      return new TypeError('lost')
    })
  }

  /** Expires the token of the last request. */
  expireToken(): void {
    this.#expired.add(this.requests.at(-1)?.headers.get('authorization') ?? null)
  }
}
