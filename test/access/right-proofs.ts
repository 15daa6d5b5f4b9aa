import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { type ProofContext, type ProofRequestText, request } from '#test/access/wrong-proof'

/** Requests with valid proofs, which all succeed. */
export type RightProofRow = readonly [name: string, requests: (context: ProofContext) => readonly ProofRequestText[]]

function withClaims(claims: (context: ProofContext) => Record<string, unknown>): RightProofRow[1] {
  return (context) => {
    const draft = draftOf(context, context.key, context.tokens.bound)
    return [requestOf(context, { ...draft, claims: { ...draft.claims, ...claims(context) } })]
  }
}

function requestOf(context: ProofContext, draft: ProofDraft, scheme?: string): ProofRequestText {
  return request(context.tokens.bound, proofOf(draft), scheme)
}

const htuOf = ({ origin, path }: ProofContext) => origin + path
const ordinaryDraft = (context: ProofContext) => draftOf(context, context.key, context.tokens.bound)
const additionalMembers = { alg: 'ES256', use: 'sig', kid: 'a', key_ops: ['verify'], ext: true }

export const rightProofs: readonly RightProofRow[] = [
  ['an ordinary proof', withClaims(() => ({}))],
  ['htu with a query', withClaims((context) => ({ htu: `${htuOf(context)}?a=b` }))],
  ['htu with a fragment', withClaims((context) => ({ htu: `${htuOf(context)}#a?b` }))],
  ['htu with scheme and host in upper case', withClaims(({ origin, path }) => ({ htu: origin.toUpperCase() + path }))],
  ['a request with a query', (context) => [{ ...requestOf(context, ordinaryDraft(context)), query: 'a=b' }]],
  ['iat 60 s ago', withClaims((context) => ({ iat: context.nowS() - 60 }))],
  ['iat 60 s ahead', withClaims((context) => ({ iat: context.nowS() + 60 }))],
  ['jti of 128 characters', withClaims(() => ({ jti: 'j'.repeat(128) }))],
  ['iss, exp and nbf, which are not checked', withClaims(() => ({ iss: 'me', exp: 1, nbf: 9e9 }))],
  ['a public key with additional members', withAdditional],
  ['the scheme in lower case', (context) => [requestOf(context, ordinaryDraft(context), 'dpop')]],
  [
    'two requests with different proofs of one key',
    (context) => [1, 2].map(() => requestOf(context, ordinaryDraft(context))),
  ],
  ['the same jti from two keys, each with its own token', sameJtiOfTwoKeys],
]

function withAdditional(context: ProofContext): readonly ProofRequestText[] {
  const draft = ordinaryDraft(context)
  const header = { ...draft.header, jwk: { ...context.key.jwk, ...additionalMembers } }
  return [requestOf(context, { ...draft, header })]
}

function sameJtiOfTwoKeys(context: ProofContext): readonly ProofRequestText[] {
  const { key, otherKey, tokens } = context
  const owners = [
    [key, tokens.bound],
    [otherKey, tokens.otherBound],
  ] as const
  return owners.map(([owner, token]) => {
    const draft = draftOf(context, owner, token)
    return request(token, proofOf({ ...draft, claims: { ...draft.claims, jti: 'the same' } }))
  })
}
