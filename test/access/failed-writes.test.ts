import { describe, expect, test } from 'vitest'
import type { Grant } from '#model/scope'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const readMeta: Grant = { permissions: { meta: ['read'] }, devices: ['*'], services: ['*'] }

/** All operations that write, by name. */
const flows: Readonly<Record<string, (stage: IdentityFixture) => Promise<unknown>>> = {
  'a login': (stage) => stage.identity.logins.logIn(stage.loginOf('ann', key)),
  'a Basic token': (stage) => stage.identity.logins.basicToken(stage.basicOf('ann', true)),
  'a sign-up': (stage) => stage.identity.logins.signUp({ name: 'bob', code: 'code of bob', password, place }),
  'an edit of a role': (stage) =>
    ask(stage, 'tenant', 'default', { type: 'put_role', role: 'ops', grants: [readMeta] }),
  'an edit of roles': (stage) =>
    ask(stage, 'directory', 'directory', { type: 'update_user', user: stage.row('ann').id, roles: ['ops'] }),
  'a user disabled': (stage) =>
    ask(stage, 'directory', 'directory', { type: 'update_user', user: stage.row('ann').id, state: 'disabled' }),
  'a tenant': (stage) =>
    ask(stage, 'directory', 'directory', {
      type: 'add_tenant',
      tenant: { tenantIdentifier: 'acme', name: 'acme', hosts: [], twoFactor: 'optional', basic: true },
    }),
  'a signing key': (stage) => stage.identity.keys.rotate(),
}

function ask(stage: IdentityFixture, kind: string, id: string, command: unknown): Promise<unknown> {
  return stage.assembly.context.system.ask({ kind, tenant: 'default', id }, command)
}

describe.each(Object.keys(flows))('%s whose write fails', (name) => {
  test.each([
    ['and is lost', false],
    ['and reached the disk', true],
  ])('%s is answered with 503, and then the state equals the store', async (_, isOnDisk) => {
    const stage = await IdentityFixture.open()
    await stage.putRole('ops', [{ permissions: { schemas: ['read'] }, devices: ['*'], services: ['*'] }])
    await stage.addUser('ann')
    await stage.invite('bob')
    const { token } = await stage.basic('ann')
    const socket = stage.connect(await stage.bearer(token))
    await stage.world.advance(60_000)
    const flow = flows[name] as (stage: IdentityFixture) => Promise<unknown>
    stage.faults.next = { fail: 'full', reachedDisk: isOnDisk }
    expect(await stage.refusal(flow(stage))).toBe('storage STORAGE')
    await stage.world.advance(5_000)
    const after = view(stage)
    const reborn = await stage.restart()
    expect(after).toEqual(view(reborn))
    expect(stage.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
    const isOver = (await reborn.judge(() => reborn.bearer(token))) !== undefined
    expect(socket.endCode).toBe(isOver ? 4401 : undefined)
  })
})

/** The state for authentication. */
function view(stage: IdentityFixture) {
  const { accesses, keys } = stage.identity
  const rows = [...stage.directoryState.users.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    users: rows.map(({ id, name, state }) => {
      const user = accesses.user(id)
      return { name, state, roles: user?.roles, scope: user && accesses.of('default', user.roles).scope.fingerprint }
    }),
    tenants: [...stage.directoryState.tenants.keys()].filter((tenant) => accesses.hasTenant(tenant)),
    keys: keys.list(),
  }
}

test('while the store refuses writes, tokens stay valid, and operations that write are answered with 503', async () => {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  const { token } = await stage.basic('ann')
  const { accessToken, refreshToken } = await stage.logIn('ann', key)
  stage.faults.next = { fail: 'io', reachedDisk: false }
  expect(await stage.refusal(stage.identity.logins.basicToken(stage.basicOf('ann')))).toBe('storage STORAGE')
  await stage.world.advance(120_000)
  expect(await stage.bearer(token)).toMatchObject({ name: 'ann' })
  expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  const renewed = stage.identity.logins.refresh({ refreshToken, jkt: key.jkt, place })
  expect(await stage.refusal(renewed)).toBe('storage STORAGE')
  expect(await stage.refusal(stage.identity.logins.logIn(stage.loginOf('ann', key)))).toBe('storage STORAGE')
})
