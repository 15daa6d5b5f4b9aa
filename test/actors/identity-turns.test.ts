import { describe, expect, test } from 'vitest'
import { accountActor } from '#actors/account/account'
import { accountAddress } from '#actors/account/address'
import type { AccountCommand } from '#actors/account/commands'
import type { AccountState } from '#actors/account/state'
import type { DeviceCommand } from '#actors/device/commands'
import { deviceActor, deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import { noDeviceFunctions } from '#actors/device/turn-runs'
import { directoryAddress } from '#actors/directory/address'
import type { DirectoryCommand } from '#actors/directory/commands'
import { directoryActor } from '#actors/directory/directory'
import { rowByName } from '#actors/directory/queries'
import type { DirectoryState, UserRow } from '#actors/directory/state'
import { sessionAddress } from '#actors/session/address'
import type { SessionCommand } from '#actors/session/commands'
import { sessionActor } from '#actors/session/session'
import type { SessionState } from '#actors/session/state'
import { signingKeysActor } from '#actors/signing-keys/signing-keys'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { tenantAddress } from '#actors/tenant/address'
import type { TenantCommand } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { tenantActor } from '#actors/tenant/tenant'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import type { ActorAddress } from '#runtime/actor'
import type { StoreJournal } from '#store/store-journal'
import { begunSession, hash } from '#test/actors/acting-account'
import { RecordingTopics } from '#test/actors/acting-subscriber'
import { noRuleViews } from '#test/actors/no-rule-views'
import { RecordingNotices } from '#test/actors/recording-notices'
import { unheardRules } from '#test/actors/unheard-rules'
import { unheardUpdates } from '#test/actors/unheard-updates'
import { ManualWorld, startMs } from '#test/runtime/manual-world'
import { faultyPlace, openStage, type Stage, type StageOptions } from '#test/runtime/stage'

type Command = DirectoryCommand | AccountCommand | SessionCommand | TenantCommand | DeviceCommand

const acme = 'acme'
const account = accountAddress(acme, 'U1')

/** The actors of identity on the runtime, as they tell each other. */
class IdentityStage {
  readonly notices: RecordingNotices
  readonly stage: Stage

  private constructor(stage: Stage, notices: RecordingNotices) {
    this.stage = stage
    this.notices = notices
  }

  static async open(options: StageOptions = {}): Promise<IdentityStage> {
    const notices = new RecordingNotices()
    return new IdentityStage(await openStage({ definitions: definitionsWith(notices), ...options }), notices)
  }

  /** Tenant `acme` with user `ann`, who signed up and is signed in so many times. */
  static async signedIn(sessionCount: number, options: StageOptions = {}): Promise<IdentityStage> {
    const identity = await IdentityStage.open(options)
    const tenant = { tenantIdentifier: acme, name: acme, hosts: [], twoFactor: 'optional', basic: true } as const
    identity.ask(directoryAddress, { type: 'add_tenant', tenant })
    const user = { id: 'U1', tenant: acme, name: 'ann', email: null, roles: ['viewer'] }
    const code = { hash: hash(1), expiresAt: startMs + 9e8, resetsFactors: false }
    identity.ask(directoryAddress, { type: 'add_user', user, code })
    identity.ask(account, { type: 'redeem_code', codeHash: hash(1), passwordHash: 'argon' })
    for (let index = 1; index <= sessionCount; index++) identity.begin(`S${index}`)
    await identity.settle()
    identity.notices.said.length = 0
    identity.stage.said.length = 0
    return identity
  }

  async reborn(): Promise<IdentityStage> {
    const notices = new RecordingNotices()
    return new IdentityStage(await this.stage.reborn({ definitions: definitionsWith(notices) }), notices)
  }

  ask(to: ActorAddress, command: Command, label?: string): void {
    this.stage.ask(to, command, label)
  }

  begin(id: string): void {
    const session = { ...begunSession(id), endsAt: this.stage.world.now() + 3_600_000 }
    this.ask(account, { type: 'begin_session', session, version: this.account.credentials?.version ?? 0 })
  }

  settle(): Promise<void> {
    return this.stage.settle()
  }

  get account(): AccountState {
    return this.stage.system.look(account) as AccountState
  }

  get row(): UserRow | undefined {
    return rowByName(this.stage.system.look(directoryAddress) as DirectoryState, 'ann')
  }

  get tenant(): TenantState {
    return this.stage.system.look(tenantAddress(acme)) as TenantState
  }

  isThere(session: string): boolean {
    return (this.stage.system.look(sessionAddress(acme, session)) as SessionState).session !== undefined
  }

  /** Sessions that the account knows, and that there are. */
  get sessions(): string[] {
    const known = this.account.sessions.map(([id]) => id)
    for (const id of known) expect(this.isThere(id), id).toBe(true)
    return known
  }
}

function definitionsWith(notices: RecordingNotices): (journal: StoreJournal) => AnyDefinition<Entry>[] {
  return (journal) =>
    [
      deviceActor({
        shapeById: (id) => journal.shapes.byId(id),
        startedAt: startMs,
        rules: noRuleViews,
        functions: noDeviceFunctions,
      }),
      tenantActor(notices, unheardRules),
      directoryActor(notices),
      accountActor,
      sessionActor(notices),
      signingKeysActor(notices),
      subscriberActor(new RecordingTopics()),
      unheardUpdates,
    ] as unknown as AnyDefinition<Entry>[]
}

test('an invitation, its code, an account, its sessions: each turn is one commit, whoever it tells', async () => {
  const identity = await IdentityStage.signedIn(0)
  const commits = identity.stage.commits.length
  identity.begin('S1')
  await identity.settle()
  expect(identity.stage.commits).toHaveLength(commits + 1)
  expect([...(identity.stage.commits.at(-1)?.records.keys() ?? [])].sort()).toEqual([
    `part/account/${acme}/U1/sessions`,
    `part/session/${acme}/S1/session`,
    `reminder/session/${acme}/S1`,
  ])
  expect(identity.row).toMatchObject({ state: 'active', hasPassword: true })
  expect(identity.sessions).toEqual(['S1'])
  expect(identity.stage.refusedTells).toEqual([])
  expect(identity.stage.events).toEqual([])
})

test('everything stands after a crash as it stood', async () => {
  const before = await IdentityStage.signedIn(3)
  before.ask(sessionAddress(acme, 'S2'), { type: 'end' })
  before.ask(account, { type: 'session_over', session: 'S2' })
  before.ask(tenantAddress(acme), { type: 'put_role', role: 'ops', grants: [] })
  await before.settle()
  before.stage.crash()
  const after = await before.reborn()
  expect(after.sessions).toEqual(['S1', 'S3'])
  expect(after.isThere('S2')).toBe(false)
  expect(structuredClone(after.account)).toEqual(structuredClone(before.account))
  expect(after.row).toEqual(before.row)
  expect(after.tenant.roles).toEqual(before.tenant.roles)
  expect(after.stage.system.reminders.dueAt(sessionAddress(acme, 'S1'))).toBe(startMs + 3_600_000)
  expect(after.notices.said).toEqual([])
})

describe('all sessions end at once', () => {
  const disable: DirectoryCommand = { type: 'update_user', user: 'U1', state: 'disabled' }
  const remove: DirectoryCommand = { type: 'remove_user', user: 'U1' }

  test.each([
    ['disabled', disable],
    ['removed', remove],
  ])('of who is %s, in one commit, and then it is said', async (_, command) => {
    const identity = await IdentityStage.signedIn(100)
    const commits = identity.stage.commits.length
    identity.ask(directoryAddress, command, 'it')
    expect(identity.notices.said).toEqual([])
    expect(identity.account.sessions).toEqual([])
    await identity.settle()
    expect(identity.stage.commits).toHaveLength(commits + 1)
    const ended = identity.notices.said.filter((line) => line.startsWith('session '))
    expect(ended).toHaveLength(100)
    // Whoever asked goes on when everybody has been told.
    expect(identity.notices.said.at(-1)).toContain('user acme/U1')
    expect(identity.stage.said).toHaveLength(1)
    for (let index = 1; index <= 100; index++) expect(identity.isThere(`S${index}`)).toBe(false)
    expect(identity.stage.system.reminders.count).toBe(0)
  })

  test('but not when that could not be stored, and nobody is told', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    const identity = await IdentityStage.signedIn(3, { world, place })
    faults.next = { fail: 'full', reachedDisk: false }
    identity.ask(directoryAddress, disable, 'it')
    await identity.settle()
    expect(identity.stage.said).toEqual(['refused it storage'])
    expect(identity.notices.said).toEqual([])
    expect(identity.sessions).toEqual(['S1', 'S2', 'S3'])
    expect(identity.row?.state).toBe('active')
  })
})

