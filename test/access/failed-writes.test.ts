import { describe, expect, test } from 'vitest'
import type { Grant } from '#model/scope'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const readMeta: Grant = { permissions: { meta: ['read'] }, devices: ['*'], services: ['*'] }

/** All operations that write, by name. */
const flows: Readonly<Record<string, (fixture: IdentityFixture) => Promise<unknown>>> = {
  'a login': (fixture) => fixture.identity.logins.logIn(fixture.loginOf('ann', key)),
  'a Basic token': (fixture) => fixture.identity.logins.basicToken(fixture.basicOf('ann', true)),
  'a sign-up': (fixture) => fixture.identity.logins.signUp({ name: 'bob', code: 'code of bob', password, place }),
  'an edit of a role': (fixture) =>
    ask(fixture, 'tenant', 'default', { type: 'put_role', role: 'ops', grants: [readMeta] }),
  'an edit of roles': (fixture) =>
    ask(fixture, 'directory', 'directory', { type: 'update_user', user: fixture.row('ann').id, roles: ['ops'] }),
  'a user disabled': (fixture) =>
    ask(fixture, 'directory', 'directory', { type: 'update_user', user: fixture.row('ann').id, state: 'disabled' }),
  'a tenant': (fixture) =>
    ask(fixture, 'directory', 'directory', {
      type: 'add_tenant',
      tenant: { tenantIdentifier: 'acme', name: 'acme', hosts: [], twoFactor: 'optional', basic: true },
    }),
  'a signing key': (fixture) => fixture.identity.keys.rotate(),
}

function ask(fixture: IdentityFixture, kind: string, id: string, command: unknown): Promise<unknown> {
  return fixture.assembly.context.system.ask({ kind, tenant: 'default', id }, command)
}

describe.each(Object.keys(flows))('%s whose write fails', (name) => {
  test.each([
    ['and is lost', false],
    ['and reached the disk', true],
  ])('%s is answered with 503, and then the state equals the store', async (_, isOnDisk) => {
    const fixture = await IdentityFixture.open()
    await fixture.putRole('ops', [{ permissions: { schemas: ['read'] }, devices: ['*'], services: ['*'] }])
    await fixture.addUser('ann')
    await fixture.invite('bob')
    const { token } = await fixture.basic('ann')
    const socket = fixture.connect(await fixture.bearer(token))
    await fixture.world.advance(60_000)
    const flow = flows[name] as (fixture: IdentityFixture) => Promise<unknown>
    fixture.faults.next = { fail: 'full', reachedDisk: isOnDisk }
    expect(await fixture.refusal(flow(fixture))).toBe('storage STORAGE')
    await fixture.world.advance(5_000)
    const after = view(fixture)
    const reborn = await fixture.restart()
    expect(after).toEqual(view(reborn))
    expect(fixture.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
    const isOver = (await reborn.judge(() => reborn.bearer(token))) !== undefined
    expect(socket.endCode).toBe(isOver ? 4401 : undefined)
  })
})

/** The state for authentication. */
function view(fixture: IdentityFixture) {
  const { accesses, keys } = fixture.identity
  const rows = [...fixture.directoryState.users.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    users: rows.map(({ id, name, state }) => {
      const user = accesses.user(id)
      return { name, state, roles: user?.roles, scope: user && accesses.of('default', user.roles).scope.fingerprint }
    }),
    tenants: [...fixture.directoryState.tenants.keys()].filter((tenant) => accesses.hasTenant(tenant)),
    keys: keys.list(),
  }
}

test('while the store refuses writes, tokens stay valid, and operations that write are answered with 503', async () => {
  const fixture = await IdentityFixture.open()
  await fixture.addUser('ann')
  const { token } = await fixture.basic('ann')
  const { accessToken, refreshToken } = await fixture.logIn('ann', key)
  fixture.faults.next = { fail: 'io', reachedDisk: false }
  expect(await fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf('ann')))).toBe('storage STORAGE')
  await fixture.world.advance(120_000)
  expect(await fixture.bearer(token)).toMatchObject({ name: 'ann' })
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  const renewed = fixture.identity.logins.refresh({ refreshToken, jkt: key.jkt, place })
  expect(await fixture.refusal(renewed)).toBe('storage STORAGE')
  expect(await fixture.refusal(fixture.identity.logins.logIn(fixture.loginOf('ann', key)))).toBe('storage STORAGE')
})
