import { type CryptoKeyPair, generateKeyPair, generateProof } from 'dpop'
import { expect } from 'vitest'
import { type Credentials, root } from '#test/blackbox/signed-in-user'
import type { Answer, Ask, Environment, Served } from '#test/blackbox/started-server'

interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** The answer to a login that needs a second factor. */
export interface SecondFactorNeeded {
  readonly status: '2fa_required'
  readonly token: string
  readonly expiresIn: number
  readonly methods: readonly string[]
  readonly enroll: boolean
}

/** A client that signs in with DPoP. The library `dpop` makes its proofs. It has one key and the latest nonce. §5.2. */
export class DpopClient {
  readonly server: Served
  readonly keys: CryptoKeyPair
  nonce: string | undefined
  pair: Pair | undefined
  /** The number of answers that asked for a nonce. */
  challenges = 0

  constructor(server: Served, keys: CryptoKeyPair) {
    this.server = server
    this.keys = keys
  }

  static async make(server: Served): Promise<DpopClient> {
    return new DpopClient(server, await generateKeyPair('ES256'))
  }

  static async signIn(server: Served, person: Credentials = root, more: object = {}): Promise<DpopClient> {
    const client = await DpopClient.make(server)
    const answer = await client.logIn(person, more)
    expect([answer.status, answer.json]).toEqual([
      200,
      { accessToken: expect.any(String), refreshToken: expect.any(String) },
    ])
    return client
  }

  async logIn({ name, password }: Credentials, more: object = {}): Promise<Answer> {
    return this.keep(await this.prove('/auth/login', { method: 'POST', body: { email: name, password, ...more } }))
  }

  async refresh(refreshToken = this.signedIn.refreshToken): Promise<Answer> {
    return this.keep(await this.prove('/auth/token', { method: 'POST', body: { refreshToken } }))
  }

  get signedIn(): Pair {
    if (!this.pair) throw new Error('the client is not signed in')
    return this.pair
  }

  /** Sends a request with access token and proof. */
  ask(path: string, ask: Ask = {}): Promise<Answer> {
    return this.#send(path, ask, this.signedIn.accessToken)
  }

  get(path: string): Promise<Answer> {
    return this.ask(path)
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.ask(path, { method: 'POST', body })
  }

  /** Sends a request with a proof, and without a token. */
  prove(path: string, ask: Ask): Promise<Answer> {
    return this.#send(path, ask, undefined)
  }

  async isIn(): Promise<boolean> {
    return (await this.get('/iam/me')).status === 200
  }

  /** The headers of one request with a proof by this key. */
  async headersFor(method: string, path: string, token?: string): Promise<Environment> {
    const [pathname = ''] = path.split('?')
    const proof = await generateProof(this.keys, this.server.base + pathname, method, this.nonce, token)
    return { dpop: proof, ...(token !== undefined && { authorization: `DPoP ${token}` }) }
  }

  /** Stores the tokens of an answer. */
  keep(answer: Answer): Answer {
    if (answer.status === 200) {
      const { accessToken, refreshToken } = answer.json as Partial<Pair>
      if (accessToken !== undefined && refreshToken !== undefined) this.pair = { accessToken, refreshToken }
    }
    return answer
  }

  /** Sends a request, and repeats it with the nonce if the server asks for one. §5.2.4. */
  async #send(path: string, ask: Ask, token: string | undefined): Promise<Answer> {
    const send = async () => {
      const headers = { ...ask.headers, ...(await this.headersFor(ask.method ?? 'GET', path, token)) }
      const answer = await this.server.ask(path, { ...ask, headers })
      this.nonce = answer.headers.get('dpop-nonce') ?? this.nonce
      return answer
    }
    const first = await send()
    const isChallenge = first.status === 400 && first.text === '{"error":"use_dpop_nonce"}'
    if (!isChallenge) return first
    this.challenges++
    return send()
  }
}
