import { describe, expect, test } from 'vitest'
import { totpStepMs } from '#access/factor-codes'
import { hashOf } from '#access/secret-text'
import type { Caller } from '#model/caller'
import type { Problem } from '#model/problem'
import { IdentityFixture, origin, password } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { SoftAuthenticator } from '#test/access/soft-authenticator'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()
const wrongCode = 'unauthorized invalid code'
const notConfirmed = 'invalid Validation Error'

interface SignedIn {
  readonly fixture: IdentityFixture
  readonly caller: Caller
}

async function withAnn(): Promise<SignedIn> {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken } = await fixture.logIn('ann', key)
  return { fixture, caller: await fixture.bound(accessToken, key, 'user or proof') }
}

/** A user with TOTP, the secret and the recovery codes. */
async function withTotp(): Promise<SignedIn & { secret: string; recoveryCodes: readonly string[] }> {
  const { fixture, caller } = await withAnn()
  const { secondFactors } = fixture.identity
  const { secret } = await fixture.wait(secondFactors.enrollTotp({ caller, origin, password }))
  const code = codeOf(secret, fixture.world.now())
  const { recoveryCodes = [] } = await fixture.wait(secondFactors.activateTotp({ caller, origin, code, password }))
  return { fixture, caller, secret, recoveryCodes }
}

/** Signs in with the password. Returns the token for the second factor, and the caller that continues with it. */
async function passwordStep(fixture: IdentityFixture): Promise<{ caller: Caller; token: string; enroll: boolean }> {
  const outcome = await fixture.wait(fixture.identity.logins.logIn(fixture.loginOf('ann', key)))
  if (outcome.type !== 'second_factor') throw new Error(`not a second factor: ${outcome.type}`)
  const headers = { dpop: fixture.proof(key, { method: 'POST' }) }
  const caller = await fixture.caller({ method: 'POST', headers }, 'user or proof')
  return { caller, token: outcome.token, enroll: outcome.enroll }
}

describe('one-time codes', () => {
  test('are required after they are turned on, and each is valid once', async () => {
    const { fixture, secret } = await withTotp()
    const { secondFactors } = fixture.identity
    const first = await passwordStep(fixture)
    expect(first.enroll).toBe(false)
    const code = () => codeOf(secret, fixture.world.now())
    const used = secondFactors.useTotp({ ...first, origin, code: code() })
    expect(await fixture.refusal(used)).toBe(wrongCode)
    await fixture.world.advance(totpStepMs)
    const pair = await fixture.wait(secondFactors.useTotp({ ...first, origin, code: code() }))
    expect(await fixture.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
    const again = secondFactors.useTotp({ ...(await passwordStep(fixture)), origin, code: code() })
    expect(await fixture.refusal(again)).toBe(wrongCode)
  })

  test('can be turned on or off only with a password or a valid code, five minutes after the sign-in', async () => {
    const { fixture, caller } = await withTotp()
    const { secondFactors } = fixture.identity
    await fixture.world.advance(300_001)
    const fresh = caller
    expect(await fixture.refusal(secondFactors.enrollTotp({ caller: fresh, origin }))).toBe(notConfirmed)
    expect(await fixture.refusal(secondFactors.removeTotp({ caller: fresh, origin }))).toBe(notConfirmed)
    const wrong = { caller: fresh, origin, password: 'wrong password' }
    expect(await fixture.refusal(secondFactors.removeTotp(wrong))).toBe('unauthorized invalid credentials')
    expect(await fixture.refusal(secondFactors.removeTotp({ caller: fresh, origin, code: '000000' }))).toBe(wrongCode)
    expect(await fixture.refusal(secondFactors.removeTotp({ caller: fresh, origin, password }))).toBeUndefined()
    expect(fixture.row('ann').factors).toEqual([])
    expect(fixture.account('ann').factors.recovery).toEqual([])
    expect(await fixture.refusal(secondFactors.removeTotp({ caller: fresh, origin, password }))).toBe(
      'not_found Not Found',
    )
  })

  test('confirm a change of the second factor, as recovery codes do', async () => {
    const { fixture, caller, secret, recoveryCodes } = await withTotp()
    const { secondFactors } = fixture.identity
    await fixture.world.advance(300_001)
    const code = codeOf(secret, fixture.world.now())
    expect(await fixture.refusal(secondFactors.enrollTotp({ caller, origin, code }))).toBeUndefined()
    await fixture.world.advance(300_001)
    const [recovery = ''] = recoveryCodes
    expect(
      await fixture.refusal(secondFactors.removeTotp({ caller, origin, code: recovery.toLowerCase() })),
    ).toBeUndefined()
  })
})

test('each recovery code is valid once, in lower case and with spaces too', async () => {
  const { fixture, recoveryCodes } = await withTotp()
  const { secondFactors } = fixture.identity
  const [code = ''] = recoveryCodes
  const shown = { ...(await passwordStep(fixture)), origin, code: code.replaceAll('-', ' ').toLowerCase() }
  const pair = await fixture.wait(secondFactors.useRecovery(shown))
  expect(await fixture.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await fixture.refusal(secondFactors.useRecovery({ ...(await passwordStep(fixture)), origin, code }))).toBe(
    wrongCode,
  )
  expect(fixture.account('ann').factors.recovery).toHaveLength(9)
})

test('if a tenant requires a second factor, a sign-in without one is completed by setting one up', async () => {
  const { fixture } = await withAnn()
  const { secondFactors } = fixture.identity
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'required' } })
  const shown = await passwordStep(fixture)
  expect(shown.enroll).toBe(true)
  expect(await fixture.refusal(secondFactors.useTotp({ ...shown, origin, code: '000000' }))).toBe(
    'unauthorized invalid or expired token',
  )
  const { secret } = await fixture.wait(secondFactors.enrollTotp({ ...shown, origin }))
  expect(await fixture.refusal(secondFactors.activateTotp({ ...shown, origin, code: '000000' }))).toBe(wrongCode)
  const code = codeOf(secret, fixture.world.now())
  const { accessToken = '', recoveryCodes } = await fixture.wait(secondFactors.activateTotp({ ...shown, origin, code }))
  expect(recoveryCodes).toHaveLength(10)
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  // The activation did not use up the code.
  const next = await fixture.wait(secondFactors.useTotp({ ...(await passwordStep(fixture)), origin, code }))
  expect(await fixture.bound(next.accessToken, key)).toMatchObject({ name: 'ann' })
  // The token was issued before the second factor was set up.
  const late = secondFactors.enrollTotp({ ...shown, origin })
  expect(await fixture.refusal(late)).toBe('unauthorized invalid or expired token')
})

