import fc from 'fast-check'
import { expect, test } from 'vitest'
import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { ProofFixture } from '#test/access/proof-fixture'
import { tried } from '#test/attacks/fuzz/fuzzing'
import { edited, edits, mutated } from '#test/attacks/fuzz/mutation'

/**
 * Proofs whose header and claims were changed before they were signed by the right key, and proofs whose bytes were changed
 * after it. What is let in is what a plain reading of RFC 9449 §4.3 lets in.
 */

const answering = await ProofFixture.open()
const { ground } = answering
const token = ground.tokens.bound

const ask = (proof: string) =>
  answering.answer({
    headers: [
      ['Authorization', `DPoP ${token}`],
      ['DPoP', proof],
    ],
  })

/** RFC 9449 §4.3 and contract 2, in as few words as it takes; `draft`: as it was before it was changed. */
function isGood(header: unknown, claims: unknown, draft: ProofDraft): boolean {
  const { typ, alg, jwk, ...more } = Object(header) as Record<string, unknown>
  const said = Object(claims) as Record<string, unknown>
  const key = Object(jwk) as Record<string, unknown>
  const wanted = draft.header.jwk as Record<string, unknown>
  const isKey = ['kty', 'crv', 'x', 'y'].every((name) => key[name] === wanted[name]) && !('d' in key)
  const same = (['htm', 'nonce', 'ath'] as const).every((name) => said[name] === draft.claims[name])
  const isFresh = Number.isInteger(said.iat) && Math.abs((said.iat as number) - (draft.claims.iat as number)) <= 60
  const isNamed = typeof said.jti === 'string' && said.jti !== '' && said.jti.length <= 128
  const isThere = String(said.htu).replace(/[?#].*$/s, '') === draft.claims.htu
  return typ === 'dpop+jwt' && alg === 'ES256' && isKey && same && isFresh && isNamed && isThere && !('crit' in more)
}

test('claims and header changed, and signed: let in only what still says the same', async () => {
  let [good, bad] = [0, 0]
  await fc.assert(
    fc.asyncProperty(mutated({}), fc.gen(), async (_, pick) => {
      const draft = draftOf(ground, ground.key, token)
      const header = pick(mutated, draft.header)
      const claims = pick(mutated, draft.claims)
      const text = proofOf({ ...draft, headerText: JSON.stringify(header), claimsText: JSON.stringify(claims) })
      const { refusal } = await ask(text)
      if (!refusal)
        expect(isGood(header, claims, draft), `${JSON.stringify(header)} ${JSON.stringify(claims)}`).toBe(true)
      else expect([400, 401]).toContain(refusal.status)
      if (refusal) bad++
      else good++
    }),
    tried(600),
  )
  expect([good > 0, bad > 0]).toEqual([true, true])
})

test('bytes changed after signing: never let in, and never a failure of ours', async () => {
  await fc.assert(
    fc.asyncProperty(edits(4), async (all) => {
      const text = proofOf(draftOf(ground, ground.key, token))
      const spoilt = edited(Buffer.from(text), all).toString('latin1')
      fc.pre(spoilt !== text)
      const { refusal } = await ask(spoilt)
      expect([400, 401]).toContain(refusal?.status)
    }),
    tried(600),
  )
})

test('access tokens with bytes changed: never let in', async () => {
  await fc.assert(
    fc.asyncProperty(edits(4), async (all) => {
      const spoilt = edited(Buffer.from(token), all).toString('latin1')
      fc.pre(spoilt !== token && spoilt.trim() === spoilt)
      const proof = proofOf(draftOf(ground, ground.key, spoilt))
      const { refusal } = await answering.answer({
        headers: [
          ['Authorization', `DPoP ${spoilt}`],
          ['DPoP', proof],
        ],
      })
      expect([400, 401]).toContain(refusal?.status)
    }),
    tried(400),
  )
})
