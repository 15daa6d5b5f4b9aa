import { describe, expect, test } from 'vitest'
import { sessionAddress } from '#actors/session/state'
import type { TokenPair } from '#api/sign-in'
import type { Caller } from '#model/caller'
import type { Grant } from '#model/scope'
import { IdentityFixture, origin, password } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()
const readOf = (resource: 'meta' | 'schemas'): Grant => ({
  permissions: { [resource]: ['read'] },
  devices: ['*'],
  services: ['*'],
})

/** Ann with a role, a session of each scheme, and a TOTP secret that is not activated. */
interface Sessions {
  readonly fixture: IdentityFixture
  readonly pair: TokenPair
  readonly basic: { readonly token: string; readonly refreshToken: string }
  readonly caller: Caller
  readonly secret: string
}

async function openSessions(): Promise<Sessions> {
  const fixture = await IdentityFixture.open()
  // A signing key can be replaced after a minute.
  await fixture.world.advance(60_000)
  await fixture.putRole('ops', [readOf('schemas')])
  await fixture.addUser('ann', { roles: ['ops'] })
  await fixture.invite('bob')
  const pair = await fixture.logIn('ann', key)
  const basic = await fixture.basic('ann', true)
  const caller = await fixture.bound(pair.accessToken, key, 'user or proof')
  const { secret } = await fixture.wait(fixture.identity.secondFactors.enrollTotp({ caller, origin, password }))
  await fixture.world.settle()
  return { fixture, pair, basic, caller, secret }
}

function ask(fixture: IdentityFixture, kind: 'tenant' | 'directory', command: unknown): Promise<unknown> {
  const id = kind === 'tenant' ? 'default' : 'directory'
  return fixture.assembly.context.system.ask({ kind, tenant: 'default', id }, command)
}

/** All operations that write. */
const flows: Readonly<Record<string, (sessions: Sessions) => Promise<unknown>>> = {
  'a logout': ({ fixture, caller }) =>
    fixture.identity.logins.signOut({ caller, refreshToken: undefined, isAll: false, origin }),
  'a logout of all': ({ fixture, caller }) =>
    fixture.identity.logins.signOut({ caller, refreshToken: undefined, isAll: true, origin }),
  'a refresh': ({ fixture, pair }) =>
    fixture.identity.logins.refresh({ refreshToken: pair.refreshToken, jkt: key.jkt, origin }),
  'a refresh of the Basic scheme': ({ fixture, basic }) =>
    fixture.identity.logins.refreshBasic({ refreshToken: basic.refreshToken, origin }),
  'a change of the password': ({ fixture, caller }) =>
    fixture.identity.logins.changePassword({ caller, current: password, password: 'another password', origin }),
  'an activation of a second factor': ({ fixture, caller, secret }) =>
    fixture.identity.secondFactors.activateTotp({ caller, origin, code: codeOf(secret, fixture.world.now()) }),
  'a wrong code of a second factor': ({ fixture, caller }) =>
    fixture.identity.secondFactors.activateTotp({ caller, origin, code: '000000' }),
  'a login': ({ fixture }) => fixture.identity.logins.logIn(fixture.loginOf('ann', key)),
  'a Basic token': ({ fixture }) => fixture.identity.logins.basicToken(fixture.basicOf('ann', true)),
  'a sign-up': ({ fixture }) => fixture.identity.logins.signUp({ name: 'bob', code: 'code of bob', password, origin }),
  'an edit of a role': ({ fixture }) =>
    ask(fixture, 'tenant', { type: 'put_role', role: 'ops', grants: [readOf('meta')] }),
  'an edit of the roles of a user': ({ fixture }) =>
    ask(fixture, 'directory', { type: 'update_user', user: fixture.row('ann').id, roles: ['viewer'] }),
  'the disabling of a user': ({ fixture }) =>
    ask(fixture, 'directory', { type: 'update_user', user: fixture.row('ann').id, state: 'disabled' }),
  'a new tenant': ({ fixture }) =>
    ask(fixture, 'directory', {
      type: 'add_tenant',
      tenant: { tenantIdentifier: 'acme', name: 'acme', hosts: [], twoFactor: 'optional', basic: true },
    }),
  'a new signing key': ({ fixture }) => fixture.identity.keys.rotate(),
}

