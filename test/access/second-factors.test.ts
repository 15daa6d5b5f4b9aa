import { describe, expect, test } from 'vitest'
import { hashOf } from '#access/secret-text'
import { totpStepMs } from '#access/totp'
import type { Caller } from '#model/caller'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()
const wrongCode = 'unauthorized invalid code'
const needed = 'invalid Validation Error'

interface SignedIn {
  readonly stage: IdentityFixture
  readonly caller: Caller
}

async function withAnn(): Promise<SignedIn> {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  const { accessToken } = await stage.logIn('ann', key)
  return { stage, caller: await stage.bound(accessToken, key, 'person or proof') }
}

/** A user with TOTP; the secret and the recovery codes. */
async function withTotp(): Promise<SignedIn & { secret: string; recoveryCodes: readonly string[] }> {
  const { stage, caller } = await withAnn()
  const { secondFactors } = stage.identity
  const { secret } = await stage.wait(secondFactors.enrollTotp({ caller, place, password }))
  const code = codeOf(secret, stage.world.now())
  const { recoveryCodes = [] } = await stage.wait(secondFactors.activateTotp({ caller, place, code, password }))
  return { stage, caller, secret, recoveryCodes }
}

/** The token between password and second factor, and its client. */
async function token(stage: IdentityFixture): Promise<{ caller: Caller; token: string; enroll: boolean }> {
  const outcome = await stage.wait(stage.identity.logins.logIn(stage.loginOf('ann', key)))
  if (outcome.type !== 'second_factor') throw new Error(`a ${outcome.type}`)
  const headers = { dpop: stage.proof(key, { method: 'POST' }) }
  const caller = await stage.caller({ method: 'POST', headers }, 'person or proof')
  return { caller, token: outcome.token, enroll: outcome.enroll }
}

