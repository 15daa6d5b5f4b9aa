import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { type ProofContext, type ProofRequestText, request } from '#test/access/wrong-proof'

/** Unusual proofs that are valid. Like the wrong ones, for the checks alone and for a server. */
export interface RightProof {
  readonly name: string
  /** Each request succeeds. */
  readonly requests: (ground: ProofContext) => readonly ProofRequestText[]
}

function claimed(claims: (ground: ProofContext) => Record<string, unknown>): RightProof['requests'] {
  return (ground) => {
    const draft = draftOf(ground, ground.key, ground.tokens.bound)
    return [requestOf(ground, { ...draft, claims: { ...draft.claims, ...claims(ground) } })]
  }
}

function requestOf(ground: ProofContext, draft: ProofDraft, scheme?: string): ProofRequestText {
  return request(ground.tokens.bound, proofOf(draft), scheme)
}

const address = ({ origin, path }: ProofContext) => origin + path

export const rightProofs: readonly RightProof[] = [
  { name: 'a usual proof', requests: claimed(() => ({})) },
  { name: 'htu with a query', requests: claimed((ground) => ({ htu: `${address(ground)}?a=b` })) },
  { name: 'htu with a fragment', requests: claimed((ground) => ({ htu: `${address(ground)}#a?b` })) },
  {
    name: 'htu with scheme and host in upper case',
    requests: claimed((ground) => ({ htu: ground.origin.toUpperCase() + ground.path })),
  },
  {
    name: 'a request with a query',
    requests: (ground) => claimed(() => ({}))(ground).map((one) => ({ ...one, query: 'a=b' })),
  },
  { name: 'iat 60 s ago', requests: claimed((ground) => ({ iat: ground.nowS() - 60 })) },
  { name: 'iat 60 s ahead', requests: claimed((ground) => ({ iat: ground.nowS() + 60 })) },
  { name: 'jti of 128 characters', requests: claimed(() => ({ jti: 'j'.repeat(128) })) },
  { name: 'unknown claims', requests: claimed(() => ({ iss: 'me', exp: 1, nbf: 9e9 })) },
  {
    name: 'additional members of the public key',
    requests: (ground) => {
      const draft = draftOf(ground, ground.key, ground.tokens.bound)
      const more = { alg: 'ES256', use: 'sig', kid: 'a', key_ops: ['verify'], ext: true }
      return [requestOf(ground, { ...draft, header: { ...draft.header, jwk: { ...ground.key.jwk, ...more } } })]
    },
  },
  {
    name: 'the scheme in lower case',
    requests: (ground) => [requestOf(ground, draftOf(ground, ground.key, ground.tokens.bound), 'dpop')],
  },
  {
    name: 'two proofs of one key',
    requests: (ground) => [1, 2].map(() => requestOf(ground, draftOf(ground, ground.key, ground.tokens.bound))),
  },
  {
    name: 'the same jti under another key with a token of its own',
    requests: (ground) => {
      const { key, otherKey, tokens } = ground
      return (
        [
          [key, tokens.bound],
          [otherKey, tokens.otherBound],
        ] as const
      ).map(([owner, token]) => {
        const draft = draftOf(ground, owner, token)
        return request(token, proofOf({ ...draft, claims: { ...draft.claims, jti: 'the same' } }))
      })
    },
  },
]
