import { expect, test } from 'vitest'
import { IdentityStage } from '#test/access/identity-stage'

/** Without one that was asked for. */
const unasked = { administrator: undefined } as never

test('the one that was asked for is made, may do everything, and nothing is printed', async () => {
  const stage = await IdentityStage.open()
  expect(stage.printed).toBeUndefined()
  expect(stage.row('root')).toMatchObject({ tenant: 'default', roles: ['admin'], state: 'active' })
  const { token } = await stage.basic('root')
  expect((await stage.bearer(token)).scope.isWhole('tenants', 'delete')).toBe(true)
})

test('with none asked for and nobody there, it is admin with a random password, printed once', async () => {
  const stage = await IdentityStage.open({ settings: unasked })
  const { name = '', password = '' } = stage.printed ?? {}
  expect(name).toBe('admin')
  expect(password).toMatch(/^[1-9A-HJ-NP-Za-km-z]{20}$/)
  const token = stage.identity.logins.basicToken(stage.basicOf(name, false, password))
  expect(await stage.refusal(token)).toBeUndefined()
  const later = await stage.restart(unasked)
  expect(later.printed).toBeUndefined()
  expect(later.directoryState.users.size).toBe(1)
})

test('with somebody there nobody is made', async () => {
  const stage = await IdentityStage.open()
  const later = await stage.restart(unasked)
  expect(later.printed).toBeUndefined()
  expect(later.directoryState.users.size).toBe(1)
})
