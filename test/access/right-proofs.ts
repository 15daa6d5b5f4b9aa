import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { type ProofContext, type ProofRequestText, request } from '#test/access/wrong-proof'

/** Requests with valid proofs, usual or unusual: each request succeeds. */
export type RightProofRow = readonly [name: string, requests: (context: ProofContext) => readonly ProofRequestText[]]

function claimed(claims: (context: ProofContext) => Record<string, unknown>): RightProofRow[1] {
  return (context) => {
    const draft = draftOf(context, context.key, context.tokens.bound)
    return [requestOf(context, { ...draft, claims: { ...draft.claims, ...claims(context) } })]
  }
}

function requestOf(context: ProofContext, draft: ProofDraft, scheme?: string): ProofRequestText {
  return request(context.tokens.bound, proofOf(draft), scheme)
}

const address = ({ origin, path }: ProofContext) => origin + path
const usual = (context: ProofContext) => draftOf(context, context.key, context.tokens.bound)
const additional = { alg: 'ES256', use: 'sig', kid: 'a', key_ops: ['verify'], ext: true }

export const rightProofs: readonly RightProofRow[] = [
  ['a usual proof', claimed(() => ({}))],
  ['htu with a query', claimed((context) => ({ htu: `${address(context)}?a=b` }))],
  ['htu with a fragment', claimed((context) => ({ htu: `${address(context)}#a?b` }))],
  ['htu with scheme and host in upper case', claimed(({ origin, path }) => ({ htu: origin.toUpperCase() + path }))],
  ['a request with a query', (context) => [{ ...requestOf(context, usual(context)), query: 'a=b' }]],
  ['iat 60 s ago', claimed((context) => ({ iat: context.nowS() - 60 }))],
  ['iat 60 s ahead', claimed((context) => ({ iat: context.nowS() + 60 }))],
  ['jti of 128 characters', claimed(() => ({ jti: 'j'.repeat(128) }))],
  ['unknown claims', claimed(() => ({ iss: 'me', exp: 1, nbf: 9e9 }))],
  ['additional members of the public key', withAdditional],
  ['the scheme in lower case', (context) => [requestOf(context, usual(context), 'dpop')]],
  ['two proofs of one key', (context) => [1, 2].map(() => requestOf(context, usual(context)))],
  ['the same jti under another key with a token of its own', sameJtiOfTwo],
]

function withAdditional(context: ProofContext): readonly ProofRequestText[] {
  const draft = usual(context)
  const header = { ...draft.header, jwk: { ...context.key.jwk, ...additional } }
  return [requestOf(context, { ...draft, header })]
}

function sameJtiOfTwo(context: ProofContext): readonly ProofRequestText[] {
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
