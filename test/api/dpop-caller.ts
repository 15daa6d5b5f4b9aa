import { makeKeyPair } from '#test/access/key-pair'
import { draftOf, proofOf } from '#test/access/proof-draft'
import { type AccessFixture, examplePassword } from '#test/routes/access-fixture'

export interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** A client that signs in with DPoP. It has one key, and the latest nonce. */
export class DpopCaller {
  readonly #fixture: AccessFixture
  readonly #key = makeKeyPair()
  #nonce = ''

  constructor(fixture: AccessFixture) {
    this.#fixture = fixture
  }

  /** Headers with a proof of the key, and with the token if there is one. `path` is below `/api/v1`, without query. */
  async headers(method: string, path: string, token?: string): Promise<Record<string, string>> {
    if (this.#nonce === '') {
      const { headers } = await this.#fixture.call(undefined, 'POST', '/auth/login', {})
      this.#nonce = headers.get('dpop-nonce') ?? ''
    }
    const place = { method, path: `/api/v1${path}`, origin: `http://127.0.0.1:${this.#fixture.http.port}` }
    const moment = { nowS: () => Math.floor(this.#fixture.http.now() / 1000), nonce: () => this.#nonce }
    const dpop = proofOf(draftOf({ ...place, ...moment }, this.#key, token))
    return { dpop, ...(token !== undefined && { authorization: `DPoP ${token}` }) }
  }

  /** Returns the JSON of the answer. Throws if the status is not 200. */
  async post<T>(path: string, body: unknown, token?: string): Promise<T> {
    const headers = await this.headers('POST', path, token)
    const { status, text } = await this.#fixture.call(undefined, 'POST', path, body, headers)
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return JSON.parse(text) as T
  }

  /** Returns the token pair, or the token for the second factor. */
  logIn(email: string): Promise<Pair & { readonly token: string }> {
    return this.post('/auth/login', { email, password: examplePassword })
  }
}
