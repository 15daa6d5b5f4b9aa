import { constants, createHmac } from 'node:crypto'
import { base64urlOf } from '#access/secret-text'
import { draftOf, proofOf } from '#test/access/proof-draft'
import {
  drafted,
  ecdsa,
  edited,
  foreign,
  good,
  header,
  invalid,
  jwk,
  missing,
  type ProofContext,
  request,
  sent,
  spoilt,
  type WrongProofRow,
} from '#test/access/wrong-proof'

/** Faults of the transport, the format, the header and the key, which are checked before the claims. */
export const wrongForms: readonly WrongProofRow[] = [
  // Transport.
  [1, 'no header', sent(() => undefined), missing],
  [2, 'an empty header', sent(() => ''), missing],
  [3, 'two headers with different valid proofs', (context) => [twice(context, good(context), good(context))], invalid],
  [4, 'two headers with the same proof', (context) => [sameTwice(context)], invalid],
  [5, 'two proofs in one header', sent((context) => `${good(context)}, ${good(context)}`), invalid],
  [6, 'a proof longer than 4 KiB', sent((context) => proofOfLength(context, 4097)), invalid],
  // Format.
  [7, 'a text that is not a JWT', edited(() => 'abc'), invalid],
  [8, 'a proof of two parts', edited((text) => text.split('.').slice(0, 2).join('.')), invalid],
  [9, 'a proof of four parts', edited((text) => `${text}.AAAA`), invalid],
  [10, 'a proof of five parts, like a JWE', edited((text) => `${text}.AAAA.AAAA`), invalid],
  [
    11,
    'a proof in the standard Base64 alphabet',
    sent((context) => proofWithDash(context).replace(/-/g, '+')),
    invalid,
  ],
  [12, 'a proof with padding', edited((text) => `${text}==`), invalid],
  [13, 'a header that is not JSON', drafted(() => ({ headerText: '{"typ":' })), invalid],
  [14, 'a header that is a list', drafted(() => ({ headerText: '[{"typ":"dpop+jwt"}]' })), invalid],
  [15, 'claims that are not JSON', drafted(() => ({ claimsText: 'htm=GET' })), invalid],
  [16, 'claims that are a list', drafted(() => ({ claimsText: '[]' })), invalid],
  // typ, alg.
  [17, 'no typ', header({ typ: undefined }), invalid],
  [18, 'typ JWT', header({ typ: 'JWT' }), invalid],
  [19, 'typ at+jwt', header({ typ: 'at+jwt' }), invalid],
  [20, 'typ in upper case', header({ typ: 'DPOP+JWT' }), invalid],
  [
    21,
    'alg none without a signature',
    drafted((draft) => ({ header: { ...draft.header, alg: 'none' }, signature: () => new Uint8Array() })),
    invalid,
  ],
  [22, 'alg none with a signature', header({ alg: 'none' }), invalid],
  [
    23,
    'HS256 with the public key as secret',
    spoilt((draft, { key }) => {
      draft.header.alg = 'HS256'
      const secret = key.publicKey.export({ type: 'spki', format: 'pem' })
      draft.signature = (signed) => createHmac('sha256', secret).update(signed).digest()
    }),
    invalid,
  ],
  [24, 'RS256', foreign('RS256', 'RS256'), invalid],
  [25, 'PS256', foreign('PS256', 'RS256', pss), invalid],
  [26, 'ES384', foreign('ES384', 'ES384', ecdsa), invalid],
  [27, 'ES512', foreign('ES512', 'ES512', ecdsa), invalid],
  [28, 'ES256K', foreign('ES256K', 'ES256K', ecdsa), invalid],
  [29, 'EdDSA', foreign('EdDSA', 'EdDSA'), invalid],
  [30, 'no alg', header({ alg: undefined }), invalid],
  [31, 'alg in lower case', header({ alg: 'es256' }), invalid],
  // The key.
  [32, 'no jwk', header({ jwk: undefined }), invalid],
  [33, 'jwk as a text', wholeJwk((key) => JSON.stringify(key)), invalid],
  [34, 'jwk as a list', wholeJwk((key) => [key]), invalid],
  [35, 'the private key', jwk(({ key }) => ({ ...key.privateKey.export({ format: 'jwk' }) })), invalid],
  [36, 'kty RSA', jwk(() => ({ kty: 'RSA' })), invalid],
  [37, 'kty oct', jwk(() => ({ kty: 'oct', k: 'c2VjcmV0' })), invalid],
  [38, 'crv P-384', jwk(() => ({ crv: 'P-384' })), invalid],
  [39, 'no x', jwk(() => ({ x: undefined })), invalid],
  [40, 'y of 31 bytes', jwk(({ key }) => ({ y: withoutFirst(key.jwk.y) })), invalid],
  [41, 'a point outside the curve', jwk(({ otherKey }) => ({ x: otherKey.jwk.x })), invalid],
  [42, 'kid in place of jwk', header({ jwk: undefined, kid: 'a' }), invalid],
  [42, 'x5c in place of jwk', header({ jwk: undefined, x5c: ['MIIB'] }), invalid],
  [43, 'a critical header', header({ crit: ['exp'], exp: 1 }), invalid],
]

function pss(key: never) {
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
}

/** A valid proof of this length. Some lengths need padding in the header and in the claims. */
export function proofOfLength(context: ProofContext, characters: number): string {
  for (let inHeader = 0; inHeader < 4; inHeader++) {
    const draft = draftOf(context, context.key, context.tokens.bound)
    const padded = (inClaims: number) => {
      const header = { ...draft.header, kid: 'x'.repeat(inHeader) }
      return proofOf({ ...draft, header, claims: { ...draft.claims, pad: 'x'.repeat(inClaims) } })
    }
    const room = Math.floor(((characters - padded(0).length) * 3) / 4)
    for (const inClaims of [room - 1, room, room + 1]) {
      const text = padded(inClaims)
      if (text.length === characters) return text
    }
  }
  throw new Error(`no proof has ${characters} characters`)
}

function wholeJwk(change: (jwk: object) => unknown) {
  return spoilt((draft, { key }) => Object.assign(draft.header, { jwk: change(key.jwk) }))
}

function withoutFirst(text: string): string {
  return base64urlOf(Buffer.from(text, 'base64url').subarray(1))
}

/** Makes proofs until a signature contains `-`, which the standard Base64 alphabet does not have. */
function proofWithDash(context: ProofContext): string {
  for (;;) {
    const text = good(context)
    if (text.split('.')[2]?.includes('-')) return text
  }
}

function twice(context: ProofContext, first: string, second: string) {
  const { headers } = request(context.tokens.bound, first)
  return { headers: [...headers, ['dpop', second] as const] }
}

function sameTwice(context: ProofContext) {
  const proof = good(context)
  return twice(context, proof, proof)
}
