import { expect, test } from 'vitest'
import { makeKeyPair } from '#test/iam/key-pair'
import { IdentityStage } from '#test/identity/identity-stage'

test('names that nobody has leave nothing behind: a hundred thousand of them', { timeout: 120_000 }, async () => {
  const stage = await IdentityStage.open({ settings: { areRateLimitsOn: true } })
  const { jkt } = makeKeyPair()
  const { system } = stage.assembly.context
  const before = { awake: system.registry.awakeCount, named: system.registry.namedCount }
  for (let round = 0; round < 5_000; round++) {
    const guesses = Array.from({ length: 20 }, (_, index) => {
      const place = { host: '127.0.0.1', address: `10.${round >> 8}.${round & 255}.${index}`, agent: '' }
      const email = `guess ${round} ${index}`
      return stage.identity.logins.logIn({ email, password: 'wrong password', jkt, place }).catch(() => {})
    })
    await Promise.all(guesses)
    stage.engine.calls.length = 0
  }
  expect({ awake: system.registry.awakeCount, named: system.registry.namedCount }).toEqual(before)
})
