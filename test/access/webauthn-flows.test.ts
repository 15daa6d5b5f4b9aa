import { expect, test } from 'vitest'
import type { Caller } from '#model/caller'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { SoftAuthenticator } from '#test/access/soft-authenticator'

const key = makeKeyPair()
const wrong = 'unauthorized invalid code'
const rpId = 'localhost'
const own = 'http://localhost:8080'

async function withAnn() {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  const { accessToken } = await stage.logIn('ann', key)
  const caller = await stage.bound(accessToken, key, 'person or proof')
  return { stage, caller, authenticator: new SoftAuthenticator('ann') }
}

async function withKey() {
  const all = await withAnn()
  const { stage, caller, authenticator } = all
  const { secondFactors } = stage.identity
  const options = await stage.wait(secondFactors.webauthnRegistrationOptions({ caller, place, password }))
  const { challenge } = options as { challenge: string }
  const response = authenticator.register({ challenge, rpId, origin: own })
  const registered = await stage.wait(secondFactors.registerWebauthn({ caller, place, name: 'Key ring', response }))
  return { ...all, registered }
}

async function token(stage: IdentityFixture) {
  const outcome = await stage.wait(stage.identity.logins.logIn(stage.loginOf('ann', key)))
  if (outcome.type !== 'second_factor') throw new Error(`a ${outcome.type}`)
  const headers = { dpop: stage.proof(key, { method: 'POST' }) }
  return { token: outcome.token, caller: await stage.caller({ method: 'POST', headers }, 'person or proof') }
}

async function challengeOf(stage: IdentityFixture, shown: { caller: Caller; token?: string }): Promise<string> {
  const asked = stage.identity.secondFactors.webauthnAuthenticationOptions({ ...shown, place })
  return ((await stage.wait(asked)) as { challenge: string }).challenge
}

test('a key is registered, listed, and completes sign-ins', async () => {
  const { stage, caller, authenticator, registered } = await withKey()
  const { secondFactors } = stage.identity
  expect(registered.recoveryCodes).toHaveLength(10)
  expect(await stage.wait(secondFactors.webauthnCredentials({ caller, place }))).toMatchObject([
    { id: registered.id, name: 'Key ring' },
  ])
  const shown = await token(stage)
  const challenge = await challengeOf(stage, shown)
  const response = authenticator.authenticate({ challenge, rpId, origin: own })
  const { accessToken = '' } = await stage.wait(secondFactors.authenticateWebauthn({ ...shown, place, response }))
  expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  const again = secondFactors.authenticateWebauthn({ ...(await token(stage)), place, response })
  expect(await stage.refusal(again)).toBe(wrong)
})

test.each([
  ['another page', { origin: 'https://evil.example' }],
  ['another host', { rpId: 'evil.example' }],
  ['another challenge', { challenge: 'A'.repeat(43) }],
  ['a counter that went back', { counter: 1 }],
])('%s is a wrong factor', async (_, spoilt) => {
  const { stage, authenticator } = await withKey()
  const { secondFactors } = stage.identity
  const good = async () => {
    const shown = await token(stage)
    return { shown, asked: { challenge: await challengeOf(stage, shown), rpId, origin: own } }
  }
  const first = await good()
  const response = authenticator.authenticate(first.asked)
  await stage.wait(secondFactors.authenticateWebauthn({ ...first.shown, place, response }))
  const { shown, asked } = await good()
  const bad = authenticator.authenticate({ ...asked, ...spoilt })
  expect(await stage.refusal(secondFactors.authenticateWebauthn({ ...shown, place, response: bad }))).toBe(wrong)
  expect(stage.account('ann').factors.wrong).toMatchObject({ count: 1 })
})

test('a key confirms its session for five minutes', async () => {
  const { stage, caller, authenticator, registered } = await withKey()
  const { secondFactors } = stage.identity
  await stage.world.advance(300_001)
  const remove = () => secondFactors.removeWebauthn({ caller, place, id: registered.id })
  expect(await stage.refusal(remove())).toBe('invalid Validation Error')
  const challenge = await challengeOf(stage, { caller })
  const response = authenticator.authenticate({ challenge, rpId, origin: own })
  expect(await stage.wait(secondFactors.authenticateWebauthn({ caller, place, response }))).toEqual({})
  expect(await stage.refusal(remove())).toBeUndefined()
  expect(stage.row('ann').factors).toEqual([])
})

test('a registration without a pending challenge is refused, and uses up the challenge', async () => {
  const { stage, caller, authenticator } = await withAnn()
  const { secondFactors } = stage.identity
  const options = await stage.wait(secondFactors.webauthnRegistrationOptions({ caller, place, password }))
  const { challenge } = options as { challenge: string }
  const bad = authenticator.register({ challenge, rpId, origin: 'https://evil.example' })
  const good = authenticator.register({ challenge, rpId, origin: own })
  const refused = 'invalid Validation Error'
  expect(await stage.refusal(secondFactors.registerWebauthn({ caller, place, response: bad }))).toBe(refused)
  expect(await stage.refusal(secondFactors.registerWebauthn({ caller, place, response: good }))).toBe(refused)
  expect(stage.row('ann').factors).toEqual([])
})

test('a key that a tenant requires is registered at the first sign-in, and completes it', async () => {
  const { stage, authenticator } = await withAnn()
  const { secondFactors } = stage.identity
  await stage.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'required' } })
  const shown = { ...(await token(stage)), place }
  const { challenge } = (await stage.wait(secondFactors.webauthnRegistrationOptions(shown))) as { challenge: string }
  const response = authenticator.register({ challenge, rpId, origin: own })
  const { accessToken = '', id } = await stage.wait(secondFactors.registerWebauthn({ ...shown, response }))
  const caller = await stage.bound(accessToken, key, 'person or proof')
  const removed = secondFactors.removeWebauthn({ caller, place, id, password })
  expect(await stage.refusal(removed)).toBe('conflict the tenant requires a second factor')
})
