import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accountActor } from '#actors/account/account'
import type { AccountCommand } from '#actors/account/state'
import { directoryActor } from '#actors/directory/directory'
import { administratorRole } from '#actors/directory/rows'
import type { DirectoryCommand, DirectoryState } from '#actors/directory/state'
import { noticeBus } from '#actors/notice-bus'
import { sessionActor } from '#actors/session/session'
import type { SessionCommand } from '#actors/session/state'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import type { SigningKeysCommand } from '#actors/signing-keys/state'
import type { TenantCommand } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import type { Entry } from '#model/entry'
import type { Grant } from '#model/scope'
import { foldEmail, foldName } from '#model/user'
import type { AnyDefinition } from '#runtime/activation'
import type { ActorDefinition } from '#runtime/actor'
import { ActingAccount, begunSession, code, credential, hash } from '#test/actors/acting-account'
import { ActingActor, now } from '#test/actors/acting-actor'
import { ActingDevice } from '#test/actors/acting-device'
import { ActingDirectory } from '#test/actors/acting-directory'
import { RecordingNotices } from '#test/actors/recording-notices'
import { commandOf, weighted } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'

/**
 * Random commands in random order and time. `ActingActor` checks at each step that no decision changes the state and
 * that the records restore it. These tests check further invariants.
 */

const runs = 60
const steps = { minLength: 1, maxLength: 40 }

/** Milliseconds that pass before a command. */
const pause = fc.constantFrom(0, 0, 1, 999, 60_000, 3_600_000, 86_400_000)
const few = <const Value>(...values: Value[]) => fc.constantFrom(...values)
const aHash = fc.integer({ min: 1, max: 4 }).map(hash)
const keep = few(undefined, 'S1', 'S2')

function timed<Command>(command: fc.Arbitrary<Command>) {
  return fc.array(fc.tuple(pause, command), steps)
}

function actAll<State, Command>(
  acting: ActingActor<State, Command>,
  commands: readonly (readonly [number, Command])[],
  check: (acting: ActingActor<State, Command>) => void = () => {},
): void {
  for (const [pauseMs, command] of commands) {
    acting.at += pauseMs
    acting.act(command)
    check(acting)
  }
}

function acting<State, Command>(definition: ActorDefinition<State, Command, Entry>) {
  return new ActingActor(definition, { tenant: 't', id: 'X' })
}

const due = fc.constant({ type: 'reminder_due', dueAt: 0 } as const)

test('a session ends once, and has a reminder until then, for any commands', () => {
  const scheme = few('basic', 'dpop')
  const command: fc.Arbitrary<SessionCommand> = fc.oneof(
    commandOf('begin', {
      user: few('U1', 'U2'),
      session: fc.tuple(scheme, fc.boolean()).map(([scheme, hasRefresh]) => {
        return { ...begunSession('X'), scheme, hasRefresh, ...(scheme === 'dpop' && { jkt: 'thumb' }) }
      }),
    }),
    commandOf('rotate', { number: fc.integer({ min: -1, max: 6 }), endsAt: few(now, now + 9e9) }),
    commandOf('use', { address: few('a', 'b') }),
    commandOf('end'),
    due,
  )
  forAll([timed(command)], runs, (commands) => {
    const notices = new RecordingNotices()
    let wasThere = false
    let ended = 0
    actAll(acting(sessionActor(notices)), commands, ({ state, reminder }) => {
      const isThere = state.session !== undefined
      if (wasThere && !isThere) ended++
      wasThere = isThere
      // Each end is published once, and each present session has a reminder.
      expect(notices.lines).toHaveLength(ended)
      expect(reminder).toBe(state.session?.endsAt ?? null)
    })
  })
})

