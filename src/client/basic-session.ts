import { isEnding } from '#client/access-token'
import type { Authority } from '#client/authority'
import { base64, utf8 } from '#client/base64url'
import { makeKeys } from '#client/dpop-proof'
import type { KeyPair } from '#client/options'
import { ConnectionLost, Problem } from '#client/problem'
import type { Credential, RawAnswer, Request, Transport } from '#client/transport'

interface Tokens {
  readonly token: string
  readonly refreshToken: string
}

/** Second factors want a proof whatever the scheme is. Contract 2, Second factor. */
const provenPaths = /^\/auth\/2fa\//

/** A session of the Basic scheme, for programs: begun with name and password, renewed, and begun again when it ended. §5.1 */
export class BasicSession implements Authority {
  readonly #transport: Transport
  readonly #authorization: string
  #tokens: Tokens | undefined
  #renewal: Promise<boolean> | undefined
  #keys: Promise<KeyPair> | undefined

  constructor(transport: Transport, name: string, password: string) {
    this.#transport = transport
    this.#authorization = `Basic ${base64(utf8(`${name}:${password}`))}`
  }

  /** @throws Problem 401 when name or password is wrong */
  async begin(): Promise<void> {
    await this.#renewOnce()
  }

  async credentialFor({ path }: Request): Promise<Credential> {
    if (this.#tokens && isEnding(this.#tokens.token, this.#transport.now())) await this.#renewOnce().catch(() => false)
    const accessToken = this.#tokens?.token ?? ''
    const authorization = `Bearer ${accessToken}`
    if (!provenPaths.test(path)) return { authorization }
    this.#keys ??= makeKeys()
    return { authorization, proof: { keys: await this.#keys, accessToken } }
  }

  renew(refused: Credential): Promise<boolean> {
    return refused.authorization === `Bearer ${this.#tokens?.token}` ? this.#renewOnce() : Promise.resolve(true)
  }

  #renewOnce(): Promise<boolean> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(): Promise<boolean> {
    const before = this.#tokens
    let answer = before && (await this.#refresh(before))
    if (!answer || answer.status === 401) answer = await this.#signIn()
    if (answer.status !== 200) throw new Problem(answer.status, answer.body, answer.headers)
    const tokens = answer.body as Partial<Tokens> | undefined
    // Whatever stands in between may answer 200 as well.
    if (typeof tokens?.token !== 'string') throw new ConnectionLost('no tokens came')
    this.#tokens = tokens as Tokens
    return true
  }

  #refresh({ refreshToken }: Tokens): Promise<RawAnswer> {
    const path = '/iam/token?grant_type=refresh_token&scope=offline'
    return this.#transport.send({ method: 'POST', path, body: { refreshToken } })
  }

  #signIn(): Promise<RawAnswer> {
    const request = { method: 'GET', path: '/iam/token?scope=offline' }
    return this.#transport.send(request, { authorization: this.#authorization })
  }
}
