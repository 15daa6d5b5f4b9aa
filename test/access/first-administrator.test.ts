import { expect, test } from 'vitest'
import { IdentityFixture } from '#test/access/identity-fixture'

/** Without settings for an administrator. */
const unasked = { administrator: undefined } as never

test('the administrator of the settings is created with every permission, and nothing is printed', async () => {
  const stage = await IdentityFixture.open()
  expect(stage.printed).toBeUndefined()
  expect(stage.row('root')).toMatchObject({ tenant: 'default', roles: ['admin'], state: 'active' })
  const { token } = await stage.basic('root')
  expect((await stage.bearer(token)).scope.isWhole('tenants', 'delete')).toBe(true)
})

test('without settings and users, user admin is created with a random password, which is printed once', async () => {
  const stage = await IdentityFixture.open({ settings: unasked })
  const { name = '', password = '' } = stage.printed ?? {}
  expect(name).toBe('admin')
  expect(password).toMatch(/^[1-9A-HJ-NP-Za-km-z]{20}$/)
  const token = stage.identity.logins.basicToken(stage.basicOf(name, false, password))
  expect(await stage.refusal(token)).toBeUndefined()
  const later = await stage.restart(unasked)
  expect(later.printed).toBeUndefined()
  expect(later.directoryState.users.size).toBe(1)
})

test('no administrator is created if there is a user', async () => {
  const stage = await IdentityFixture.open()
  const later = await stage.restart(unasked)
  expect(later.printed).toBeUndefined()
  expect(later.directoryState.users.size).toBe(1)
})
