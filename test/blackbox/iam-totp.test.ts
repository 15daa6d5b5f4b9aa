import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DpopClient, type SecondFactorNeeded } from '#test/blackbox/dpop-client'
import {
  type Credentials,
  newName,
  Person,
  readToken,
  startWithIdentity,
  told,
  wrongFields,
} from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

/** One-time codes and codes to recover with. Contract 2, Second factor. */
describe('one-time codes', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  const base = '/auth/2fa'
  const badCode = [401, { error: 'invalid code' }]
  const pair = { accessToken: expect.any(String), refreshToken: expect.any(String) }
  const stepMs = 30_000
  /** Of the step so many further on. */
  const codeOf = (secret: string, steps = 0) =>
    new TOTP({ secret }).generate({ timestamp: Date.now() + steps * stepMs })
  /** A code that is right for none of the steps that count. */
  const wrongCodeOf = (secret: string) => {
    const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, steps))
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code)) ?? ''
  }
  const needed = (answer: Answer) => {
    expect([answer.status, (answer.json as SecondFactorNeeded).status]).toEqual([200, '2fa_required'])
    return answer.json as SecondFactorNeeded
  }
  const begin = async (who: Credentials) => {
    const client = await DpopClient.make(server)
    return { client, ...needed(await client.logIn(who)) }
  }
  const prove = (client: DpopClient, path: string, body: object) =>
    client.prove(`${base}${path}`, { method: 'POST', body })

  /** Somebody with one-time codes. */
  const enrolled = async () => {
    const who = await admin.bring(newName('coded'), ['viewer'])
    const client = await DpopClient.signIn(server, who)
    const { secret, otpauthUri } = (await client.post(`${base}/totp/enroll`, { password: who.password })).json as {
      secret: string
      otpauthUri: string
    }
    const activated = await client.post(`${base}/totp/activate`, { code: codeOf(secret, -1), password: who.password })
    return {
      who,
      client,
      secret,
      otpauthUri,
      activated,
      codes: (activated.json as { recoveryCodes: string[] }).recoveryCodes,
    }
  }

  test('are enrolled from a session, and then needed by every sign-in', async () => {
    const { who, client, secret, otpauthUri, activated, codes } = await enrolled()
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(otpauthUri).toMatch(new RegExp(`^otpauth://totp/.*secret=${secret}`))
    expect(told(activated)).toEqual([
      200,
      { recoveryCodes: Array(10).fill(expect.stringMatching(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)) },
    ])
    expect(new Set(codes).size).toBe(10)
    expect(await client.isIn()).toBe(true)
    expect(told(await admin.get(`/iam/users/${who.name}`))).toMatchObject([200, { twoFactor: ['totp'] }])
    expect(told(await readToken(server, who))).toEqual([401, { error: '2fa_required' }])

    const login = await begin(who)
    expect(login).toMatchObject({ expiresIn: 300, methods: ['totp', 'recovery'], enroll: false })
    const code = codeOf(secret)
    const done = login.client.keep(await prove(login.client, '/totp', { token: login.token, code }))
    expect(told(done)).toEqual([200, pair])
    expect(done.headers.get('cache-control')).toBe('no-store')
    expect(await login.client.isIn()).toBe(true)

    // Good once, nor is one of before.
    const again = await begin(who)
    for (const used of [code, codeOf(secret, -1)]) {
      expect(told(await prove(again.client, '/totp', { token: again.token, code: used }))).toEqual(badCode)
    }
  })

  test('an enrolment ends the other sessions', async () => {
    const who = await admin.bring(newName('others'), ['viewer'])
    const other = await Person.signIn(server, who)
    const client = await DpopClient.signIn(server, who)
    const { secret } = (await client.post(`${base}/totp/enroll`, { password: who.password })).json as { secret: string }
    expect(await other.isIn()).toBe(true)
    expect(
      told(await client.post(`${base}/totp/activate`, { code: wrongCodeOf(secret), password: who.password })),
    ).toEqual(badCode)
    expect((await client.post(`${base}/totp/activate`, { code: codeOf(secret), password: who.password })).status).toBe(
      200,
    )
    expect([await other.isIn(), await client.isIn()]).toEqual([false, true])
  })

  test('a token for the second factor is good for its key, its use and nothing else', async () => {
    const { who, secret } = await enrolled()
    const { client, token } = await begin(who)
    const stranger = await DpopClient.make(server)
    const badToken = [401, { error: 'invalid or expired token' }]
    const code = codeOf(secret)
    expect(told(await prove(stranger, '/totp', { token, code }))).toEqual(badToken)
    expect(told(await prove(client, '/totp', { token: `${token.slice(0, -3)}AAA`, code }))).toEqual(badToken)
    expect(told(await prove(client, '/totp', { token: 'garbage', code }))).toEqual(badToken)
    expect((await server.get('/iam/me', { authorization: `Bearer ${token}` })).status).toBe(401)
    expect((await client.refresh(token)).status).toBe(401)
    // Another password makes it worthless.
    const reset = await admin.post(`/iam/users/${who.name}/code`)
    const body = { name: who.name, code: (reset.json as { code: string }).code, password: 'another password' }
    expect((await server.ask('/iam/signup', { method: 'POST', body })).status).toBe(201)
    expect(told(await prove(client, '/totp', { token, code }))).toEqual(badToken)
  })

  test('wrong ones cost more and more time', async () => {
    const { who, secret, codes } = await enrolled()
    const { client, token } = await begin(who)
    const statuses: number[] = []
    for (let time = 0; time < 4; time++) {
      const answer = await prove(client, '/totp', { token, code: wrongCodeOf(secret) })
      statuses.push(answer.status)
      if (answer.status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(statuses).toEqual([401, 401, 401, 429])
    // For everything that is right as well.
    expect((await prove(client, '/recovery', { token, code: codes[0] })).status).toBe(429)
  })

  test('a reset by an administrator takes effect when its code is used', async () => {
    const { who } = await enrolled()
    const code = ((await admin.post(`/iam/users/${who.name}/code`, { resetTwoFactor: true })).json as { code: string })
      .code
    expect((await begin(who)).methods).toContain('totp')
    const password = 'another password'
    expect((await server.ask('/iam/signup', { method: 'POST', body: { name: who.name, code, password } })).status).toBe(
      201,
    )
    expect((await readToken(server, { name: who.name, password })).status).toBe(200)
    expect(told(await admin.get(`/iam/users/${who.name}`))).toMatchObject([200, { twoFactor: [] }])
  })

  test('are removed by who shows that it is he', async () => {
    const { who, secret, codes } = await enrolled()
    // Another session: the one that enrolled has shown the password a moment ago.
    const { client, token } = await begin(who)
    expect(client.keep(await prove(client, '/totp', { token, code: codeOf(secret) })).status).toBe(200)
    const remove = (body?: object) => client.ask(`${base}/totp`, { method: 'DELETE', body })
    expect((await remove()).status).toBe(400)
    expect(told(await remove({ password: 'wrong horse battery' }))).toEqual([401, { error: 'invalid credentials' }])
    expect(told(await remove({ code: codes[3] }))).toEqual([204, undefined])
    expect((await readToken(server, who)).status).toBe(200)
    expect((await remove({ password: who.password })).status).toBe(404)
  })

  describe('where the tenant requires a second factor', () => {
    const tenant = 'required'
    let who: Credentials

    beforeAll(async () => {
      await admin.post('/iam/tenants', { tenantIdentifier: tenant, name: 'Strict', twoFactor: 'required' })
      who = await admin.bring('strict user', ['viewer'], {}, `?tenant=${tenant}`)
    })

    test('the first login sets one up, and is completed by it', async () => {
      const login = await begin(who)
      expect(login).toMatchObject({ enroll: true, expiresIn: 900 })
      const { client, token } = login
      const enrolling = await prove(client, '/totp/enroll', { token })
      const { secret } = enrolling.json as { secret: string }
      const done = await prove(client, '/totp/activate', { token, code: codeOf(secret) })
      expect(told(done)).toEqual([200, { recoveryCodes: expect.any(Array), ...pair }])
      client.keep(done)
      expect(await client.isIn()).toBe(true)
      // Its code does not count as used for the login that it completed.
      const next = await begin(who)
      expect((await prove(next.client, '/totp', { token: next.token, code: codeOf(secret) })).status).toBe(200)
      const removed = await client.ask(`${base}/totp`, { method: 'DELETE', body: { password: who.password } })
      expect(told(removed)).toEqual([409, { error: 'the tenant requires a second factor' }])
    })
  })

  test.each([
    ['/totp', { code: '123456' }, 'token'],
    ['/totp', { token: 'x' }, 'code'],
    ['/totp', { token: 'x', code: 123456 }, 'code'],
    ['/recovery', { token: 'x', code: 'y', more: 1 }, 'more'],
    ['/totp/activate', { password: 'x' }, 'code'],
    ['/webauthn/register/verify', { token: 'x' }, 'id'],
    ['/webauthn/authenticate/verify', { token: 'x' }, 'id'],
  ])('%s with %j: 400', async (path, body, at) => {
    const client = await DpopClient.make(server)
    const answer = await prove(client, path, body)
    expect(wrongFields(answer)).toContain(at)
  })
})
