import type { Refusal, Requests } from '#test/access/wrong-proof'
import { wrongClaims } from '#test/access/wrong-proof-claims'
import { wrongForms } from '#test/access/wrong-proof-forms'

/** A fault and its error. */
export interface WrongProof {
  readonly number: number
  readonly name: string
  readonly requests: Requests
  readonly refusal: Refusal
}

/**
 * All faults of a proof and its token as data: the change of the valid request, and the error. Valid request: `GET /api/v1/iam/me` with
 * token T bound to key K, and a valid proof of K. The rows do not depend on the transport, so they run against the checks alone and
 * against a server.
 */
export const wrongProofs: readonly WrongProof[] = [...wrongForms, ...wrongClaims].map(
  ([number, name, requests, refusal]) => ({ number, name, requests, refusal }),
)
