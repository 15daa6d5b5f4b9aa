import { expect, test } from 'vitest'
import type { Caller } from '#model/caller'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

test('pending confirmations and activations are limited, and the oldest is dropped', {
  timeout: 240_000,
}, async () => {
  const fixture = await IdentityFixture.open()
  await fixture.addUser('ann')
  const key = makeKeyPair()
  const { accessToken } = await fixture.logIn('ann', key)
  const { enrollTotp, activateTotp } = fixture.identity.secondFactors
  const ann = await fixture.bound(accessToken, key, 'person or proof')
  /** The same user in another session. */
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
    await fixture.wait(Promise.all(some.map((caller) => enrollTotp({ caller, place, password }))))
  }
  const enroll = (index: number) => fixture.refusal(enrollTotp({ caller: by(index), place }))
  const activate = (index: number) => fixture.refusal(activateTotp({ caller: by(index), place, code: '000000' }))
  const nothing = 'invalid Validation Error'
  expect([await activate(0), await enroll(0)]).toEqual([nothing, nothing])
  // With a password there is still nothing to activate.
  const shown = activateTotp({ caller: by(0), place, code: '000000', password })
  expect(await fixture.refusal(shown)).toBe(nothing)
  expect(await activate(10_000)).toBe('unauthorized invalid code')
  expect(await enroll(10_000)).toBeUndefined()
})
