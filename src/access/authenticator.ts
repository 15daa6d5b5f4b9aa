import type { Attempts } from '#access/attempts'
import { operator } from '#access/built-in-callers'
import type { LinkCaller } from '#access/link-credentials'
import type { Passwords } from '#access/passwords'
import type { Proofs } from '#access/proof'
import type { SessionCaller, SessionCallers } from '#access/session-callers'
import type { Tokens, VerifiedToken } from '#access/tokens'
import type { RouteAccess } from '#api/route-entry'
import { logIn } from '#api/sign-in'
import { hookSignatureHeader } from '#api/updates'
import {
  type Authenticate,
  type AuthenticationRequest,
  proofProblem,
  schemeProblem,
  tokenProblem,
} from '#http/authentication'
import { isPromiseLike, mapMaybePromise } from '#http/reply'
import { type Caller, unauthenticated } from '#model/caller'
import { Problem, type ProblemCode } from '#model/problem'

export interface AuthenticatorParts {
  readonly isServing: () => boolean
  readonly callers: SessionCallers
  readonly tokens: Tokens
  readonly proofs: Proofs
  readonly attempts: Attempts
  readonly passwords: Passwords
  readonly linkCallerOf: (authorization: string) => LinkCaller
  readonly isOperator: (token: string) => boolean
  readonly counts: AuthCounts
}

const credentialsPattern = /^(bearer|dpop) +([^\s,]+)$/i

/**
 * Finds the caller of a request by its headers, without a password hash. It waits only for the check of a proof, and of
 * a token that is not in the cache. After the last wait, it decides in one synchronous step, so two requests with the
 * same proof cannot both pass. Contract 2; RFC 6750, RFC 9449.
 */
export function authenticatorOf(parts: AuthenticatorParts): Authenticate {
  const authenticator = new Authenticator(parts)
  return (request, access) => {
    const failed = (error: unknown): never => {
      countFailed(parts.counts, credentialKindOf(request, access), error)
      throw error
    }
    try {
      const caller = authenticator.callerOf(request, access)
      return isPromiseLike(caller) ? caller.catch(failed) : caller
    } catch (error) {
      return failed(error)
    }
  }
}

class Authenticator {
  readonly #parts: AuthenticatorParts

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts
  }

  callerOf(request: AuthenticationRequest, access: RouteAccess): Caller | Promise<Caller> {
    if (access === 'none') return unauthenticated
    // The route checks the signature. No other credential makes up for a wrong signature. Contract 6, Hook.
    if (access === 'hook' && request.headerCount(hookSignatureHeader) > 0) return unauthenticated
    if (!this.#parts.isServing()) throw new Problem('storage')
    if (access === 'link') return this.#linkCaller(request)
    if (access === 'proof') return this.#proven(request)
    const authorization = request.header('authorization')
    const apiKey = request.header('x-api-key')
    if (authorization !== '' && apiKey !== '') throw moreThanOne()
    if (access === 'user or proof' && authorization === '' && apiKey === '') return this.#proven(request)
    const known = apiKey === '' ? this.#bySession(request, authorization, access) : this.#byKey(request, apiKey)
    return mapMaybePromise(known, (caller) => {
      if (isForPeople(access) && caller.session?.kind !== 'session') throw new Problem('forbidden')
      this.#parts.counts[apiKey === '' ? kindOf(authorization) : 'api_key'].accepted++
      return caller
    })
  }

  /** The caller has only the tenant: code that needs the device or the key calls `linkCaller`. */
  #linkCaller(request: AuthenticationRequest): Caller {
    if (request.headerCount('authorization') > 1) throw moreThanOne()
    const { tenant } = this.#parts.linkCallerOf(request.header('authorization'))
    return { ...unauthenticated, tenant }
  }

  /** Accepts a proof without a token. It is marked as used at once, because no token has to be checked first. */
  async #proven(request: AuthenticationRequest): Promise<Caller> {
    const { proofs, attempts, passwords } = this.#parts
    if (request.path.endsWith(logIn.path)) {
      attempts.check(request.forwarded.address)
      // If the password cannot be queued for its hash, the check of the proof would be wasted.
      passwords.checkQueueSpace(request.forwarded.address)
    }
    const proof = await proofs.check(request, undefined)
    proofs.checkUnused(proof)
    proofs.use(proof)
    this.#parts.counts.proof.accepted++
    return { ...unauthenticated, jkt: proof.jkt }
  }

  #byKey(request: AuthenticationRequest, text: string): Caller {
    const caller = this.#parts.callers.ofApiKey(text)
    if (caller) return caller
    if (request.headerCount('x-api-key') > 1) throw moreThanOne()
    throw new Problem('unauthorized', 'invalid API key')
  }

  #bySession(request: AuthenticationRequest, authorization: string, access: RouteAccess): Caller | Promise<Caller> {
    if (authorization === '') throw new Problem('unauthorized', 'authentication required')
    const [, scheme, token] = credentialsPattern.exec(authorization) ?? []
    if (scheme === undefined || token === undefined) {
      if (request.headerCount('authorization') > 1) throw moreThanOne()
      if (/^(bearer|dpop)\b/i.test(authorization)) throw tokenProblem('invalid token', schemeOf(authorization))
      throw new Problem('unauthorized', 'authentication required')
    }
    return schemeOf(scheme) === 'DPoP' ? this.#bound(request, token) : this.#unbound(request, token, access)
  }

  #unbound(request: AuthenticationRequest, text: string, access: RouteAccess): Caller | Promise<Caller> {
    const { tokens, isOperator } = this.#parts
    if (isOperator(text)) return operator
    return mapMaybePromise(tokens.read(text), ({ token, fault }) => {
      if (token?.jkt !== undefined) throw schemeProblem()
      if (!token || fault) throw tokenProblem(fault ?? 'invalid token', 'Bearer')
      if (access === 'user or proof' && request.header('dpop') !== '') return this.#alsoProven(request, text, token)
      return this.#callerBy(request, token, 'Bearer')
    })
  }

  async #alsoProven(request: AuthenticationRequest, text: string, token: VerifiedToken): Promise<Caller> {
    const { proofs } = this.#parts
    const proof = await proofs.check(request, text)
    proofs.checkUnused(proof)
    const caller = this.#callerBy(request, token, 'Bearer')
    proofs.use(proof)
    return caller.withProof(proof.jkt)
  }

  /** Errors of the token are reported last. Contract 2, DPoP. */
  async #bound(request: AuthenticationRequest, text: string): Promise<Caller> {
    const { tokens, proofs } = this.#parts
    const proof = await proofs.check(request, text)
    const { token, fault } = await tokens.read(text, proof.tokenHash)
    if (token && token.jkt !== proof.jkt) throw proofProblem('key mismatch')
    proofs.checkUnused(proof)
    if (!token || fault) throw tokenProblem(fault ?? 'invalid token', 'DPoP')
    const caller = this.#callerBy(request, token, 'DPoP')
    proofs.use(proof)
    return caller
  }

  #callerBy(request: AuthenticationRequest, token: VerifiedToken, scheme: 'Bearer' | 'DPoP'): SessionCaller {
    const caller = this.#parts.callers.ofToken(token, request)
    if (typeof caller === 'string') throw tokenProblem(caller, scheme)
    return caller
  }
}

