import { Nonces, ProofKeys, type ProofRequest, Proofs } from '#access/proof'
import { Replays } from '#access/replays'
import { tokenHash } from '#access/secret-text'
import { bytesFor, keyFor, signedText } from '#test/attacks/fuzz/signed-text'
import { expectThat, refusing, seedsOf, type Target } from '#test/attacks/fuzz/target'

/** DPoP proofs, also with a good signature. */

const nowMs = 1_790_000_000_000
const now = () => nowMs
const key = keyFor('client')
const nonces = new Nonces({ now, key: bytesFor('nonces')(32) })
// No proof is used up, and no key kept: what comes of bytes is theirs alone.
const proofs = new Proofs({
  now,
  nonces,
  replays: new Replays({ now, random: bytesFor('replays') }),
  keys: new ProofKeys({ now }),
})
const [method, path, origin, token] = ['GET', '/api/v1/iam/me', 'http://127.0.0.1:8080', 'TOKEN']

const header = JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.publicJwk })
const claims = { jti: 'proof-1', htm: method, htu: origin + path, iat: nowMs / 1000, nonce: nonces.current }
const good = Buffer.from(`${header}\n${JSON.stringify({ ...claims, ath: tokenHash(token) })}`)

export const seeds = [good, ...seedsOf(signedText(good, key))]

export const fuzz: Target['fuzz'] = async (bytes) => {
  const text = signedText(bytes, key)
  const request: ProofRequest = {
    method,
    path,
    forwarded: { origins: [origin], host: '127.0.0.1:8080', address: '127.0.0.1' },
    header: () => text,
    headerCount: () => 1,
    addReplyHeader() {},
  }
  const [checked] = await Promise.allSettled([proofs.check(request, token)])
  const look = () => {
    if (checked.status === 'rejected') throw checked.reason
    expectThat(checked.value.jkt === key.kid, 'nobody else can sign')
  }
  return refusing(look, 'unauthorized', 'bad_request')
}
