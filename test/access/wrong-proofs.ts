import { constants, createHmac, sign } from 'node:crypto'
import { base64urlOf } from '#access/secret-text'
import type { KeyPair } from '#test/access/key-pair'
import { athOf, draftOf, es256By, proofOf, withPart } from '#test/access/proof-draft'
import {
  ath,
  badToken,
  claims,
  drafted,
  ecdsa,
  edited,
  foreign,
  good,
  header,
  htm,
  htu,
  iat,
  invalid,
  invalidToken,
  jwk,
  keyMismatch,
  missing,
  type ProofContext,
  type ProofRequestText,
  type Requests,
  request,
  sent,
  spoilt,
  used,
  useNonce,
  type WrongProofRow,
  withToken,
} from '#test/access/wrong-proof'

/** Faults of proofs and tokens: those of the transport, the format, the header and the key are checked first. */
export const wrongProofs: readonly WrongProofRow[] = [
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
  // Claims.
  [44, 'no jti', claims({ jti: undefined }), invalid],
  [45, 'an empty jti', claims({ jti: '' }), invalid],
  [46, 'a jti that is a number', claims({ jti: 7 }), invalid],
  [47, 'jti of 129 characters', claims({ jti: 'j'.repeat(129) }), invalid],
  [48, 'no htm', claims({ htm: undefined }), invalid],
  [49, 'htm of another method', claims({ htm: 'POST' }), htm],
  [50, 'htm in lower case', claims({ htm: 'get' }), htm],
  [51, 'htm HEAD', claims({ htm: 'HEAD' }), htm],
  [52, 'no htu', claims({ htu: undefined }), invalid],
  [53, 'htu of another scheme', htuOf((text) => text.replace(/^http/, 'https')), htu],
  [54, 'htu of a websocket', htuOf((text) => text.replace(/^http/, 'ws')), htu],
  [55, 'htu of another host', htuOf((text) => text.replace(/\/\/[^/:]+/, '//elsewhere.example')), htu],
  [56, 'htu of another port', htuOf((text) => text.replace(/^(\w+:\/\/[^/:]+)(:\d+)?/, '$1:1')), htu],
  [57, 'htu of another path', htuOf((text) => text.replace(/\/me$/, '/you')), htu],
  [58, 'htu with a trailing slash', htuOf((text) => `${text}/`), htu],
  [59, 'htu in another spelling', htuOf((text) => text.replace(/\/me$/, '/%6de')), htu],
  [60, 'htu with a user in it', htuOf((text) => text.replace('://', '://user@')), htu],
  [61, 'htu without a host', htuOf((text) => text.replace(/^\w+:\/\/[^/]+/, '')), htu],
  [62, 'an empty htu', claims({ htu: '' }), htu],
  [63, 'no iat', claims({ iat: undefined }), invalid],
  [64, 'an iat that is a text', iatOf(String), invalid],
  [65, 'an iat above the largest number', drafted((draft) => ({ claimsText: hugeIat(draft.claims) })), invalid],
  [65, 'iat with a fraction', iatOf((now) => now + 0.5), invalid],
  [66, 'iat 61 s ago', iatOf((now) => now - 61), iat],
  [67, 'iat 61 s ahead', iatOf((now) => now + 61), iat],
  [68, 'iat in milliseconds', iatOf((now) => now * 1000), iat],
  [69, 'a negative iat', iatOf((now) => -now), iat],
  [70, 'no nonce', claims({ nonce: undefined }), useNonce],
  [71, 'an empty nonce', claims({ nonce: '' }), useNonce],
  [72, 'a nonce that is a number', claims({ nonce: 1 }), useNonce],
  [73, 'a random nonce', claims({ nonce: 'AAAAAAAAAAAAAAAAAAAAAA' }), useNonce],
  [74, 'a nonce from eleven minutes ago', nonceOf(({ nonces }) => nonces.old), useNonce],
  [75, 'a nonce of an earlier start', nonceOf(({ nonces }) => nonces.earlierStart), useNonce],
  // Signature.
  [76, 'a signature of another key', drafted((_, { otherKey }) => ({ signature: es256By(otherKey) })), invalid],
  [77, 'claims changed after signing', changedAfter(1, (claim) => ({ ...claim, more: 1 })), invalid],
  [78, 'header changed after signing', changedAfter(0, (head) => ({ ...head, kid: 'a' })), invalid],
  [
    79,
    'a signature in DER',
    drafted((_, { key }) => ({ signature: (signed) => sign('sha256', Buffer.from(signed), key.privateKey) })),
    invalid,
  ],
  [80, 'a signature of 63 bytes', shortened(63), invalid],
  [81, 'an empty signature', shortened(0), invalid],
  [82, 'a signature whose r and s are 0', drafted(() => ({ signature: () => new Uint8Array(64) })), invalid],
  // Binding.
  [83, 'no ath', claims({ ath: undefined }), ath],
  [84, 'ath of another token', claimsOf(({ tokens }) => ({ ath: athOf(tokens.unbound) })), ath],
  [85, 'ath with padding', claimsOf(({ tokens }) => ({ ath: `${athOf(tokens.bound)}=` })), ath],
  [86, 'ath in hex', claimsOf(({ tokens }) => ({ ath: hexOf(athOf(tokens.bound)) })), ath],
  [87, 'ath of the whole header', claimsOf(({ tokens }) => ({ ath: athOf(`DPoP ${tokens.bound}`) })), ath],
  [88, 'a valid proof of another key', sent((context) => byOtherKey(context, context.tokens.bound)), keyMismatch],
  [89, 'a token without a key', withToken(({ tokens }) => tokens.unbound), keyMismatch],
  // Single use.
  [90, 'the same request again', withCopy((first) => first), used],
  [91, 'another proof with the same jti', sameJti, used],
  [92, 'the same proof with another query', withCopy((first) => ({ ...first, query: 'a=1' })), used],
  // The token.
  [93, 'a bound token as bearer', sent(() => undefined, 'Bearer'), badToken('use the DPoP scheme')],
  [94, 'a bound token as bearer, with a valid proof', sent(good, 'Bearer'), badToken('use the DPoP scheme')],
  [95, 'an expired token', withToken(({ tokens }) => tokens.expired), badToken('token expired')],
  [96, 'a token of an ended session', withToken(({ tokens }) => tokens.ended), badToken('session over')],
  [
    97,
    'a token with a changed signature',
    withToken(({ tokens }) => withPart(tokens.bound, 2, swapFirst)),
    invalidToken,
  ],
  [98, 'a text that is not a token', withToken(() => 'garbage'), invalidToken],
  [99, 'a refresh token', withToken(({ tokens }) => tokens.refresh), invalidToken],
  [100, 'a token for the second factor', withToken(({ tokens }) => tokens.secondFactor), invalidToken],
  [101, 'a token of an unknown type', withToken(({ tokens }) => tokens.plainType), invalidToken],
  [102, 'a token under an unknown key', withToken(({ tokens }) => tokens.unknownKid), invalidToken],
  [103, 'a token of another server', withToken(({ tokens }) => tokens.foreign), invalidToken],
  [
    104,
    'more proofs than the store holds',
    (context) => [1, 2, 3, 4, 5].map(() => request(context.tokens.bound, good(context))),
    { status: 503, error: 'OVERLOADED', hasRetryAfter: true },
  ],
  // If several checks fail, the first one decides the error.
  [105, 'htm before nonce', claims({ htm: 'POST', nonce: undefined }), htm],
  [105, 'htu before iat', claims({ htu: 'http://elsewhere.example/', iat: 1 }), htu],
  [105, 'iat before nonce', claims({ iat: 1, nonce: undefined }), iat],
  [105, 'nonce before signature', claimsByOther({ nonce: '' }), useNonce],
  [105, 'signature before ath', claimsByOther({ ath: '' }), invalid],
  [105, 'ath before key', sent((context) => byOtherKey(context, context.tokens.unbound)), ath],
  [105, 'key before single use', otherKeyTwice, keyMismatch],
  [105, 'single use before the expiry of the token', expiredTwice, used],
]