test('of more than a hundred sessions the oldest ends with the commit of the newest', async () => {
  const identity = await IdentityStage.signedIn(100)
  identity.begin('S101')
  await identity.settle()
  expect(identity.isThere('S1')).toBe(false)
  expect(identity.sessions).toHaveLength(100)
  expect(identity.notices.said).toEqual(['session acme/S1 ended'])
})

test('a session ends at its very moment, and its account knows', async () => {
  const identity = await IdentityStage.signedIn(2)
  await identity.stage.world.advance(3_599_999)
  expect(identity.sessions).toEqual(['S1', 'S2'])
  await identity.stage.world.advance(1)
  expect(identity.account.sessions).toEqual([])
  expect(identity.notices.said.sort()).toEqual(['session acme/S1 ended', 'session acme/S2 ended'])
  expect([...(identity.stage.commits.at(-1)?.records.values() ?? [])].some((value) => value !== null)).toBe(false)
})

test('a session whose end came while the server was down ends at the start', async () => {
  const before = await IdentityStage.signedIn(1)
  before.stage.crash()
  before.stage.world.spend(3_600_000)
  const after = await before.reborn()
  await after.stage.world.advance(0)
  expect(after.isThere('S1')).toBe(false)
  expect(after.account.sessions).toEqual([])
  expect(after.notices.said).toEqual(['session acme/S1 ended'])
})