/** The stored records of ann, and the users, tenants and keys of the authentication. */
function stored(fixture: IdentityFixture) {
  const { tenant } = fixture.row('ann')
  const account = fixture.account('ann')
  const sessions = account.sessions.map(([id]) => fixture.assembly.context.system.peek(sessionAddress(tenant, id)))
  const { accesses, keys } = fixture.identity
  const rows = [...fixture.directoryState.users.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const scopes = rows.map(({ id, name }) => {
    const user = accesses.user(id)
    return [name, user && accesses.of('default', user.roles).scope.fingerprint]
  })
  const tenants = [...fixture.directoryState.tenants.keys()].filter((each) => accesses.hasTenant(each))
  return structuredClone({ rows, account, sessions, scopes, tenants, keys: keys.list() })
}

/** Why each token of ann is refused; undefined if it is accepted. */
async function tokenRefusals({ pair, basic }: Sessions, fixture: IdentityFixture) {
  const bound = await fixture.judge(() => fixture.bound(pair.accessToken, key))
  return { bound, unbound: await fixture.judge(() => fixture.bearer(basic.token)) }
}

describe.each(Object.entries(flows))('%s whose write fails is answered with 503', (_, flow) => {
  test('and has no effect if the write did not reach the disk', async () => {
    const given = await openSessions()
    const { fixture } = given
    const before = stored(fixture)
    const sockets = [fixture.connect(given.caller), fixture.connect(await fixture.bearer(given.basic.token))]
    fixture.faults.next = { fail: 'full', reachedDisk: false }
    expect(await fixture.refusal(flow(given))).toBe('storage STORAGE')
    await fixture.world.advance(5_000)
    expect(stored(fixture)).toEqual(before)
    expect(await tokenRefusals(given, fixture)).toEqual({ bound: undefined, unbound: undefined })
    expect(sockets.map(({ endCode }) => endCode)).toEqual([undefined, undefined])
    expect(stored(await fixture.restart())).toEqual(before)
    expect(fixture.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
  })

  test('and has its full effect if the write reached the disk', async () => {
    // The expected result: the same steps without a failure.
    const smooth = await openSessions()
    const outcome = await smooth.fixture.refusal(flow(smooth))
    expect([undefined, 'unauthorized invalid code']).toContain(outcome)
    await smooth.fixture.world.settle()

    const given = await openSessions()
    const { fixture } = given
    const sockets = [fixture.connect(given.caller), fixture.connect(await fixture.bearer(given.basic.token))]
    fixture.faults.next = { fail: 'full', reachedDisk: true }
    expect(await fixture.refusal(flow(given))).toBe('storage STORAGE')
    await fixture.world.advance(5_000)
    expect(stored(fixture)).toEqual(stored(smooth.fixture))
    const { bound, unbound } = await tokenRefusals(given, fixture)
    expect({ bound, unbound }).toEqual(await tokenRefusals(smooth, smooth.fixture))
    // Sockets of an ended session were closed when the store was read again.
    const ended = [bound, unbound].map((refusal) => (refusal === undefined ? undefined : 4401))
    expect(sockets.map(({ endCode }) => endCode)).toEqual(ended)
    expect(stored(await fixture.restart())).toEqual(stored(smooth.fixture))
    expect(fixture.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
  })
})

test('a refresh that was stored, but answered with an error, can be repeated', async () => {
  const { fixture, pair } = await openSessions()
  const renew = (refreshToken: string) => fixture.identity.logins.refresh({ refreshToken, jkt: key.jkt, origin })
  fixture.faults.next = { fail: 'full', reachedDisk: true }
  expect(await fixture.refusal(renew(pair.refreshToken))).toBe('storage STORAGE')
  await fixture.world.advance(5_000)
  const next = await fixture.wait(renew(pair.refreshToken))
  expect(next.refreshToken).not.toBe(pair.refreshToken)
  expect(await fixture.refusal(renew(next.refreshToken))).toBeUndefined()
})

test('two concurrent refreshes give the same successor with DPoP, and end a session of the Basic scheme', async () => {
  const { fixture, pair, basic } = await openSessions()
  const { logins } = fixture.identity
  const bound = { refreshToken: pair.refreshToken, jkt: key.jkt, origin }
  const both = await fixture.wait(Promise.all([logins.refresh(bound), logins.refresh(bound)]))
  expect(both[0].refreshToken).toBe(both[1].refreshToken)
  for (const { accessToken } of both) expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })

  const unbound = { refreshToken: basic.refreshToken, origin }
  const [first, second] = await fixture.wait(
    Promise.allSettled([logins.refreshBasic(unbound), logins.refreshBasic(unbound)]),
  )
  // One of the two clients may have stolen the token, and the server cannot know which one.
  expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected'])
  expect(await fixture.judge(() => fixture.bearer(basic.token))).toBe('unauthorized session over')
})

test('while the store refuses writes, tokens stay valid, and operations that write are answered with 503', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { token } = await fixture.basic('ann')
  const { accessToken, refreshToken } = await fixture.logIn('ann', key)
  fixture.faults.next = { fail: 'io', reachedDisk: false }
  expect(await fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf('ann')))).toBe('storage STORAGE')
  await fixture.world.advance(120_000)
  expect(await fixture.bearer(token)).toMatchObject({ name: 'ann' })
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  const renewed = fixture.identity.logins.refresh({ refreshToken, jkt: key.jkt, origin })
  expect(await fixture.refusal(renewed)).toBe('storage STORAGE')
  expect(await fixture.refusal(fixture.identity.logins.logIn(fixture.loginOf('ann', key)))).toBe('storage STORAGE')
})
