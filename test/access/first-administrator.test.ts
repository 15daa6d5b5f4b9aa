import { expect, test } from 'vitest'
import { IdentityFixture } from '#test/access/identity-fixture'

/** Without settings for an administrator. */
const noAdministrator = { administrator: undefined } as never

test('the administrator in the settings is created with every permission, and no password is printed', async () => {
  const fixture = await IdentityFixture.open()
  expect(fixture.generated).toBeUndefined()
  expect(fixture.row('root')).toMatchObject({ tenant: 'default', roles: ['admin'], state: 'active' })
  const { token } = await fixture.basic('root')
  expect((await fixture.bearer(token)).scope.isWhole('tenants', 'delete')).toBe(true)
})

test('without an administrator in the settings and without users, user admin gets a random password, printed once', async () => {
  const fixture = await IdentityFixture.open({ settings: noAdministrator })
  const { name = '', password = '' } = fixture.generated ?? {}
  expect(name).toBe('admin')
  expect(password).toMatch(/^[1-9A-HJ-NP-Za-km-z]{20}$/)
  const token = fixture.identity.logins.basicToken(fixture.basicOf(name, false, password))
  expect(await fixture.refusal(token)).toBeUndefined()
  const later = await fixture.restart(noAdministrator)
  expect(later.generated).toBeUndefined()
  expect(later.directoryState.users.size).toBe(1)
})

test('no administrator is created if there is a user', async () => {
  const fixture = await IdentityFixture.open()
  const later = await fixture.restart(noAdministrator)
  expect(later.generated).toBeUndefined()
  expect(later.directoryState.users.size).toBe(1)
})
