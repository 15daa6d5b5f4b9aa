import { generateKeyPair, generateProof } from 'dpop'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { expect, test } from 'vitest'
import { everything } from '#model/scope'
import { ProofFixture } from '#test/access/proof-fixture'
import { request } from '#test/access/wrong-proof'

test('a thousand proofs of an independent client are accepted, each once', async () => {
  const fixture = await ProofFixture.open()
  // The client uses the system clock for `iat`.
  fixture.world.spend(Date.now() - fixture.world.now())
  const { method, origin, path } = fixture.context
  for (let client = 0; client < 10; client++) {
    const pair = await generateKeyPair('ES256')
    const jkt = await calculateJwkThumbprint(await exportJWK(pair.publicKey))
    const of = { tenant: 'default', user: 'User111111', session: 'Session111', number: 1, roles: ['admin'] }
    const token = await fixture.tokens.issueAccess({ ...of, grants: everything.grants, jkt, lifetimeMs: 600_000 })
    for (let count = 0; count < 100; count++) {
      const proof = await generateProof(pair, origin + path, method, fixture.nonces.current, token)
      expect((await fixture.answer(request(token, proof))).refusal).toBeUndefined()
      expect((await fixture.answer(request(token, proof))).refusal?.error).toBe('proof already used')
    }
  }
})
