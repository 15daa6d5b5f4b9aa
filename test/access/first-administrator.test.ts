import { expect, test } from 'vitest'
import type { Administrator } from '#access/options'
import { IdentityFixture, password } from '#test/access/identity-fixture'

let printed: Administrator[] = []
const generated = (administrator: Administrator) => {
  printed.push(administrator)
}
const noAdministrator = { firstAdministrator: { generated } }

test('the administrator in the settings is created with every permission, and no password is printed', async () => {
  printed = []
  const configured = { name: 'root', password }
  const fixture = await IdentityFixture.open({ settings: { firstAdministrator: { configured, generated } } })
  expect(printed).toEqual([])
  expect(fixture.row('root')).toMatchObject({ tenant: 'default', roles: ['admin'], state: 'active' })
  const { token } = await fixture.basic('root')
  expect((await fixture.bearer(token)).scope.isWhole('tenants', 'delete')).toBe(true)
})

test('without an administrator in the settings and without users, user admin gets a random password, printed once', async () => {
  printed = []
  const fixture = await IdentityFixture.open({ settings: noAdministrator })
  const [{ name, password: ofAdmin } = { name: '', password: '' }] = printed
  expect(name).toBe('admin')
  expect(ofAdmin).toMatch(/^[1-9A-HJ-NP-Za-km-z]{20}$/)
  const token = fixture.identity.logins.basicToken(fixture.basicOf(name, false, ofAdmin))
  expect(await fixture.refusal(token)).toBeUndefined()
  const later = await fixture.restart(noAdministrator)
  expect(printed).toHaveLength(1)
  expect(later.directoryState.users.size).toBe(1)
})

test('no administrator is created if there is a user', async () => {
  printed = []
  const fixture = await IdentityFixture.open()
  const later = await fixture.restart(noAdministrator)
  expect(printed).toEqual([])
  expect(later.directoryState.users.size).toBe(1)
})
