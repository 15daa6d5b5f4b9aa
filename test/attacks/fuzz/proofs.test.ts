import fc from 'fast-check'
import { expect, test } from 'vitest'
import { draftOf, type ProofDraft, proofOf } from '#test/access/proof-draft'
import { ProofFixture } from '#test/access/proof-fixture'
import { fuzzRuns } from '#test/attacks/fuzz/fuzz-runs'
import { edited, edits, mutated } from '#test/attacks/fuzz/mutation'

/**
 * Sends proofs that are mutated before or after they are signed. Accepted proofs must satisfy a simple model of
 * RFC 9449 §4.3.
 */

const proofFixture = await ProofFixture.open()
const { context } = proofFixture
const token = context.tokens.bound

const ask = (proof: string) =>
  proofFixture.answer({
    headers: [
      ['Authorization', `DPoP ${token}`],
      ['DPoP', proof],
    ],
  })

/** A model of RFC 9449 §4.3 and contract 2. `draft` is the proof before the mutation. */
function isValid(header: unknown, claims: unknown, draft: ProofDraft): boolean {
  const { typ, alg, jwk, ...more } = Object(header) as Record<string, unknown>
  const given = Object(claims) as Record<string, unknown>
  const key = Object(jwk) as Record<string, unknown>
  const wanted = draft.header.jwk as Record<string, unknown>
  const isKey = ['kty', 'crv', 'x', 'y'].every((name) => key[name] === wanted[name]) && !('d' in key)
  const same = (['htm', 'nonce', 'ath'] as const).every((name) => given[name] === draft.claims[name])
  const isFresh = Number.isInteger(given.iat) && Math.abs((given.iat as number) - (draft.claims.iat as number)) <= 60
  const hasId = typeof given.jti === 'string' && given.jti !== '' && given.jti.length <= 128
  const hasUri = String(given.htu).replace(/[?#].*$/s, '') === draft.claims.htu
  return typ === 'dpop+jwt' && alg === 'ES256' && isKey && same && isFresh && hasId && hasUri && !('crit' in more)
}

test('a mutated header and mutated claims with a valid signature are accepted only if they still mean the same', async () => {
  let [good, bad] = [0, 0]
  await fc.assert(
    fc.asyncProperty(mutated({}), fc.gen(), async (_, pick) => {
      const draft = draftOf(context, context.key, token)
      const header = pick(mutated, draft.header)
      const claims = pick(mutated, draft.claims)
      const text = proofOf({ ...draft, headerText: JSON.stringify(header), claimsText: JSON.stringify(claims) })
      const { refusal } = await ask(text)
      if (!refusal)
        expect(isValid(header, claims, draft), `${JSON.stringify(header)} ${JSON.stringify(claims)}`).toBe(true)
      else expect([400, 401]).toContain(refusal.status)
      if (refusal) bad++
      else good++
    }),
    fuzzRuns(200),
  )
  expect([good > 0, bad > 0]).toEqual([true, true])
})

test('a proof that is mutated after it was signed is refused', async () => {
  await fc.assert(
    fc.asyncProperty(edits(4), async (all) => {
      const text = proofOf(draftOf(context, context.key, token))
      const mutatedText = edited(Buffer.from(text), all).toString('latin1')
      fc.pre(mutatedText !== text)
      const { refusal } = await ask(mutatedText)
      expect([400, 401]).toContain(refusal?.status)
    }),
    fuzzRuns(200),
  )
})

test('mutated access tokens are refused', async () => {
  await fc.assert(
    fc.asyncProperty(edits(4), async (all) => {
      const mutatedText = edited(Buffer.from(token), all).toString('latin1')
      fc.pre(mutatedText !== token && mutatedText.trim() === mutatedText)
      const proof = proofOf(draftOf(context, context.key, mutatedText))
      const { refusal } = await proofFixture.answer({
        headers: [
          ['Authorization', `DPoP ${mutatedText}`],
          ['DPoP', proof],
        ],
      })
      expect([400, 401]).toContain(refusal?.status)
    }),
    fuzzRuns(150),
  )
})
