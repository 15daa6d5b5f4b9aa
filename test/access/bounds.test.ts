import { expect, test } from 'vitest'
import type { Caller } from '#model/caller'
import { IdentityStage, password, place } from '#test/access/identity-stage'
import { makeKeyPair } from '#test/access/key-pair'

test('names that nobody has leave nothing behind: a hundred thousand of them', { timeout: 240_000 }, async () => {
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

test('what waits to be confirmed or activated is bounded: whoever came first makes room', {
  timeout: 240_000,
}, async () => {
  const stage = await IdentityStage.open()
  await stage.addUser('ann')
  const key = makeKeyPair()
  const { accessToken } = await stage.logIn('ann', key)
  const { enrollTotp, activateTotp } = stage.identity.secondFactors
  const ann = await stage.bound(accessToken, key, 'person or proof')
  /** She again, as if by another session of hers. */
  const by = (index: number): Caller => ({
    ...ann,
    tenant: ann.tenant,
    user: ann.user,
    jkt: key.jkt,
    session: { kind: 'session', tenant: ann.tenant, id: `S${index}` },
    isCurrent: () => true,
  })
  for (let from = 0; from <= 10_000; from += 20) {
    const some = Array.from({ length: Math.min(20, 10_001 - from) }, (_, index) => by(from + index))
    await stage.wait(Promise.all(some.map((caller) => enrollTotp({ caller, place, password }))))
  }
  const enroll = (index: number) => stage.refusal(enrollTotp({ caller: by(index), place }))
  const activate = (index: number) => stage.refusal(activateTotp({ caller: by(index), place, code: '000000' }))
  const nothing = 'invalid Validation Error'
  expect([await activate(0), await enroll(0)]).toEqual([nothing, nothing])
  // With a password there is still nothing to activate.
  const shown = activateTotp({ caller: by(0), place, code: '000000', password })
  expect(await stage.refusal(shown)).toBe(nothing)
  expect(await activate(10_000)).toBe('unauthorized invalid code')
  expect(await enroll(10_000)).toBeUndefined()
})