describe('one-time codes', () => {
  test('are required once they are on, and valid once each', async () => {
    const { stage, secret } = await withTotp()
    const { secondFactors } = stage.identity
    const first = await token(stage)
    expect(first.enroll).toBe(false)
    const code = () => codeOf(secret, stage.world.now())
    const used = secondFactors.useTotp({ ...first, place, code: code() })
    expect(await stage.refusal(used)).toBe(wrongCode)
    await stage.world.advance(totpStepMs)
    const pair = await stage.wait(secondFactors.useTotp({ ...first, place, code: code() }))
    expect(await stage.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
    const again = secondFactors.useTotp({ ...(await token(stage)), place, code: code() })
    expect(await stage.refusal(again)).toBe(wrongCode)
  })

  test('need more than a session to be turned on or off, and a valid code', async () => {
    const { stage, caller } = await withTotp()
    const { secondFactors } = stage.identity
    await stage.world.advance(300_001)
    const fresh = caller
    expect(await stage.refusal(secondFactors.enrollTotp({ caller: fresh, place }))).toBe(needed)
    expect(await stage.refusal(secondFactors.removeTotp({ caller: fresh, place }))).toBe(needed)
    const wrong = { caller: fresh, place, password: 'wrong password' }
    expect(await stage.refusal(secondFactors.removeTotp(wrong))).toBe('unauthorized invalid credentials')
    expect(await stage.refusal(secondFactors.removeTotp({ caller: fresh, place, code: '000000' }))).toBe(wrongCode)
    expect(await stage.refusal(secondFactors.removeTotp({ caller: fresh, place, password }))).toBeUndefined()
    expect(stage.row('ann').factors).toEqual([])
    expect(stage.account('ann').factors.recovery).toEqual([])
    expect(await stage.refusal(secondFactors.removeTotp({ caller: fresh, place, password }))).toBe(
      'not_found Not Found',
    )
  })

  test('can confirm as the present factor', async () => {
    const { stage, caller, secret, recoveryCodes } = await withTotp()
    const { secondFactors } = stage.identity
    await stage.world.advance(300_001)
    const code = codeOf(secret, stage.world.now())
    expect(await stage.refusal(secondFactors.enrollTotp({ caller, place, code }))).toBeUndefined()
    await stage.world.advance(300_001)
    const [recovery = ''] = recoveryCodes
    expect(
      await stage.refusal(secondFactors.removeTotp({ caller, place, code: recovery.toLowerCase() })),
    ).toBeUndefined()
  })
})

describe('recovery codes', () => {
  test('are valid once each, in any spelling', async () => {
    const { stage, recoveryCodes } = await withTotp()
    const { secondFactors } = stage.identity
    const [code = ''] = recoveryCodes
    const shown = { ...(await token(stage)), place, code: code.replaceAll('-', ' ').toLowerCase() }
    const pair = await stage.wait(secondFactors.useRecovery(shown))
    expect(await stage.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
    expect(await stage.refusal(secondFactors.useRecovery({ ...(await token(stage)), place, code }))).toBe(wrongCode)
    expect(stage.account('ann').factors.recovery).toHaveLength(9)
  })
})

describe('a tenant that requires a second factor', () => {
  test('refuses sign-in before one is set up, which completes the sign-in', async () => {
    const { stage } = await withAnn()
    const { secondFactors } = stage.identity
    await stage.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'required' } })
    const shown = await token(stage)
    expect(shown.enroll).toBe(true)
    expect(await stage.refusal(secondFactors.useTotp({ ...shown, place, code: '000000' }))).toBe(
      'unauthorized invalid or expired token',
    )
    const { secret } = await stage.wait(secondFactors.enrollTotp({ ...shown, place }))
    expect(await stage.refusal(secondFactors.activateTotp({ ...shown, place, code: '000000' }))).toBe(wrongCode)
    const code = codeOf(secret, stage.world.now())
    const { accessToken = '', recoveryCodes } = await stage.wait(secondFactors.activateTotp({ ...shown, place, code }))
    expect(recoveryCodes).toHaveLength(10)
    expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'ann' })
    // The activation did not use up the code.
    const next = await stage.wait(secondFactors.useTotp({ ...(await token(stage)), place, code }))
    expect(await stage.bound(next.accessToken, key)).toMatchObject({ name: 'ann' })
    // The token was issued for the earlier factors.
    const late = secondFactors.enrollTotp({ ...shown, place })
    expect(await stage.refusal(late)).toBe('unauthorized invalid or expired token')
  })
})

describe('the token between password and factor', () => {
  test('is bound to its key, its credentials and five minutes, and has no other use', async () => {
    const { stage, secret } = await withTotp()
    const { secondFactors, logins } = stage.identity
    const shown = await token(stage)
    const use = (more: object = {}) =>
      secondFactors.useTotp({ ...shown, place, code: codeOf(secret, stage.world.now()), ...more })
    const bad = 'unauthorized invalid or expired token'
    const { jkt } = makeKeyPair()
    expect(await stage.refusal(use({ caller: { ...shown.caller, jkt } }))).toBe(bad)
    expect(await stage.refusal(use({ token: `${shown.token}A` }))).toBe(bad)
    expect(await stage.judge(() => stage.bearer(shown.token))).toBe('unauthorized invalid token')
    expect(await stage.refusal(secondFactors.enrollTotp({ ...shown, place }))).toBe(bad)
    const { jkt: _, ...unproven } = shown.caller
    expect(await stage.refusal(use({ caller: unproven }))).toBe('unauthorized missing proof')
    await stage.world.advance(300_000)
    expect(await stage.refusal(use())).toBe(bad)

    const second = await token(stage)
    const { tenant, id } = stage.row('ann')
    const code = { hash: hashOf('another code'), expiresAt: stage.world.now() + 1_000, resetsFactors: false }
    await stage.wait(stage.assembly.context.system.ask({ kind: 'account', tenant, id }, { type: 'invite', code }))
    await stage.wait(logins.signUp({ name: 'ann', code: 'another code', password, place }))
    expect(await stage.refusal(use({ ...second }))).toBe(bad)
  })
})