test('the token for the second factor is valid for five minutes, for one key and one state of the credentials, and has no other use', async () => {
  const { fixture, secret } = await withTotp()
  const { secondFactors, logins } = fixture.identity
  const shown = await passwordStep(fixture)
  const use = (more: object = {}) =>
    secondFactors.useTotp({ ...shown, origin, code: codeOf(secret, fixture.world.now()), ...more })
  const bad = 'unauthorized invalid or expired token'
  const { jkt } = makeKeyPair()
  expect(await fixture.refusal(use({ caller: { ...shown.caller, jkt } }))).toBe(bad)
  expect(await fixture.refusal(use({ token: `${shown.token}A` }))).toBe(bad)
  expect(await fixture.judge(() => fixture.bearer(shown.token))).toBe('unauthorized invalid token')
  expect(await fixture.refusal(secondFactors.enrollTotp({ ...shown, origin }))).toBe(bad)
  const { jkt: _, ...unproven } = shown.caller
  expect(await fixture.refusal(use({ caller: unproven }))).toBe('unauthorized missing proof')
  await fixture.world.advance(300_000)
  expect(await fixture.refusal(use())).toBe(bad)

  const second = await passwordStep(fixture)
  const { tenant, id } = fixture.row('ann')
  const code = { hash: hashOf('another code'), expiresAt: fixture.world.now() + 1_000, resetsFactors: false }
  await fixture.wait(fixture.assembly.context.system.ask({ kind: 'account', tenant, id }, { type: 'invite', code }))
  await fixture.wait(logins.signUp({ name: 'ann', code: 'another code', password, origin }))
  expect(await fixture.refusal(use({ ...second }))).toBe(bad)
})

test('concurrent wrong codes are limited as successive ones are', async () => {
  const { fixture } = await withTotp()
  const tokens = await Promise.all(Array.from({ length: 20 }, () => passwordStep(fixture)))
  const uses = tokens.map((shown, index) => {
    const from = { ...origin, address: `192.0.2.${index}` }
    return fixture.identity.secondFactors.useTotp({ ...shown, origin: from, code: String(index).padStart(6, '0') })
  })
  const settled = await fixture.wait(Promise.allSettled(uses))
  const codes = settled.map((one) => (one.status === 'rejected' ? (one.reason as Problem).code : 'taken'))
  expect(codes.filter((code) => code === 'unauthorized')).toHaveLength(3)
  expect(codes.filter((code) => code === 'too_many_requests')).toHaveLength(17)
})

const rpId = 'localhost'
const pageOrigin = 'http://localhost:8080'

async function withPasskey() {
  const { fixture, caller } = await withAnn()
  const authenticator = new SoftAuthenticator('ann')
  const { secondFactors } = fixture.identity
  const options = await fixture.wait(secondFactors.webauthnRegistrationOptions({ caller, origin, password }))
  const { challenge } = options as { challenge: string }
  const response = authenticator.register({ challenge, rpId, origin: pageOrigin })
  const registered = await fixture.wait(secondFactors.registerWebauthn({ caller, origin, name: 'Key ring', response }))
  return { fixture, caller, authenticator, registered }
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
  const { fixture, caller } = await withAnn()
  const authenticator = new SoftAuthenticator('ann')
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
  const { fixture } = await withAnn()
  const authenticator = new SoftAuthenticator('ann')
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
