import { expect, test } from 'vitest'
import { hashOf } from '#access/secret-text'
import { formatCrn } from '#model/crn'
import { IdentityFixture, origin, password } from '#test/access/identity-fixture'

const wrong = 'unauthorized invalid or expired code'

function signUp(fixture: IdentityFixture, name: string, code: string, shown = password) {
  return fixture.identity.logins.signUp({ name, code, password: shown, origin })
}

test('a name and its code create an account once', async () => {
  const fixture = await IdentityFixture.open()
  await fixture.invite('Ann')
  expect(fixture.identity.accesses.user(fixture.row('ann').id)).toBeUndefined()
  expect(await fixture.wait(signUp(fixture, 'ANN', 'code of Ann'))).toEqual({ name: 'Ann' })
  expect(fixture.row('ann')).toMatchObject({ state: 'active', hasPassword: true })
  expect(await fixture.logIn('ann')).toMatchObject({ accessToken: expect.any(String) })
  expect(await fixture.refusal(signUp(fixture, 'Ann', 'code of Ann'))).toBe(wrong)
})

test('an unknown name, a wrong code, an expired one and a disabled user get the same answer without a hash', async () => {
  const fixture = await IdentityFixture.open()
  for (const name of ['ann', 'bob', 'cid']) await fixture.invite(name)
  await fixture.directory({ type: 'update_user', user: fixture.row('cid').id, state: 'disabled' })
  fixture.engine.calls.length = 0
  expect(await fixture.refusal(signUp(fixture, 'nobody', 'code of ann'))).toBe(wrong)
  expect(await fixture.refusal(signUp(fixture, 'ann', 'code of bob'))).toBe(wrong)
  expect(await fixture.refusal(signUp(fixture, 'cid', 'code of cid'))).toBe(wrong)
  fixture.world.spend(604_800_000)
  expect(await fixture.refusal(signUp(fixture, 'ann', 'code of ann'))).toBe(wrong)
  expect(fixture.engine.calls).toEqual([])
})

test('one of two clients with the same code gets the account', async () => {
  const fixture = await IdentityFixture.open()
  await fixture.invite('ann')
  const both = [signUp(fixture, 'ann', 'code of ann'), signUp(fixture, 'ann', 'code of ann', 'another password')]
  const refusals = await Promise.all(both.map((one) => fixture.refusal(one)))
  expect(refusals.sort()).toEqual([wrong, undefined].sort())
})

test('a code is refused while its user has more rights than its creator, also if they rise during the sign-up', async () => {
  const fixture = await IdentityFixture.open()
  await fixture.putRole('manager', [{ permissions: { users: ['*'] }, devices: ['*'], services: ['*'] }])
  await fixture.addUser('meg', { roles: ['manager'] })
  await fixture.invite('ann', { roles: [] })
  const { tenant, id } = fixture.row('ann')
  const createdBy = { tenant, user: formatCrn({ type: 'user', id: fixture.row('meg').id }) }
  const code = { hash: hashOf('of meg'), expiresAt: fixture.world.now() + 1_000, resetsFactors: false, createdBy }
  await fixture.wait(fixture.assembly.context.system.ask({ kind: 'account', tenant, id }, { type: 'invite', code }))
  const signingUp = fixture.refusal(signUp(fixture, 'ann', 'of meg'))
  // The change already counts, although it is not stored yet.
  const raised = fixture.directory({ type: 'update_user', user: id, roles: ['admin'] })
  expect(await signingUp).toBe(wrong)
  await raised
  await fixture.directory({ type: 'update_user', user: id, roles: ['manager'] })
  expect(await fixture.refusal(signUp(fixture, 'ann', 'of meg'))).toBeUndefined()
})