test('an account without a password has no sessions, for any commands', () => {
  const version = fc.integer({ min: 0, max: 6 })
  const passwordHash = few('h1', 'h2')
  const webauthn = few('C1', 'C2')
  const recovery = fc.array(aHash, { maxLength: 3 })
  const command: fc.Arbitrary<AccountCommand> = fc.oneof(
    commandOf('invite', { code: fc.integer({ min: 1, max: 4 }).map((byte) => code(byte)) }),
    commandOf('open', { passwordHash: few('open') }),
    commandOf('redeem_code', { codeHash: aHash, passwordHash }),
    commandOf('set_password', { version, passwordHash, keep }),
    commandOf('renew_hash', { version, passwordHash }),
    commandOf('begin_session', { session: few('S1', 'S2', 'S3').map(begunSession), version }),
    commandOf('end_sessions', { keep: few('S1', 'S9') }),
    commandOf('end_sessions', { only: few('S1', 'S9') }),
    commandOf('session_over', { session: few('S1', 'S2') }),
    commandOf('set_totp', { version, secret: aHash, step: fc.nat(5), recovery, keep }),
    commandOf('remove_totp', { version, keep, isRequired: fc.boolean() }),
    commandOf('use_totp', { step: fc.nat(9) }),
    commandOf('use_recovery', { hash: aHash }),
    commandOf('add_webauthn', {
      ...{ version, credential: webauthn.map((id) => credential(id)), keep },
      recovery: fc.option(recovery, { nil: undefined }),
    }),
    commandOf('remove_webauthn', { version, id: webauthn, keep, isRequired: fc.boolean() }),
    commandOf('use_webauthn', { id: webauthn, counter: fc.nat(4) }),
    fc.constantFrom(...(['factor_failed', 'disable', 'enable', 'erase'] as const)).map((type) => ({ type })),
  )
  forAll([timed(command), fc.boolean()], runs, (commands, isSignedUp) => {
    const account = isSignedUp ? ActingAccount.signedUp() : new ActingAccount()
    let version = account.version
    actAll<(typeof account)['state'], AccountCommand>(account, commands, ({ state }) => {
      const { credentials, sessions, factors } = state
      // An account that cannot sign in has no sessions.
      if (!credentials || credentials.isDisabled || credentials.hash === null) expect(sessions).toEqual([])
      // Two different states never have the same version.
      if (credentials) expect(credentials.version).toBeGreaterThanOrEqual(version)
      version = credentials?.version ?? -1
      if (!factors.totp && factors.webauthn.length === 0) expect(factors.recovery).toEqual([])
    })
  })
})

test('the maps of the directory equal its rows, for any commands', () => {
  const ids = few('U1', 'U2', 'U3', 'U4')
  const names = few('ann', 'ANN', 'bob', 'Bob', 'zoë')
  const emails = few(null, 'a@x.org', 'A@X.org', 'b@x.org')
  const tenants = few('default', 'acme', 'beta')
  const roles = fc.subarray([administratorRole, 'viewer', 'ops'])
  const user = fc.record({ id: ids, tenant: tenants, name: names, email: emails, roles })
  const state = few('active', 'disabled')
  const factors = fc.subarray(['totp', 'webauthn'] as const)
  const tenant = fc.record({
    tenantIdentifier: tenants,
    name: few('x', 'y'),
    hosts: fc.subarray(['a.example', 'b.example:1']),
    twoFactor: few('optional', 'required'),
    basic: fc.boolean(),
  })
  const command: fc.Arbitrary<DirectoryCommand> = fc.oneof(
    weighted(4, commandOf('add_user', { user, code: fc.constant(code(1)) })),
    commandOf('add_administrator', { user, passwordHash: fc.constant('h') }),
    weighted(3, commandOf('update_user', { user: ids }, { email: emails, roles, state })),
    commandOf('remove_user', { user: ids }),
    weighted(3, fc.record({ type: few('activated', 'factors_changed'), user: ids, factors })),
    commandOf('roles_settled', { user: ids, edit: fc.nat(3), since: fc.nat(9) }),
    commandOf('add_tenant', { tenant }),
    commandOf('update_tenant', { tenant: tenants, change: few({}, { basic: false }) }),
    fc.record({ type: few('delete_tenant', 'forget_users', 'tenant_swept'), tenant: tenants }),
  )
  forAll([timed(command)], runs, (commands) => {
    const directory = new ActingDirectory()
    actAll<DirectoryState, DirectoryCommand>(directory, commands, ({ state }) => expectSound(state))
  })
})

/** Compares the maps of the directory with all rows, without the queries of the actor. */
function expectSound({ users, tenants, byName, byEmail, emailUse, roleUse, administrators }: DirectoryState): void {
  const rows = [...users.values()]
  const unique = (texts: string[]) => expect(new Set(texts).size).toBe(texts.length)
  unique(rows.map(({ name }) => foldName(name)))
  unique(rows.flatMap(({ tenant, email }) => (email === null ? [] : [`${tenant} ${foldEmail(email)}`])))
  expect([...byName.keys()].sort()).toEqual(rows.map(({ name }) => foldName(name)).sort())
  for (const [email, ids] of byEmail) for (const id of ids) expect(foldEmail(users.get(id)?.email ?? '')).toBe(email)
  for (const count of [1, 2, 3]) {
    expect(emailUse.get(count) ?? 0).toBe([...byEmail.values()].filter(({ size }) => size === count).length)
  }
  for (const { tenant, id } of rows) expect(tenants.has(tenant), id).toBe(true)
  for (const role of ['admin', 'viewer', 'ops']) {
    for (const tenant of tenants.keys()) {
      const holders = rows.filter((row) => row.tenant === tenant && row.roles.includes(role))
      expect(roleUse.get(`${tenant}/${role}`) ?? 0).toBe(holders.length)
    }
  }
  for (const tenant of tenants.keys()) {
    const active = rows.filter((row) => row.tenant === tenant && row.state === 'active' && row.roles.includes('admin'))
    expect([...(administrators.get(tenant) ?? [])].sort()).toEqual(active.map(({ id }) => id).sort())
  }
}