function claimsOf(changes: (context: ProofContext) => Record<string, unknown>): Requests {
  return (context) => claims(changes(context))(context)
}

function hugeIat(claimed: object): string {
  return JSON.stringify(claimed).replace(/"iat":\d+/, '"iat":1e400')
}

function hexOf(base64url: string): string {
  return Buffer.from(base64url, 'base64url').toString('hex')
}

function byOtherKey(context: ProofContext, token: string): string {
  return proofOf(draftOf(context, context.otherKey, token))
}

function claimsByOther(changes: Record<string, unknown>): Requests {
  return drafted((draft, { otherKey }) => ({ claims: { ...draft.claims, ...changes }, signature: es256By(otherKey) }))
}

function htuOf(change: (address: string) => string): Requests {
  return spoilt((draft, { origin, path }) => Object.assign(draft.claims, { htu: change(origin + path) }))
}

function iatOf(change: (nowS: number) => number | string): Requests {
  return spoilt((draft, context) => Object.assign(draft.claims, { iat: change(context.nowS()) }))
}

function nonceOf(choose: (context: ProofContext) => string): Requests {
  return (context) => claims({ nonce: choose(context) })(context)
}

function changedAfter(place: 0 | 1, change: (part: object) => object): Requests {
  const changed = (part: string) => {
    const value = JSON.parse(Buffer.from(part, 'base64url').toString())
    return Buffer.from(JSON.stringify(change(value))).toString('base64url')
  }
  return edited((text) => withPart(text, place, changed))
}

function shortened(bytes: number): Requests {
  return spoilt((draft) => {
    const whole = draft.signature
    draft.signature = (signed) => whole(signed).subarray(0, bytes)
  })
}

/** A valid request, and then a changed copy of it. */
function withCopy(change: (first: ProofRequestText) => ProofRequestText): Requests {
  return (context) => {
    const first = request(context.tokens.bound, good(context))
    return [first, change(first)]
  }
}

function sameJti(context: ProofContext): readonly ProofRequestText[] {
  return [1, 2].map(() =>
    request(context.tokens.bound, proofWithJti(context, context.key, context.tokens.bound, 'the same')),
  )
}

/** The other key has used this `jti` with its own token. */
function otherKeyTwice(context: ProofContext): readonly ProofRequestText[] {
  const { bound, otherBound } = context.tokens
  return [otherBound, bound].map((token) =>
    request(token, proofWithJti(context, context.otherKey, token, 'of the other')),
  )
}

function expiredTwice(context: ProofContext): readonly ProofRequestText[] {
  const { bound, expired } = context.tokens
  return [bound, expired].map((token) => request(token, proofWithJti(context, context.key, token, 'before its time')))
}

function proofWithJti(context: ProofContext, key: KeyPair, token: string, jti: string): string {
  const draft = draftOf(context, key, token)
  return proofOf({ ...draft, claims: { ...draft.claims, jti } })
}

function swapFirst(part: string): string {
  return `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}`
}

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
