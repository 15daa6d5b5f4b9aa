import type { RouteAccess } from '#api/entry'
import { logIn } from '#api/login'
import { hookSignatureHeader } from '#api/update-hook'
import type { Attempts } from '#iam/attempts'
import type { Caller } from '#iam/caller'
import { nobody } from '#iam/nobody'
import type { Passwords } from '#iam/passwords'
import type { CheckedProof, Proofs } from '#iam/proof'
import { proofProblem, schemeProblem, tokenProblem } from '#iam/proof-problems'
import type { Tokens } from '#iam/tokens'
import { type AuthCounts, countFailed, credentialKindOf } from '#identity/auth-counts'
import type { LinkCaller } from '#identity/link-credentials'
import { operator } from '#identity/operator'
import type { SessionCallers } from '#identity/session-callers'
import { Problem } from '#model/problem'
import type { Authenticate, AuthenticationRequest } from '#server/authenticate'

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
 * Who is asking, by what came with the request. Synchronous, without a password hash anywhere: what costs a signature is
 * paid once for a token and once for a key. Contract 2; RFC 6750, RFC 9449.
 */
export function authenticatorOf(parts: AuthenticatorParts): Authenticate {
  const authenticator = new Authenticator(parts)
  return (request, access) => {
    try {
      return authenticator.callerOf(request, access)
    } catch (error) {
      countFailed(parts.counts, credentialKindOf(request, access), error)
      throw error
    }
  }
}

class Authenticator {
  readonly #parts: AuthenticatorParts

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts
  }

  callerOf(request: AuthenticationRequest, access: RouteAccess): Caller {
    if (access === 'none') return nobody
    // Judged by the answerer, and alone: no other credential mends a signature that is bad. Contract 6, Hook.
    if (access === 'hook' && request.headerCount(hookSignatureHeader) > 0) return nobody
    if (!this.#parts.isServing()) throw new Problem('storage')
    if (access === 'link') return this.#linkCaller(request)
    if (access === 'proof') return this.#proven(request)
    const authorization = request.header('authorization')
    const apiKey = request.header('x-api-key')
    if (authorization !== '' && apiKey !== '') throw moreThanOne()
    if (access === 'person or proof' && authorization === '' && apiKey === '') return this.#proven(request)
    const caller = apiKey === '' ? this.#bySession(request, authorization, access) : this.#byKey(request, apiKey)
    if (isForPeople(access) && caller.session?.kind !== 'session') throw new Problem('forbidden')
    this.#parts.counts[apiKey === '' ? kindOf(authorization) : 'api_key'].accepted++
    return caller
  }

  /** Whoever asks for more than the tenant asks the credential again. */
  #linkCaller(request: AuthenticationRequest): Caller {
    if (request.headerCount('authorization') > 1) throw moreThanOne()
    const { tenant } = this.#parts.linkCallerOf(request.header('authorization'))
    return { ...nobody, tenant }
  }

  /** Used up at once: there is no token whose verdict it could wait for. */
  #proven(request: AuthenticationRequest): Caller {
    const { proofs, attempts, passwords } = this.#parts
    if (request.path.endsWith(logIn.path)) {
      attempts.check(request.seen.address)
      // Two signatures would be looked at for nothing.
      passwords.checkRoom(request.seen.address)
    }
    const proof = proofs.check(request, undefined)
    proofs.checkUnused(proof)
    proofs.use(proof)
    this.#parts.counts.proof.accepted++
    return { ...nobody, jkt: proof.jkt }
  }

  #byKey(request: AuthenticationRequest, text: string): Caller {
    const caller = this.#parts.callers.ofApiKey(text)
    if (caller) return caller
    if (request.headerCount('x-api-key') > 1) throw moreThanOne()
    throw new Problem('unauthorized', 'invalid API key')
  }

  #bySession(request: AuthenticationRequest, authorization: string, access: RouteAccess): Caller {
    if (authorization === '') throw new Problem('unauthorized', 'authentication required')
    const [, scheme, token] = credentialsPattern.exec(authorization) ?? []
    if (scheme === undefined || token === undefined) {
      if (request.headerCount('authorization') > 1) throw moreThanOne()
      if (/^(bearer|dpop)\b/i.test(authorization)) throw tokenProblem('invalid token', schemeOf(authorization))
      throw new Problem('unauthorized', 'authentication required')
    }
    return schemeOf(scheme) === 'DPoP' ? this.#bound(request, token) : this.#unbound(request, token, access)
  }

  #unbound(request: AuthenticationRequest, text: string, access: RouteAccess): Caller {
    const { tokens, callers, isOperator } = this.#parts
    if (isOperator(text)) return operator
    const { token, fault } = tokens.read(text)
    if (token?.jkt !== undefined) throw schemeProblem()
    if (!token || fault) throw tokenProblem(fault ?? 'invalid token', 'Bearer')
    const isProofLookedAt = access === 'person or proof' && request.header('dpop') !== ''
    const proof = isProofLookedAt ? this.#fresh(request, text) : undefined
    const caller = callers.ofToken(token, request)
    if (typeof caller === 'string') throw tokenProblem(caller, 'Bearer')
    if (!proof) return caller
    this.#parts.proofs.use(proof)
    return caller.withProof(proof.jkt)
  }

  /** What is wrong with the token comes last: a token that says nothing can't be another key's. Contract 2, DPoP. */
  #bound(request: AuthenticationRequest, text: string): Caller {
    const { tokens, callers, proofs } = this.#parts
    const proof = proofs.check(request, text)
    const { token, fault } = tokens.read(text, proof.tokenHash)
    if (token && token.jkt !== proof.jkt) throw proofProblem('key mismatch')
    proofs.checkUnused(proof)
    if (!token || fault) throw tokenProblem(fault ?? 'invalid token', 'DPoP')
    const caller = callers.ofToken(token, request)
    if (typeof caller === 'string') throw tokenProblem(caller, 'DPoP')
    proofs.use(proof)
    return caller
  }

  #fresh(request: AuthenticationRequest, token: string): CheckedProof {
    const { proofs } = this.#parts
    const proof = proofs.check(request, token)
    proofs.checkUnused(proof)
    return proof
  }
}

function isForPeople(access: RouteAccess): boolean {
  return access === 'person' || access === 'person or proof'
}

/** Of credentials that are good. */
function kindOf(authorization: string): 'dpop' | 'bearer' {
  return schemeOf(authorization) === 'DPoP' ? 'dpop' : 'bearer'
}

function schemeOf(text: string): 'DPoP' | 'Bearer' {
  return /^dpop/i.test(text) ? 'DPoP' : 'Bearer'
}

/** RFC 6750 §2: one that counts must not hide behind another. */
function moreThanOne(): Problem {
  return new Problem('unauthorized', 'more than one credential')
}