function isForPeople(access: RouteAccess): boolean {
  return access === 'user' || access === 'user or proof'
}

/** The scheme of valid credentials. */
function kindOf(authorization: string): 'dpop' | 'bearer' {
  return schemeOf(authorization) === 'DPoP' ? 'dpop' : 'bearer'
}

function schemeOf(text: string): 'DPoP' | 'Bearer' {
  return /^dpop/i.test(text) ? 'DPoP' : 'Bearer'
}

/** The error for a request with several credentials, of which only one would be checked. RFC 6750 §2. */
function moreThanOne(): Problem {
  return new Problem('unauthorized', 'more than one credential')
}

/** The kinds of credentials a request can carry. */
export const credentialKinds = ['bearer', 'dpop', 'api_key', 'proof', 'link', 'none', 'other'] as const
export type CredentialKind = (typeof credentialKinds)[number]

/**
 * `challenged`: the client has to retry with a nonce. `held_up`: refused after too many failed attempts. `unavailable`:
 * the credentials could not be checked.
 */
export const authOutcomes = ['accepted', 'challenged', 'refused', 'held_up', 'unavailable'] as const
type AuthOutcome = (typeof authOutcomes)[number]

/** Authentication results by kind of credential, never by user. */
export type AuthCounts = Readonly<Record<CredentialKind, Record<AuthOutcome, number>>>

export function noAuthCounts(): AuthCounts {
  const none = () => Object.fromEntries(authOutcomes.map((outcome) => [outcome, 0]))
  return Object.fromEntries(credentialKinds.map((kind) => [kind, none()])) as AuthCounts
}

/** Does not count an error that is not a Problem: such an error is a bug. */
export function countFailed(counts: AuthCounts, kind: CredentialKind, error: unknown): void {
  if (error instanceof Problem) counts[kind][outcomeOf(error.code)]++
}

function outcomeOf(code: ProblemCode): AuthOutcome {
  if (code === 'bad_request') return 'challenged'
  if (code === 'too_many_requests') return 'held_up'
  return code === 'storage' || code === 'overloaded' ? 'unavailable' : 'refused'
}

/** The kind of credential that a request carries, valid or not. */
export function credentialKindOf(request: AuthenticationRequest, access: RouteAccess): CredentialKind {
  if (access === 'link') return 'link'
  if (request.header('x-api-key') !== '') return 'api_key'
  const authorization = request.header('authorization')
  if (authorization === '') return access === 'proof' || access === 'user or proof' ? 'proof' : 'none'
  if (/^dpop\b/i.test(authorization)) return 'dpop'
  return /^bearer\b/i.test(authorization) ? 'bearer' : 'other'
}
