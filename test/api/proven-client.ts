import { makeKeyPair } from '#test/access/key-pair'
import { draftOf, proofOf } from '#test/access/proof-draft'
import type { AccessFixture } from '#test/routes/access-fixture'
import { examplePassword } from '#test/routes/access-fixture'

export interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** Somebody by the DPoP scheme: one key, and the latest nonce that was heard. */
export class ProvenClient {
  readonly #ground: AccessFixture
  readonly #key = makeKeyPair()
  #nonce = ''

  constructor(ground: AccessFixture) {
    this.#ground = ground
  }

  /** Headers of a request that this key proves, with a token or without. `path` below `/api/v1`, without a query. */
  async headers(method: string, path: string, token?: string): Promise<Record<string, string>> {
    if (this.#nonce === '') {
      const { headers } = await this.#ground.call(undefined, 'POST', '/auth/login', {})
      this.#nonce = headers.get('dpop-nonce') ?? ''
    }
    const place = { method, path: `/api/v1${path}`, origin: `http://127.0.0.1:${this.#ground.port}` }
    const moment = { nowS: () => Math.floor(this.#ground.now() / 1000), nonce: () => this.#nonce }
    const dpop = proofOf(draftOf({ ...place, ...moment }, this.#key, token))
    return { dpop, ...(token !== undefined && { authorization: `DPoP ${token}` }) }
  }

  /** What is answered, as JSON. Throws for a refusal. */
  async post<T>(path: string, body: unknown, token?: string): Promise<T> {
    const headers = await this.headers('POST', path, token)
    const { status, text } = await this.#ground.call(undefined, 'POST', path, body, headers)
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text) as T
  }

  /** The pair, or the token to go on with where a second factor is needed. */
  logIn(email: string): Promise<Pair & { readonly token: string }> {
    return this.post('/auth/login', { email, password: examplePassword })
  }
}
