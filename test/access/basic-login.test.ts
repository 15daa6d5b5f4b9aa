import { expect, test } from 'vitest'
import { IdentityFixture, lifetimes, origin, password } from '#test/access/identity-fixture'

const wrong = 'unauthorized invalid credentials'
const wrongRefresh = 'unauthorized invalid refresh token'

function refresh(fixture: IdentityFixture, refreshToken: string) {
  return fixture.identity.logins.refreshBasic({ refreshToken, origin })
}

test('a name and a password give a token, and a refresh token on request', async () => {
  const fixture = await IdentityFixture.withAnn()
  const plain = await fixture.basic('ANN')
  expect(await fixture.bearer(plain.token)).toMatchObject({ name: 'ann', user: `crn#user:${fixture.row('ann').id}` })
  expect(plain.refreshToken).toBe('')
  const pair = await fixture.basic('ann', true)
  expect(pair.refreshToken.split('.')).toHaveLength(3)
  expect(await fixture.judge(() => fixture.bearer(pair.refreshToken))).toBe('unauthorized invalid token')
})

test.each([
  ['no header', '', 'unauthorized authentication required'],
  ['another scheme', 'Bearer abc', wrong],
  ['a value that is not Base64', 'Basic ***', wrong],
  ['no colon', `Basic ${Buffer.from('ann').toString('base64')}`, wrong],
  ['an unknown user', `Basic ${Buffer.from(`bob:${password}`).toString('base64')}`, wrong],
  ['a wrong password', `Basic ${Buffer.from('ann:wrong password').toString('base64')}`, wrong],
  ['a zero byte after the name', `Basic ${Buffer.from(`ann\0:${password}`).toString('base64')}`, wrong],
  ['a zero byte within the name', `Basic ${Buffer.from(`a\0nn:${password}`).toString('base64')}`, wrong],
  ['a zero byte after the password', `Basic ${Buffer.from(`ann:${password}\0`).toString('base64')}`, wrong],
  ['a name of an object property', `Basic ${Buffer.from(`__proto__:${password}`).toString('base64')}`, wrong],
  ['a text above the maximum', `Basic ${Buffer.from(`ann:${password}${' '.repeat(9_000)}`).toString('base64')}`, wrong],
])('%s is refused', async (_, authorization, refusal) => {
  const fixture = await IdentityFixture.withAnn()
  const asked = fixture.identity.logins.basicToken({ authorization, isOffline: false, origin })
  expect(await fixture.refusal(asked)).toBe(refusal)
})

test('wrong names and wrong passwords cost one hash each, and the eleventh attempt on one account is refused', async () => {
  const fixture = await IdentityFixture.withAnn()
  const ask = (name: string, shown: string) =>
    fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf(name, false, shown)))
  for (const name of ['ann', 'bob']) {
    fixture.engine.calls.length = 0
    expect(await ask(name, 'wrong password')).toBe(wrong)
    expect(fixture.engine.calls).toHaveLength(1)
  }
  for (let count = 1; count < 10; count++) await ask('ann', 'wrong password')
  expect(await ask('ann', password)).toBe('too_many_requests too many attempts')
  expect(await ask('root', password)).toBeUndefined()
})

test('further conditions of the tenant are shown only after the right password', async () => {
  const fixture = await IdentityFixture.withAnn()
  const ask = (shown: string) =>
    fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf('ann', false, shown)))
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { basic: false } })
  expect(await ask('wrong password')).toBe(wrong)
  expect(await ask(password)).toBe('unauthorized use the DPoP scheme')
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { basic: true, twoFactor: 'required' } })
  expect(await ask('wrong password')).toBe(wrong)
  expect(await ask(password)).toBe('unauthorized 2fa_required')
})

test.each([
  ['the DPoP scheme', { basic: false }, 'unauthorized use the DPoP scheme'],
  ['a second factor', { twoFactor: 'required' }, 'unauthorized 2fa_required'],
] as const)('a session continues after the tenant requires %s, but is not renewed', async (_, change, refusal) => {
  const fixture = await IdentityFixture.withAnn()
  const { token, refreshToken } = await fixture.basic('ann', true)
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change })
  expect(await fixture.bearer(token)).toMatchObject({ name: 'ann' })
  expect(await fixture.refusal(refresh(fixture, refreshToken))).toBe(refusal)
  await fixture.directory({
    type: 'update_tenant',
    tenant: 'default',
    change: { basic: true, twoFactor: 'optional' },
  })
  expect(await fixture.refusal(refresh(fixture, refreshToken))).toBeUndefined()
})

test('a token expires with its session after an hour; a session with a refresh token lasts longer', async () => {
  const fixture = await IdentityFixture.withAnn()
  const plain = await fixture.basic('ann')
  const offline = await fixture.basic('ann', true)
  await fixture.world.advance(lifetimes.tokenMs)
  expect(await fixture.judge(() => fixture.bearer(plain.token))).toBe('unauthorized token expired')
  expect(fixture.account('ann').sessions).toHaveLength(1)
  expect(await fixture.refusal(refresh(fixture, offline.refreshToken))).toBeUndefined()
  await fixture.world.advance(lifetimes.refreshMs)
  expect(fixture.account('ann').sessions).toHaveLength(0)
})

test('a refresh token of the DPoP scheme, an access token and a random text are refused', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { refreshToken } = await fixture.logIn('ann')
  const { token } = await fixture.basic('ann', true)
  for (const text of [refreshToken, token, '', 'abc', 'a.b.c']) {
    expect(await fixture.refusal(refresh(fixture, text)), text).toBe(wrongRefresh)
  }
})
