import { basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { DpopKey } from '#bench/load/dpop-proofs'
import type { ProofApi, RequestOptions } from '#bench/proof/workloads/proof-api'

/** A session. It has no tokens if the answer with them was lost. */
export interface Session {
  /** Empty: not known yet. */
  readonly id: string
  /** Bound to the key of the account (DPoP); false: of the Basic scheme. */
  readonly isBound: boolean
  readonly token: string
  /** Valid once. */
  readonly refreshToken: string
  /**
   * A refresh token that must be refused. With DPoP this is the token used before the last one, because a repeat of the
   * last one gets the same answer for some seconds.
   */
  readonly used?: string
  /** The refresh token before `refreshToken`. */
  readonly previous?: string
}

export interface Request extends RequestOptions {
  readonly method: string
  readonly path: string
}

export const lostSession: Session = { id: '', isBound: false, token: '', refreshToken: '' }
const unauthenticated = { authorization: '' }

/** Makes the requests of one account: proofs by its key, with the latest nonce of the server. */
export class AccountRequests {
  readonly #name: string
  readonly #key = new DpopKey()
  #api: ProofApi | undefined
  #nonce = ''

  constructor(name: string) {
    this.#name = name
  }

  async begin(api: ProofApi): Promise<void> {
    this.#api = api
    this.adoptNonce(await api.ask('POST', '/auth/login', { headers: unauthenticated, body: {} }))
  }

  /** Answers contain the next nonce. */
  adoptNonce({ headers }: HttpAnswer): void {
    const nonce = headers['dpop-nonce']
    if (typeof nonce === 'string') this.#nonce = nonce
  }

  send({ method, path, ...asking }: Request): Promise<HttpAnswer> {
    return (this.#api as ProofApi).ask(method, path, asking)
  }

  signIn(password: string, isBound: boolean): Request {
    if (isBound) return this.proven('POST', '/auth/login', { email: this.#name, password })
    const headers = { authorization: basic({ name: this.#name, password }) }
    return { method: 'GET', path: '/iam/token?scope=offline', headers }
  }

  renewal(isBound: boolean, refreshToken: string): Request {
    if (isBound) return this.proven('POST', '/auth/token', { refreshToken })
    const path = '/iam/token?grant_type=refresh_token&scope=offline'
    return { method: 'POST', path, headers: unauthenticated, body: { refreshToken } }
  }

  redeem(code: string, password: string): Request {
    return { method: 'POST', path: '/iam/signup', headers: unauthenticated, body: { name: this.#name, code, password } }
  }

  /** A request with the tokens of a session. */
  as({ isBound, token }: Session, method: string, path: string, body?: object): Request {
    if (isBound) return this.proven(method, path, body, token)
    return { method, path, headers: { authorization: `Bearer ${token}` }, ...(body && { body }) }
  }

  proven(method: string, path: string, body?: object, token?: string): Request {
    const url = `${(this.#api as ProofApi).url}/api/v1${path.replace(/\?.*/, '')}`
    const dpop = this.#key.proof({ method, url, nonce: this.#nonce, ...(token !== undefined && { token }) })
    const authorization = token === undefined ? '' : `DPoP ${token}`
    // Node sets the length of a body except with DELETE.
    const length = body && { 'content-length': String(Buffer.byteLength(JSON.stringify(body))) }
    return { method, path, headers: { authorization, dpop, ...length }, ...(body && { body }) }
  }
}

/** The new session of an answer, or the renewed `before`. */
export function sessionOf({ text }: HttpAnswer, before?: Session): Session {
  /** `token`: of the Basic scheme; `accessToken`: bound to a key. */
  const { token, accessToken, refreshToken = '' } = JSON.parse(text) as Readonly<Record<string, string | undefined>>
  const current = accessToken ?? token ?? ''
  const isBound = accessToken !== undefined
  const used = before && (isBound ? before.previous : before.refreshToken)
  return {
    ...{ id: sessionIdIn(current), isBound, token: current, refreshToken },
    ...(before && { previous: before.refreshToken }),
    ...(used !== undefined && { used }),
  }
}

/** Access tokens are JWTs that name their session. Contract 2, Tokens. */
export function sessionIdIn(accessToken: string): string {
  const [, payload = ''] = accessToken.split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sid: string }).sid
}

export function codeIn({ text }: HttpAnswer): string {
  return (JSON.parse(text) as { code: string }).code
}
