import { expect, test } from 'vitest'
import type { Problem } from '#model/problem'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()

async function withTotp(): Promise<{ stage: IdentityFixture; secret: string }> {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  const { accessToken } = await stage.logIn('ann', key)
  const caller = await stage.bound(accessToken, key, 'person or proof')
  const { secret } = await stage.wait(stage.identity.secondFactors.enrollTotp({ caller, place, password }))
  const code = codeOf(secret, stage.world.now())
  await stage.wait(stage.identity.secondFactors.activateTotp({ caller, place, code }))
  return { stage, secret }
}

test('concurrent attempts are limited like successive ones', async () => {
  const { stage } = await withTotp()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const login = stage.loginOf('ann', key, { place: { ...place, address: `192.0.2.${index}` } })
      const outcome = await stage.wait(stage.identity.logins.logIn(login))
      if (outcome.type !== 'second_factor') throw new Error(`a ${outcome.type}`)
      const caller = await stage.caller(
        { method: 'POST', headers: { dpop: stage.proof(key, { method: 'POST' }) } },
        'proof',
      )
      return { caller, token: outcome.token, place: login.place }
    }),
  )
  const uses = outcomes.map((shown, index) =>
    stage.identity.secondFactors.useTotp({ ...shown, code: String(index).padStart(6, '0') }),
  )
  const settled = await stage.wait(Promise.allSettled(uses))
  const messages = settled.map((one) => (one.status === 'rejected' ? (one.reason as Problem).code : 'taken'))
  expect(messages.filter((code) => code === 'unauthorized')).toHaveLength(3)
  expect(messages.filter((code) => code === 'too_many_requests')).toHaveLength(17)
})
