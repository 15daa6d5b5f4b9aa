import { Problem } from '#model/problem'

/**
 * The faults of proofs and tokens, and their errors. Contract 2, DPoP; §7; RFC 9449 §7.1, RFC 6750 §3.1.
 *
 * `challenge`: the error in `WWW-Authenticate`. A client that follows RFC 9449 needs no other text.
 */
interface CredentialFault {
  readonly code: 'unauthorized' | 'bad_request'
  readonly challenge: 'invalid_dpop_proof' | 'use_dpop_nonce' | 'invalid_token'
}

const proof: CredentialFault = { code: 'unauthorized', challenge: 'invalid_dpop_proof' }
const token: CredentialFault = { code: 'unauthorized', challenge: 'invalid_token' }

const proofFaults = {
  'missing proof': proof,
  'invalid proof': proof,
  'htm mismatch': proof,
  'htu mismatch': proof,
  'iat outside tolerance': proof,
  // 400, not RFC 9449's 401: §5.2.4.
  use_dpop_nonce: { code: 'bad_request', challenge: 'use_dpop_nonce' },
  'ath does not match the access token': proof,
  'key mismatch': proof,
  'proof already used': proof,
} as const satisfies Record<string, CredentialFault>

export type ProofFault = keyof typeof proofFaults

const tokenFaults = {
  'invalid token': token,
  'token expired': token,
  'token replaced': token,
  'session over': token,
} as const satisfies Record<string, CredentialFault>

export type TokenFault = keyof typeof tokenFaults

/** Only ES256 is accepted, and each challenge of this scheme has to name it. RFC 9449 §7.1. */
const algorithms = 'algs="ES256"'

/** A new object each time: a Problem contains the stack of its caller. */
export function proofProblem(fault: ProofFault): Problem {
  const { code, challenge } = proofFaults[fault]
  return new Problem(code, fault, { headers: { 'WWW-Authenticate': dpopChallenge(challenge) } })
}

/** In the scheme in which the token was sent. */
export function tokenProblem(fault: TokenFault, scheme: 'Bearer' | 'DPoP'): Problem {
  const { code, challenge } = tokenFaults[fault]
  const text = scheme === 'DPoP' ? dpopChallenge(challenge) : `Bearer error="${challenge}"`
  return new Problem(code, fault, { headers: { 'WWW-Authenticate': text } })
}

/** A bound token that was sent as a bearer token: its holder must prove the key too. RFC 9449 §7.1. */
export function schemeProblem(): Problem {
  const headers = { 'WWW-Authenticate': dpopChallenge('invalid_token') }
  return new Problem('unauthorized', 'use the DPoP scheme', { headers })
}

function dpopChallenge(error: CredentialFault['challenge']): string {
  return `DPoP error="${error}", ${algorithms}`
}
