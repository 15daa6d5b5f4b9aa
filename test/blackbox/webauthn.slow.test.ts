import type { Browser, Page } from 'playwright-core'
import { beforeEach, describe, expect, test } from 'vitest'
import { launchChromium, needsBrowser } from '#test/blackbox/chromium'
import { DpopClient, type SecondFactorNeeded } from '#test/blackbox/dpop-client'
import {
  answerOf,
  type Credentials,
  newName,
  readToken,
  SignedInUser,
  startWithIdentity,
} from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'

/** The result of `PublicKeyCredential.toJSON()`. */
type CredentialJson = Readonly<Record<string, unknown>> & { readonly id: string }

/** The part of the Web API that these tests use. https://www.w3.org/TR/webauthn-3/#sctn-api */
interface Window {
  readonly PublicKeyCredential: Record<
    'parseCreationOptionsFromJSON' | 'parseRequestOptionsFromJSON',
    (json: object) => unknown
  >
  readonly navigator: {
    readonly credentials: Record<'create' | 'get', (options: object) => Promise<{ toJSON(): CredentialJson }>>
  }
}

/** A page in Chromium with an authenticator that confirms every request. */
class VirtualAuthenticator {
  readonly #browser: Browser
  readonly #page: Page

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser
    this.#page = page
  }

  static async open(): Promise<VirtualAuthenticator> {
    const browser = await launchChromium()
    const page = await browser.newPage()
    const session = await page.context().newCDPSession(page)
    await session.send('WebAuthn.enable')
    await session.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'usb', automaticPresenceSimulation: true },
    })
    return new VirtualAuthenticator(browser, page)
  }

  close(): Promise<void> {
    return this.#browser.close()
  }

  async visit(url: string): Promise<void> {
    await this.#page.goto(url)
  }

  /** Calls `navigator.credentials.create` or `.get` with options of the server. */
  touch(method: 'create' | 'get', options: unknown): Promise<CredentialJson> {
    return this.#page.evaluate(
      async ([method, json]) => {
        const { PublicKeyCredential: reader, navigator: browser } = globalThis as unknown as Window
        const read = method === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON'
        return (await browser.credentials[method]({ publicKey: reader[read](json) })).toJSON()
      },
      [method, options as object] as const,
    )
  }
}

/** `test/access/second-factors` tests each rule. Contract 2, Second factor. */
describe('WebAuthn in a browser', () => {
  let server: StartedServer
  let admin: SignedInUser
  let page: VirtualAuthenticator

  needsBrowser(
    async () => {
      server = await startWithIdentity()
      admin = await SignedInUser.signIn(server)
      page = await VirtualAuthenticator.open()
    },
    async () => {
      await page?.close()
      await server?.finish()
    },
  )

  const ourPage = () => `http://localhost:${server.port}/api/v1/health`
  beforeEach(() => page.visit(ourPage()))

  const base = '/auth/2fa/webauthn'
  const badCode = [401, { error: 'invalid code' }]

  const newUser = async (): Promise<{ user: Credentials; client: DpopClient }> => {
    const user = await admin.bring(newName('keyed'), ['viewer'])
    return { user, client: await DpopClient.signIn(server, user) }
  }
  const registration = async (client: DpopClient, { password }: Credentials) =>
    (await client.post(`${base}/register/options`, { password })).json
  const send = (client: DpopClient, { password }: Credentials, credential: CredentialJson) =>
    client.post(`${base}/register/verify`, { ...credential, name: 'Key ring', password })
  /** Begins a login, up to the challenge for the passkey. */
  const begin = async (user: Credentials) => {
    const client = await DpopClient.make(server)
    const need = (await client.logIn(user)).json as SecondFactorNeeded
    const { token } = need
    const options = (await client.prove(`${base}/authenticate/options`, { method: 'POST', body: { token } })).json
    const verify = (credential: CredentialJson) =>
      client.prove(`${base}/authenticate/verify`, { method: 'POST', body: { token, ...credential } })
    return { client, need, options, verify }
  }

  test('a passkey can be registered, listed, used to sign in, and removed after a confirmation with itself', async () => {
    const { user, client } = await newUser()
    const credential = await page.touch('create', await registration(client, user))
    const { id } = credential
    const recoveryCodes = Array(10).fill(expect.stringMatching(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/))
    expect(answerOf(await send(client, user, credential))).toEqual([200, { id, recoveryCodes }])
    const times = { createdAt: expect.any(Number), lastUsedAt: expect.any(Number) }
    expect(answerOf(await client.get(`${base}/credentials`))).toEqual([
      200,
      [{ id, name: 'Key ring', ...times, transports: ['usb'] }],
    ])
    expect(answerOf(await readToken(server, user))).toEqual([401, { error: '2fa_required' }])

    const login = await begin(user)
    expect(login.need).toMatchObject({ methods: ['webauthn', 'recovery'], enroll: false })
    const signed = await page.touch('get', login.options)
    expect(login.client.keep(await login.verify(signed)).status).toBe(200)
    expect(await login.client.isIn()).toBe(true)
    expect(answerOf(await login.verify(signed))).toEqual(badCode)

    // A recent confirmation with the passkey replaces the password.
    const remove = () => login.client.ask(`${base}/credentials/${id}`, { method: 'DELETE' })
    expect((await remove()).status).toBe(400)
    const { json } = await login.client.post(`${base}/authenticate/options`, {})
    const confirmed = await login.client.post(`${base}/authenticate/verify`, await page.touch('get', json))
    expect(answerOf(confirmed)).toEqual([200, {}])
    expect((await remove()).status).toBe(204)
    expect((await readToken(server, user)).status).toBe(200)
  })
})
