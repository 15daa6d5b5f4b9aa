import { generateKeyPair, generateProof } from 'dpop'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { expect, test } from 'vitest'
import { everything } from '#model/scope'
import { ProofFixture } from '#test/access/proof-fixture'
import { request } from '#test/access/wrong-proof'

test('a thousand proofs of an independent client are accepted, each once', async () => {
  const ground = await ProofFixture.open()
  // The client uses the system clock for `iat`.
  ground.world.spend(Date.now() - ground.world.now())
  const { method, origin, path } = ground.ground
  for (let client = 0; client < 10; client++) {
    const pair = await generateKeyPair('ES256')
    const jkt = await calculateJwkThumbprint(await exportJWK(pair.publicKey))
    const of = { tenant: 'default', user: 'User111111', session: 'Session111', number: 1, roles: ['admin'] }
    const token = await ground.tokens.issueAccess({ ...of, grants: everything.grants, jkt, lifetimeMs: 600_000 })
    for (let count = 0; count < 100; count++) {
      const proof = await generateProof(pair, origin + path, method, ground.nonces.current, token)
      expect((await ground.answer(request(token, proof))).refusal).toBeUndefined()
      expect((await ground.answer(request(token, proof))).refusal?.error).toBe('proof already used')
    }
  }
})

test('a client without a nonce receives one, and continues with it', async () => {
  const ground = await ProofFixture.open()
  ground.world.spend(Date.now() - ground.world.now())
  const { method, origin, path } = ground.ground
  const pair = await generateKeyPair('ES256')
  const token = ground.ground.tokens.bound
  const first = await ground.answer(request(token, await generateProof(pair, origin + path, method, undefined, token)))
  expect(first.refusal?.error).toBe('use_dpop_nonce')
  const second = await ground.answer(
    request(token, await generateProof(pair, origin + path, method, first.nonce, token)),
  )
  // The token belongs to another client; all earlier checks pass.
  expect(second.refusal?.error).toBe('key mismatch')
})
