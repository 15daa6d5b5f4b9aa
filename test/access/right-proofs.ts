import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { type ProofContext, type ProofRequestText, request } from '#test/access/wrong-proof'

/** Unusual proofs that are valid. Like the wrong ones, for the checks alone and for a server. */
export interface RightProof {
  readonly name: string
  /** Each request succeeds. */
  readonly requests: (context: ProofContext) => readonly ProofRequestText[]
}

function claimed(claims: (context: ProofContext) => Record<string, unknown>): RightProof['requests'] {
  return (context) => {
    const draft = draftOf(context, context.key, context.tokens.bound)
    return [requestOf(context, { ...draft, claims: { ...draft.claims, ...claims(context) } })]
  }
}

function requestOf(context: ProofContext, draft: ProofDraft, scheme?: string): ProofRequestText {
  return request(context.tokens.bound, proofOf(draft), scheme)
}

const address = ({ origin, path }: ProofContext) => origin + path

export const rightProofs: readonly RightProof[] = [
  { name: 'a usual proof', requests: claimed(() => ({})) },
  { name: 'htu with a query', requests: claimed((context) => ({ htu: `${address(context)}?a=b` })) },
  { name: 'htu with a fragment', requests: claimed((context) => ({ htu: `${address(context)}#a?b` })) },
  {
    name: 'htu with scheme and host in upper case',
    requests: claimed((context) => ({ htu: context.origin.toUpperCase() + context.path })),
  },
  {
    name: 'a request with a query',
    requests: (context) => claimed(() => ({}))(context).map((one) => ({ ...one, query: 'a=b' })),
  },
  { name: 'iat 60 s ago', requests: claimed((context) => ({ iat: context.nowS() - 60 })) },
  { name: 'iat 60 s ahead', requests: claimed((context) => ({ iat: context.nowS() + 60 })) },
  { name: 'jti of 128 characters', requests: claimed(() => ({ jti: 'j'.repeat(128) })) },
  { name: 'unknown claims', requests: claimed(() => ({ iss: 'me', exp: 1, nbf: 9e9 })) },
  {
    name: 'additional members of the public key',
    requests: (context) => {
      const draft = draftOf(context, context.key, context.tokens.bound)
      const more = { alg: 'ES256', use: 'sig', kid: 'a', key_ops: ['verify'], ext: true }
      return [requestOf(context, { ...draft, header: { ...draft.header, jwk: { ...context.key.jwk, ...more } } })]
    },
  },
  {
    name: 'the scheme in lower case',
    requests: (context) => [requestOf(context, draftOf(context, context.key, context.tokens.bound), 'dpop')],
  },
  {
    name: 'two proofs of one key',
    requests: (context) => [1, 2].map(() => requestOf(context, draftOf(context, context.key, context.tokens.bound))),
  },
  {
    name: 'the same jti under another key with a token of its own',
    requests: (context) => {
      const { key, otherKey, tokens } = context
      return (
        [
          [key, tokens.bound],
          [otherKey, tokens.otherBound],
        ] as const
      ).map(([owner, token]) => {
        const draft = draftOf(context, owner, token)
        return request(token, proofOf({ ...draft, claims: { ...draft.claims, jti: 'the same' } }))
      })
    },
  },
]
