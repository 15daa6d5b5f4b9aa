import { expect, test } from 'vitest'
import type { Problem } from '#model/problem'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()

async function withTotp(): Promise<{ fixture: IdentityFixture; secret: string }> {
  const fixture = await IdentityFixture.open()
  await fixture.addUser('ann')
  const { accessToken } = await fixture.logIn('ann', key)
  const caller = await fixture.bound(accessToken, key, 'user or proof')
  const { secret } = await fixture.wait(fixture.identity.secondFactors.enrollTotp({ caller, place, password }))
  const code = codeOf(secret, fixture.world.now())
  await fixture.wait(fixture.identity.secondFactors.activateTotp({ caller, place, code }))
  return { fixture, secret }
}

test('concurrent attempts are limited like successive ones', async () => {
  const { fixture } = await withTotp()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const login = fixture.loginOf('ann', key, { place: { ...place, address: `192.0.2.${index}` } })
      const outcome = await fixture.wait(fixture.identity.logins.logIn(login))
      if (outcome.type !== 'second_factor') throw new Error(`a ${outcome.type}`)
      const caller = await fixture.caller(
        { method: 'POST', headers: { dpop: fixture.proof(key, { method: 'POST' }) } },
        'proof',
      )
      return { caller, token: outcome.token, place: login.place }
    }),
  )
  const uses = outcomes.map((shown, index) =>
    fixture.identity.secondFactors.useTotp({ ...shown, code: String(index).padStart(6, '0') }),
  )
  const settled = await fixture.wait(Promise.allSettled(uses))
  const messages = settled.map((one) => (one.status === 'rejected' ? (one.reason as Problem).code : 'taken'))
  expect(messages.filter((code) => code === 'unauthorized')).toHaveLength(3)
  expect(messages.filter((code) => code === 'too_many_requests')).toHaveLength(17)
})
