import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DpopClient, type Pair, type SecondFactorNeeded } from '#test/blackbox/dpop-client'
import { type Credentials, newName, Person, readToken, startWithIdentity, told } from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'
import { type CredentialJson, noBrowser, VirtualAuthenticator } from '#test/blackbox/virtual-authenticator'

/** WebAuthn as a browser does it: Chromium with an authenticator of its own. Contract 2, Second factor. */
describe('WebAuthn in a browser', () => {
  let server: StartedServer
  let admin: Person
  let browser: VirtualAuthenticator | undefined

  beforeAll(async () => {
    if (noBrowser && !process.env.CI) {
      console.warn(noBrowser)
      return
    }
    server = await startWithIdentity()
    admin = await Person.signIn(server)
    browser = await VirtualAuthenticator.open()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.finish()
  })

  // In CI there has to be one: there the launch above fails.
  beforeEach(async (context) => {
    if (!browser) context.skip(noBrowser)
    else await browser.visit(`http://localhost:${server.port}/api/v1/health`)
  })

  const page = () => browser as VirtualAuthenticator
  const badCode = [401, { error: 'invalid code' }]
  const badRegistration = [
    400,
    { error: 'Validation Error', details: [{ path: 'response', message: expect.any(String) }] },
  ]
  const base = '/auth/2fa/webauthn'

  const register = async (client: DpopClient, who: Credentials, name = 'Key ring') => {
    const options = await client.post(`${base}/register/options`, { password: who.password })
    expect(options.status).toBe(200)
    const credential = await page().create(options.json)
    const answer = await client.post(`${base}/register/verify`, { ...credential, name, password: who.password })
    return { answer, credential }
  }
  const somebody = async (): Promise<{ who: Credentials; client: DpopClient }> => {
    const who = await admin.bring(newName('keyed'), ['viewer'])
    return { who, client: await DpopClient.signIn(server, who) }
  }
  const needed = (answer: Answer) => {
    expect(answer.status).toBe(200)
    return answer.json as SecondFactorNeeded
  }
  const challenge = async (client: DpopClient, token: string) => {
    const options = await client.prove(`${base}/authenticate/options`, { method: 'POST', body: { token } })
    expect(options.status).toBe(200)
    return options.json
  }
  const verify = (client: DpopClient, token: string, credential: CredentialJson) =>
    client.prove(`${base}/authenticate/verify`, { method: 'POST', body: { token, ...credential } })

  test('a key is registered, named and listed, and then needed to sign in', async () => {
    const { who, client } = await somebody()
    const elsewhere = await Person.signIn(server, who)
    const { answer, credential } = await register(client, who)
    expect(told(answer)).toEqual([
      200,
      { id: credential.id, recoveryCodes: Array(10).fill(expect.stringMatching(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)) },
    ])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    // The other sessions end.
    expect([await client.isIn(), await elsewhere.isIn()]).toEqual([true, false])
    expect(told(await client.get(`${base}/credentials`))).toEqual([
      200,
      [
        {
          id: credential.id,
          name: 'Key ring',
          createdAt: expect.any(Number),
          lastUsedAt: expect.any(Number),
          transports: ['usb'],
        },
      ],
    ])
    expect(told(await admin.get(`/iam/users/${who.name}`))).toMatchObject([200, { twoFactor: ['webauthn'] }])
    expect(told(await readToken(server, who))).toEqual([401, { error: '2fa_required' }])

    const login = await DpopClient.make(server)
    const need = needed(await login.logIn(who))
    expect(need).toEqual({
      status: '2fa_required',
      token: expect.any(String),
      expiresIn: 300,
      methods: ['webauthn', 'recovery'],
      enroll: false,
    })
    const signed = await page().get(await challenge(login, need.token))
    const done = login.keep(await verify(login, need.token, signed))
    expect(told(done)).toEqual([200, { accessToken: expect.any(String), refreshToken: expect.any(String) }])
    expect(await login.isIn()).toBe(true)
  })

  describe('an answer is good', () => {
    const keyed = async () => {
      const { who, client } = await somebody()
      const { answer, credential } = await register(client, who)
      const { recoveryCodes } = answer.json as { recoveryCodes: readonly string[] }
      return { who, credential, recoveryCodes }
    }
    const begin = async (who: Credentials) => {
      const client = await DpopClient.make(server)
      const { token } = needed(await client.logIn(who))
      return { client, token }
    }

    test('once, for its own challenge', async () => {
      const { client, token } = await begin((await keyed()).who)
      const signed = await page().get(await challenge(client, token))
      expect((await verify(client, token, signed)).status).toBe(200)
      expect(told(await verify(client, token, signed))).toEqual(badCode)
      const stale = await page().get(await challenge(client, token))
      await challenge(client, token)
      expect(told(await verify(client, token, stale))).toEqual(badCode)
    })

    test('on a page of ours', async () => {
      const { client, token } = await begin((await keyed()).who)
      const options = await challenge(client, token)
      await page().visit(page().foreignOrigin)
      expect(told(await verify(client, token, await page().get(options)))).toEqual(badCode)
    })

    test('for whom the challenge was made', async () => {
      const { who } = await keyed()
      const [one, other] = [await begin(who), await begin(who)]
      const signed = await page().get(await challenge(one.client, one.token))
      expect(told(await verify(other.client, other.token, signed))).toEqual(badCode)
      // A 2FA token is its key's alone.
      expect(told(await verify(other.client, one.token, signed))).toEqual([401, { error: 'invalid or expired token' }])
    })

    test('of a credential of his own', async () => {
      const stranger = await somebody()
      const foreign = await register(stranger.client, stranger.who)
      const login = await DpopClient.make(server)
      const { token } = needed(await login.logIn(stranger.who))
      const signed = await page().get(await challenge(login, token))
      expect(signed.id).toBe(foreign.credential.id)
      const { client, token: own } = await begin((await keyed()).who)
      await challenge(client, own)
      expect(told(await verify(client, own, signed))).toEqual(badCode)
    })

    test('from an authenticator that was not copied', async () => {
      const { who, credential } = await keyed()
      const signIn = async (count: number) => {
        await page().setCount(credential.id, count)
        const { client, token } = await begin(who)
        return verify(client, token, await page().get(await challenge(client, token)))
      }
      expect((await signIn(50)).status).toBe(200)
      expect(told(await signIn(5))).toEqual(badCode)
      expect((await signIn(100)).status).toBe(200)
    })

    test('or else a recovery code, which is good once', async () => {
      const { who, recoveryCodes: codes } = await keyed()
      const use = async (code = '') => {
        const { client, token } = await begin(who)
        return client.prove('/auth/2fa/recovery', { method: 'POST', body: { token, code } })
      }
      expect(told(await use(codes[0]))).toMatchObject([200, { accessToken: expect.any(String) } as Partial<Pair>])
      expect(told(await use(codes[0]))).toEqual(badCode)
      expect((await use(codes[1]?.toLowerCase().replaceAll('-', ' '))).status).toBe(200)
    })
  })

  test('a registration on a page of elsewhere, or for another challenge, is none', async () => {
    const { who, client } = await somebody()
    const ask = async () => (await client.post(`${base}/register/options`, { password: who.password })).json
    const send = (credential: CredentialJson) =>
      client.post(`${base}/register/verify`, { ...credential, password: who.password })
    const options = await ask()
    await page().visit(page().foreignOrigin)
    expect(told(await send(await page().create(options)))).toEqual(badRegistration)
    await page().visit(`http://localhost:${server.port}/api/v1/health`)
    const stale = await page().create(await ask())
    await ask()
    expect(told(await send(stale))).toEqual(badRegistration)
    expect(told(await client.get(`${base}/credentials`))).toEqual([200, []])
  })

  test('turning one on or off needs more than a token', async () => {
    const { who, client } = await somebody()
    const refused = await client.post(`${base}/register/options`, {})
    expect(told(refused)).toEqual([
      400,
      { error: 'Validation Error', details: [{ path: 'password', message: expect.any(String) }] },
    ])
    expect(told(await client.post(`${base}/register/options`, { password: 'wrong horse battery' }))).toEqual([
      401,
      { error: 'invalid credentials' },
    ])
    const { credential } = await register(client, who)
    // Another session: the one that registered has shown the password a moment ago.
    const login = await DpopClient.make(server)
    const { token } = needed(await login.logIn(who))
    login.keep(await verify(login, token, await page().get(await challenge(login, token))))
    const remove = (body?: object) => login.ask(`${base}/credentials/${credential.id}`, { method: 'DELETE', body })
    expect((await remove()).status).toBe(400)
    expect((await remove({ password: 'wrong horse battery' })).status).toBe(401)
    // The key itself, shown a moment ago, is as good as the password.
    const options = await login.post(`${base}/authenticate/options`, {})
    const confirmed = await login.post(`${base}/authenticate/verify`, await page().get(options.json))
    expect(told(confirmed)).toEqual([200, {}])
    expect(told(await remove())).toEqual([204, undefined])
    expect((await readToken(server, who)).status).toBe(200)
    expect((await remove({ password: who.password })).status).toBe(404)
  })

  test('a tenant that wants one gets it at the first login, and keeps it', async () => {
    const tenant = newName('strict')
    await admin.post('/iam/tenants', { tenantIdentifier: tenant, name: 'Strict', twoFactor: 'required' })
    const who = await admin.bring(newName('strict'), ['viewer'], {}, `?tenant=${tenant}`)
    const client = await DpopClient.make(server)
    const need = needed(await client.logIn(who))
    expect(need).toMatchObject({ enroll: true, expiresIn: 900 })
    const body = { token: need.token }
    const options = await client.prove(`${base}/register/options`, { method: 'POST', body })
    const credential = await page().create(options.json)
    const done = await client.prove(`${base}/register/verify`, { method: 'POST', body: { ...body, ...credential } })
    expect(told(done)).toEqual([
      200,
      {
        id: credential.id,
        recoveryCodes: expect.any(Array),
        accessToken: expect.any(String),
        refreshToken: expect.any(String),
      },
    ])
    client.keep(done)
    expect(await client.isIn()).toBe(true)
    const removed = await client.ask(`${base}/credentials/${credential.id}`, {
      method: 'DELETE',
      body: { password: who.password },
    })
    expect(told(removed)).toEqual([409, { error: 'the tenant requires a second factor' }])
  })
})
