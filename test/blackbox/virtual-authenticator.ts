import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { launchChromium, noBrowser } from '#test/blackbox/chromium'

export { noBrowser }

/** As JSON, by `PublicKeyCredential.toJSON()`. */
export type CredentialJson = Readonly<Record<string, unknown>> & { readonly id: string }

/** The little of a page that is used here. https://www.w3.org/TR/webauthn-3/#sctn-api */
interface Window {
  readonly PublicKeyCredential: {
    parseCreationOptionsFromJSON(json: object): unknown
    parseRequestOptionsFromJSON(json: object): unknown
  }
  readonly navigator: {
    readonly credentials: Record<'create' | 'get', (options: object) => Promise<{ toJSON(): CredentialJson }>>
  }
}

interface KeptCredential {
  readonly credentialId: string
  readonly isResidentCredential: boolean
  readonly rpId?: string
  readonly privateKey: string
  readonly userHandle?: string
  readonly signCount: number
}

/** A page in Chromium with an authenticator of its own, touched whenever somebody asks. */
export class VirtualAuthenticator {
  readonly #browser: Browser
  readonly #page: Page
  readonly #session: CDPSession
  readonly #id: string
  readonly #pages: Server
  /** An origin that is not the server's: same host, another port. */
  readonly foreignOrigin: string

  private constructor(browser: Browser, page: Page, session: CDPSession, id: string, pages: Server) {
    this.#browser = browser
    this.#page = page
    this.#session = session
    this.#id = id
    this.#pages = pages
    this.foreignOrigin = `http://localhost:${(pages.address() as AddressInfo).port}`
  }

  static async open(): Promise<VirtualAuthenticator> {
    const browser = await launchChromium()
    const page = await browser.newPage()
    const session = await page.context().newCDPSession(page)
    await session.send('WebAuthn.enable')
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'usb', automaticPresenceSimulation: true },
    })
    const pages = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>elsewhere</p>'))
    await new Promise<void>((resolve) => pages.listen(0, 'localhost', resolve))
    return new VirtualAuthenticator(browser, page, session, authenticatorId, pages)
  }

  async close(): Promise<void> {
    await this.#browser.close()
    await new Promise((resolve) => this.#pages.close(resolve))
  }

  async visit(url: string): Promise<void> {
    await this.#page.goto(url)
  }

  /** `navigator.credentials.create` with what the server said. */
  create(options: unknown): Promise<CredentialJson> {
    return this.#page.evaluate(async (json) => {
      const { PublicKeyCredential: reader, navigator: browser } = globalThis as unknown as Window
      const made = await browser.credentials.create({ publicKey: reader.parseCreationOptionsFromJSON(json) })
      return made.toJSON()
    }, options as object)
  }

  /** `navigator.credentials.get` with what the server said. */
  get(options: unknown): Promise<CredentialJson> {
    return this.#page.evaluate(async (json) => {
      const { PublicKeyCredential: reader, navigator: browser } = globalThis as unknown as Window
      const signed = await browser.credentials.get({ publicKey: reader.parseRequestOptionsFromJSON(json) })
      return signed.toJSON()
    }, options as object)
  }

  /** What it would say after it was copied, and the copy used. */
  async setCount(credentialId: string, signCount: number): Promise<void> {
    const { credentials } = await this.#session.send('WebAuthn.getCredentials', { authenticatorId: this.#id })
    const standard = Buffer.from(credentialId, 'base64url').toString('base64')
    const kept = (credentials as KeptCredential[]).find((one) => one.credentialId === standard)
    if (!kept) throw new Error('the authenticator does not know it')
    await this.#session.send('WebAuthn.removeCredential', { authenticatorId: this.#id, credentialId: standard })
    await this.#session.send('WebAuthn.addCredential', {
      authenticatorId: this.#id,
      credential: { ...kept, rpId: 'localhost', signCount },
    })
  }
}
