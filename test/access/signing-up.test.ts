import { expect, test } from 'vitest'
import { hashOf } from '#access/secret-text'
import { formatCrn } from '#model/crn'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'

const wrong = 'unauthorized invalid or expired code'

function signUp(stage: IdentityFixture, name: string, code: string, shown = password) {
  return stage.identity.logins.signUp({ name, code, password: shown, place })
}

test('a name and its code create an account once', async () => {
  const stage = await IdentityFixture.open()
  await stage.invite('Ann')
  expect(stage.identity.accesses.user(stage.row('ann').id)).toBeUndefined()
  expect(await stage.wait(signUp(stage, 'ANN', 'code of Ann'))).toEqual({ name: 'Ann' })
  expect(stage.row('ann')).toMatchObject({ state: 'active', hasPassword: true })
  expect(await stage.logIn('ann')).toMatchObject({ accessToken: expect.any(String) })
  expect(await stage.refusal(signUp(stage, 'Ann', 'code of Ann'))).toBe(wrong)
})

test('an unknown name, a wrong code, an expired one and a disabled user get the same answer without a hash', async () => {
  const stage = await IdentityFixture.open()
  for (const name of ['ann', 'bob', 'cid']) await stage.invite(name)
  await stage.directory({ type: 'update_user', user: stage.row('cid').id, state: 'disabled' })
  stage.engine.calls.length = 0
  expect(await stage.refusal(signUp(stage, 'nobody', 'code of ann'))).toBe(wrong)
  expect(await stage.refusal(signUp(stage, 'ann', 'code of bob'))).toBe(wrong)
  expect(await stage.refusal(signUp(stage, 'cid', 'code of cid'))).toBe(wrong)
  stage.world.spend(604_800_000)
  expect(await stage.refusal(signUp(stage, 'ann', 'code of ann'))).toBe(wrong)
  expect(stage.engine.calls).toEqual([])
})

test('one of two clients with the same code gets the account', async () => {
  const stage = await IdentityFixture.open()
  await stage.invite('ann')
  const both = [signUp(stage, 'ann', 'code of ann'), signUp(stage, 'ann', 'code of ann', 'another password')]
  const refusals = await Promise.all(both.map((one) => stage.refusal(one)))
  expect(refusals.sort()).toEqual([wrong, undefined].sort())
})

test('a code is void if its user was raised during the hash', async () => {
  const stage = await IdentityFixture.open()
  await stage.putRole('manager', [{ permissions: { users: ['*'] }, devices: ['*'], services: ['*'] }])
  await stage.addUser('meg', { roles: ['manager'] })
  await stage.invite('ann', { roles: [] })
  const { tenant, id } = stage.row('ann')
  const createdBy = { tenant, user: formatCrn({ type: 'user', id: stage.row('meg').id }) }
  const code = { hash: hashOf('of meg'), expiresAt: stage.world.now() + 1_000, resetsFactors: false, createdBy }
  await stage.wait(stage.assembly.context.system.ask({ kind: 'account', tenant, id }, { type: 'invite', code }))
  const signingUp = stage.refusal(signUp(stage, 'ann', 'of meg'))
  // Decided and not stored yet: it counts all the same.
  const raised = stage.directory({ type: 'update_user', user: id, roles: ['admin'] })
  expect(await signingUp).toBe(wrong)
  await raised
  await stage.directory({ type: 'update_user', user: id, roles: ['manager'] })
  expect(await stage.refusal(signUp(stage, 'ann', 'of meg'))).toBeUndefined()
})
