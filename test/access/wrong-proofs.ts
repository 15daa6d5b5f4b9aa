import type { Refusal, Requests } from '#test/access/wrong-proof'
import { wrongClaims } from '#test/access/wrong-proof-claims'
import { wrongForms } from '#test/access/wrong-proof-forms'

/** One thing that is wrong, and what is answered to it. */
export interface WrongProof {
  readonly number: number
  readonly name: string
  readonly requests: Requests
  readonly refusal: Refusal
}

/**
 * Everything that can be wrong with a proof and with the token beside it, as data: how the good one is spoilt, and what
 * is answered. Ground: `GET /api/v1/iam/me` with token T bound to key K, and a proof of K that is good in everything.
 *
 * Nothing here knows how a request is sent, so the same rows run against the checks alone and against a server.
 */
export const wrongProofs: readonly WrongProof[] = [...wrongForms, ...wrongClaims].map(
  ([number, name, requests, refusal]) => ({ number, name, requests, refusal }),
)