test('each key of a tenant that expires has a reminder, for any commands', () => {
  const ids = few('K1', 'K2')
  const role = few('ops', 'admin', 'far')
  const expiresAt = few(null, now, now + 60_000, now + 86_400_000)
  const grant: fc.Arbitrary<Grant> = fc.record({
    permissions: fc.constantFrom<Grant['permissions'][]>({ service: ['read'] }, {}),
    devices: fc.constantFrom<string[][]>(['*'], ['A']),
    services: fc.constantFrom<string[][]>(['*']),
  })
  const grants = fc.array(grant, { maxLength: 2 })
  const service = few('s', 'u')
  const key = { id: ids, name: few('n'), hash: aHash, expiresAt }
  const command: fc.Arbitrary<TenantCommand> = fc.oneof(
    commandOf('admit_device', { device: few('A', 'B'), meta: fc.constant({}) }, { key: ids, secretHash: aHash }),
    commandOf('device_gone', {}, { key: ids }),
    commandOf('put_schema', { service, schema: few({ name: 'a', properties: {} }, { name: 'bb', properties: {} }) }),
    commandOf('delete_schema', { service }),
    commandOf('put_role', { role, grants }),
    commandOf('delete_role', { role }),
    commandOf('role_settled', { role, edit: fc.nat(3), since: fc.nat(9) }),
    commandOf('add_api_key', { ...key, roles: fc.subarray(['ops', 'far']) }),
    commandOf('add_provisioning_key', { ...key, maxDevices: few(null, 0, 1, 2) }),
    commandOf('delete_key', { kind: few('api_key', 'provisioning_key'), id: ids }),
    due,
  )
  forAll([timed(command)], runs, (commands) => {
    actAll(acting(tenantActor(noticeBus())), commands, ({ state, reminder }) => {
      const keys = [...state.apiKeys.values(), ...state.provisioningKeys.values()]
      for (const { devices, maxDevices } of state.provisioningKeys.values()) {
        expect(devices).toBeGreaterThanOrEqual(0)
        if (maxDevices !== null) expect(devices).toBeLessThanOrEqual(maxDevices)
      }
      // Each key that expires has a reminder.
      for (const { expiresAt: at } of keys) if (at !== null) expect(reminder).toBeLessThanOrEqual(at)
    })
  })
})

test('one of the signing keys signs, for any commands', () => {
  let made = 0
  const command: fc.Arbitrary<SigningKeysCommand> = fc.oneof(
    fc.record({ retireOthersAt: few(now, now + 60_000, now + 86_400_000) }).map(({ retireOthersAt }) => ({
      type: 'add' as const,
      key: { kid: `K${made++}`, sealed: hash(1), fingerprint: hash(2) },
      retireOthersAt,
    })),
    due,
  )
  forAll([timed(command)], runs, (commands) => {
    let hadOne = false
    actAll(acting(signingKeysActor(new RecordingNotices())), commands, ({ state, reminder, at }) => {
      const signing = [...state.keys.values()].filter(({ retiresAt }) => retiresAt === null)
      expect(signing.length).toBe(state.keys.size === 0 ? 0 : 1)
      if (hadOne) expect(signing).toHaveLength(1)
      hadOne = signing.length === 1
      if (hadOne) expect(reminder).not.toBeNull()
      for (const { retiresAt } of state.keys.values()) {
        if (retiresAt !== null && retiresAt > at) expect(reminder).toBeLessThanOrEqual(retiresAt)
      }
    })
  })
})

const [notices, bus] = [new RecordingNotices(), noticeBus()]
const definitions = [tenantActor(bus), signingKeysActor(notices), directoryActor(notices)] as AnyDefinition<Entry>[]
const awake = definitions.map(acting)

test('a device throws on an entry of another kind of actor', () => {
  const { definition, state } = ActingDevice.added()
  const entry: Entry = { kind: 'unsubscribed', at: 1, user: 'u', subscription: 'S' }
  expect(() => definition.apply(state, entry, 1)).toThrow('unsubscribed')
})

test('the actors of tenants, signing keys and the directory stay awake', () => {
  for (const { definition, state } of awake) expect(definition.isForgettable?.(state)).toBe(false)
})

test('sessions and accounts remember no names of records', () => {
  for (const { fixedRecords, formats } of [sessionActor(notices), accountActor])
    expect(fixedRecords).toEqual(Object.keys(formats))
})
