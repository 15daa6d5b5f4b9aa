import { expect, test } from 'vitest'
import type { Caller } from '#model/caller'
import { IdentityFixture, origin, password } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { SoftAuthenticator } from '#test/access/soft-authenticator'

const key = makeKeyPair()
const wrongCode = 'unauthorized invalid code'
const rpId = 'localhost'
const pageOrigin = 'http://localhost:8080'

async function withAnn() {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken } = await fixture.logIn('ann', key)
  const caller = await fixture.bound(accessToken, key, 'user or proof')
  return { fixture, caller, authenticator: new SoftAuthenticator('ann') }
}

async function withPasskey() {
  const all = await withAnn()
  const { fixture, caller, authenticator } = all
  const { secondFactors } = fixture.identity
  const options = await fixture.wait(secondFactors.webauthnRegistrationOptions({ caller, origin, password }))
  const { challenge } = options as { challenge: string }
  const response = authenticator.register({ challenge, rpId, origin: pageOrigin })
  const registered = await fixture.wait(secondFactors.registerWebauthn({ caller, origin, name: 'Key ring', response }))
  return { ...all, registered }
}

/** Signs in with the password. Returns the token for the second factor, and the caller that continues with it. */
async function passwordStep(fixture: IdentityFixture) {
  const outcome = await fixture.wait(fixture.identity.logins.logIn(fixture.loginOf('ann', key)))
  if (outcome.type !== 'second_factor') throw new Error(`not a second factor: ${outcome.type}`)
  const headers = { dpop: fixture.proof(key, { method: 'POST' }) }
  return { token: outcome.token, caller: await fixture.caller({ method: 'POST', headers }, 'user or proof') }
}

async function challengeOf(fixture: IdentityFixture, shown: { caller: Caller; token?: string }): Promise<string> {
  const asked = fixture.identity.secondFactors.webauthnAuthenticationOptions({ ...shown, origin })
  return ((await fixture.wait(asked)) as { challenge: string }).challenge
}

test('a passkey is registered, is listed, and completes a sign-in', async () => {
  const { fixture, caller, authenticator, registered } = await withPasskey()
  const { secondFactors } = fixture.identity
  expect(registered.recoveryCodes).toHaveLength(10)
  expect(await fixture.wait(secondFactors.webauthnCredentials({ caller, origin }))).toMatchObject([
    { id: registered.id, name: 'Key ring' },
  ])
  const shown = await passwordStep(fixture)
  const challenge = await challengeOf(fixture, shown)
  const response = authenticator.authenticate({ challenge, rpId, origin: pageOrigin })
  const { accessToken = '' } = await fixture.wait(secondFactors.authenticateWebauthn({ ...shown, origin, response }))
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  const again = secondFactors.authenticateWebauthn({ ...(await passwordStep(fixture)), origin, response })
  expect(await fixture.refusal(again)).toBe(wrongCode)
})

test.each([
  ['for another page', { origin: 'https://evil.example' }],
  ['for another host', { rpId: 'evil.example' }],
  ['to another challenge', { challenge: 'A'.repeat(43) }],
  ['with a lower counter', { counter: 1 }],
])('an answer of a passkey %s is refused, and counts as a wrong code', async (_, spoilt) => {
  const { fixture, authenticator } = await withPasskey()
  const { secondFactors } = fixture.identity
  const good = async () => {
    const shown = await passwordStep(fixture)
    return { shown, asked: { challenge: await challengeOf(fixture, shown), rpId, origin: pageOrigin } }
  }
  const first = await good()
  const response = authenticator.authenticate(first.asked)
  await fixture.wait(secondFactors.authenticateWebauthn({ ...first.shown, origin, response }))
  const { shown, asked } = await good()
  const bad = authenticator.authenticate({ ...asked, ...spoilt })
  expect(await fixture.refusal(secondFactors.authenticateWebauthn({ ...shown, origin, response: bad }))).toBe(wrongCode)
  expect(fixture.account('ann').factors.wrong).toMatchObject({ count: 1 })
})

test('a challenge is valid for five minutes, and only for the session or sign-in that requested it', async () => {
  const { fixture, caller, authenticator } = await withPasskey()
  const { secondFactors } = fixture.identity
  const answerAfter = async (ms: number) => {
    const challenge = await challengeOf(fixture, { caller })
    const response = authenticator.authenticate({ challenge, rpId, origin: pageOrigin })
    // A registration has a challenge of its own.
    await fixture.wait(secondFactors.webauthnRegistrationOptions({ caller, origin, password }))
    const other = { ...(await passwordStep(fixture)), origin, response }
    expect(await fixture.refusal(secondFactors.authenticateWebauthn(other))).toBe(wrongCode)
    await fixture.world.advance(ms)
    return fixture.refusal(secondFactors.authenticateWebauthn({ caller, origin, response }))
  }
  expect(await answerAfter(300_000)).toBeUndefined()
  expect(await answerAfter(300_001)).toBe(wrongCode)
})

test('five minutes after the sign-in, the user must confirm with the passkey to remove it', async () => {
  const { fixture, caller, authenticator, registered } = await withPasskey()
  const { secondFactors } = fixture.identity
  await fixture.world.advance(300_001)
  const remove = () => secondFactors.removeWebauthn({ caller, origin, id: registered.id })
  expect(await fixture.refusal(remove())).toBe('invalid Validation Error')
  const challenge = await challengeOf(fixture, { caller })
  const response = authenticator.authenticate({ challenge, rpId, origin: pageOrigin })
  expect(await fixture.wait(secondFactors.authenticateWebauthn({ caller, origin, response }))).toEqual({})
  expect(await fixture.refusal(remove())).toBeUndefined()
  expect(fixture.row('ann').factors).toEqual([])
})

test('a refused registration uses up its challenge, so that a valid answer to it is refused too', async () => {
  const { fixture, caller, authenticator } = await withAnn()
  const { secondFactors } = fixture.identity
  const options = await fixture.wait(secondFactors.webauthnRegistrationOptions({ caller, origin, password }))
  const { challenge } = options as { challenge: string }
  const bad = authenticator.register({ challenge, rpId, origin: 'https://evil.example' })
  const good = authenticator.register({ challenge, rpId, origin: pageOrigin })
  const refused = 'invalid Validation Error'
  expect(await fixture.refusal(secondFactors.registerWebauthn({ caller, origin, response: bad }))).toBe(refused)
  expect(await fixture.refusal(secondFactors.registerWebauthn({ caller, origin, response: good }))).toBe(refused)
  expect(fixture.row('ann').factors).toEqual([])
})

test('if a tenant requires a second factor, registering a passkey completes the sign-in', async () => {
  const { fixture, authenticator } = await withAnn()
  const { secondFactors } = fixture.identity
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'required' } })
  const shown = { ...(await passwordStep(fixture)), origin }
  const { challenge } = (await fixture.wait(secondFactors.webauthnRegistrationOptions(shown))) as { challenge: string }
  const response = authenticator.register({ challenge, rpId, origin: pageOrigin })
  const { accessToken = '', id } = await fixture.wait(secondFactors.registerWebauthn({ ...shown, response }))
  const caller = await fixture.bound(accessToken, key, 'user or proof')
  const removed = secondFactors.removeWebauthn({ caller, origin, id, password })
  expect(await fixture.refusal(removed)).toBe('conflict the tenant requires a second factor')
})