test('a refresh token that is used again ends its session alone', async () => {
  const identity = await IdentityStage.signedIn(1)
  const endsAt = startMs + 9e6
  const session = { ...begunSession('R'), hasRefresh: true, endsAt }
  identity.ask(account, { type: 'begin_session', session, version: identity.account.credentials?.version ?? 0 })
  const rotate = () => identity.ask(sessionAddress(acme, 'R'), { type: 'rotate', number: 1, endsAt }, 'rotate')
  rotate()
  await identity.settle()
  identity.stage.said.length = 0
  rotate()
  rotate()
  await identity.settle()
  expect(identity.stage.said).toEqual(['answered rotate {"outcome":"reused"}', 'answered rotate {"outcome":"unknown"}'])
  expect(identity.notices.said).toEqual(['session acme/R ended'])
  expect(identity.sessions).toEqual(['S1'])
})

test('notices hold what was stored, though there was another edit meanwhile', async () => {
  const identity = await IdentityStage.signedIn(0)
  identity.ask(directoryAddress, { type: 'update_user', user: 'U1', roles: ['ops'] })
  identity.stage.world.step()
  // The first is on its way to the disk.
  identity.ask(directoryAddress, { type: 'update_user', user: 'U1', roles: ['far'] })
  await identity.settle()
  expect(identity.notices.said).toEqual(['user acme/U1 active ops since null', 'user acme/U1 active far since null'])
})

test('of many devices that come by one key at once none is one too many, also after a crash', async () => {
  const before = await IdentityStage.signedIn(0)
  const key = { id: 'P', name: 'line', hash: hash(2), expiresAt: null, maxDevices: 3 }
  before.ask(tenantAddress(acme), { type: 'add_provisioning_key', ...key })
  for (let index = 0; index < 5; index++) {
    const command = { type: 'admit_device', device: `D${index}`, meta: {}, key: 'P', secretHash: hash(index) } as const
    before.ask(tenantAddress(acme), command, `D${index}`)
  }
  await before.settle()
  expect(before.stage.said.filter((line) => line.startsWith('refused'))).toEqual([
    'refused D3 forbidden',
    'refused D4 forbidden',
  ])
  const { journal } = before.stage
  const recordOf = (device: string, name: string) => journal.get(journal.recordKey(deviceAddress(acme, device), name))
  expect(recordOf('D2', secretRecord)).toBeDefined()
  expect(recordOf('D2', registrarRecord)).toBeDefined()
  expect(recordOf('D3', secretRecord)).toBeUndefined()
  before.stage.crash()
  const after = await before.reborn()
  expect(after.tenant.provisioningKeys.get('P')?.devices).toBe(3)
  after.ask(deviceAddress(acme, 'D1'), { type: 'remove', registrar: 'P' })
  await after.settle()
  expect(after.tenant.provisioningKeys.get('P')?.devices).toBe(2)
  const gone = after.stage.journal.get(after.stage.journal.recordKey(deviceAddress(acme, 'D1'), registrarRecord))
  expect(gone).toBeUndefined()
})

test('a key ends at its moment, and it is said', async () => {
  const identity = await IdentityStage.signedIn(0)
  const key = { id: 'K', name: 'k', hash: hash(1), roles: [], expiresAt: startMs + 5_000 }
  identity.ask(tenantAddress(acme), { type: 'add_api_key', ...key })
  await identity.settle()
  await identity.stage.world.advance(4_999)
  expect(identity.tenant.apiKeys.size).toBe(1)
  await identity.stage.world.advance(1)
  expect(identity.tenant.apiKeys.size).toBe(0)
  expect(identity.notices.said).toEqual(['api_key acme/K ended'])
})
