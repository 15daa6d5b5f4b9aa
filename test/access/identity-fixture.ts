import type { Identity } from '#access/identity'
import type { IdentitySettings } from '#access/options'
import type { LoginRequest, SignInOrigin } from '#access/requests'
import { hashOf } from '#access/secret-text'
import { type AccountState, accountAddress } from '#actors/account/state'
import { rowByName } from '#actors/directory/queries'
import {
  type DirectoryCommand,
  type DirectoryState,
  directoryAddress,
  type TenantRow,
  type UserRow,
} from '#actors/directory/state'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import type { RouteAccess } from '#api/route-entry'
import type { TokenPair } from '#api/sign-in'
import { type Assembly, assemble } from '#app/assembly'
import type { Resume } from '#events/hub'
import type { Caller } from '#model/caller'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import type { Grant } from '#model/scope'
import { requestWith } from '#test/access/authentication-request'
import { type KeyPair, makeKeyPair } from '#test/access/key-pair'
import { plainEngine } from '#test/access/plain-hashing'
import { draftOf, proofOf } from '#test/access/proof-draft'
import { type TestSocket, TestSockets } from '#test/access/test-sockets'
import { memoryServerOptions } from '#test/memory-server'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, type Faults, faultyStorage } from '#test/runtime/runtime-fixture'
import type { MemoryBackend } from '#test/store/memory'

export const password = 'correct horse'
const baseUrl = 'http://127.0.0.1:8080'
export const origin: SignInOrigin = { host: '127.0.0.1:8080', address: '192.0.2.1', agent: 'a test' }

export const lifetimes = { tokenMs: 3_600_000, accessMs: 600_000, refreshMs: 28_800_000 }

export interface IdentityFixtureOptions {
  readonly settings?: Partial<IdentitySettings>
  readonly world?: ManualWorld
  /** The storage of an earlier process. */
  readonly stored?: { readonly backend: MemoryBackend; readonly faults: Faults }
}

interface Shown {
  readonly method?: string
  readonly path?: string
  readonly host?: string
  readonly address?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
}

/** The whole server without network, with a store in memory and without timers. Its only user is `root`. */
export class IdentityFixture {
  readonly world: ManualWorld
  readonly backend: MemoryBackend
  readonly faults: Faults
  readonly engine = plainEngine()
  readonly sockets = new TestSockets()
  readonly assembly: Assembly
  readonly errors: string[] = []
  /** The headers of the last answer. */
  replyHeaders = new Map<string, string>()

  constructor({ settings, world = new ManualWorld(), stored }: IdentityFixtureOptions = {}) {
    this.world = world
    const { backend, faults } = stored ?? faultyStorage(world)
    this.backend = backend
    this.faults = faults
    this.assembly = assemble({
      ...memoryServerOptions(world),
      storage: {
        backend: this.backend,
        isSynced: false,
        retention: { bytesMax: Number.MAX_SAFE_INTEGER, ageMsMax: Number.MAX_SAFE_INTEGER },
      },
      publisher: this.sockets,
      identity: {
        fileKey: async () => new Uint8Array(32).fill(7),
        engine: this.engine,
        lifetimes,
        publicUrls: [],
        corsOrigins: [],
        areRateLimitsOn: true,
        port: () => 8080,
        firstAdministrator: { configured: { name: 'root', password } },
        ...settings,
      },
      log: {
        error: (fields, message) => this.errors.push(`${message} ${String((fields as { err?: unknown }).err ?? '')}`),
        warn: () => {},
        info: () => {},
        debug: () => {},
      },
    })
  }

  static async open(options: IdentityFixtureOptions = {}): Promise<IdentityFixture> {
    const fixture = new IdentityFixture(options)
    await during(fixture.world, fixture.assembly.open())
    return fixture
  }

  /** Opens a fixture with user `ann`. Her role is `viewer`. */
  static async withAnn(): Promise<IdentityFixture> {
    const fixture = await IdentityFixture.open()
    await fixture.addUser('ann')
    return fixture
  }

  get identity(): Identity {
    const { identity } = this.assembly
    if (!identity) throw new Error('IAM is off')
    return identity
  }

  /** Waits for a result without timers. */
  wait<T>(promise: Promise<T>): Promise<T> {
    return during(this.world, promise)
  }

  /** The refusal as `code message`, or undefined if the promise resolves. */
  refusal(promise: Promise<unknown>): Promise<string | undefined> {
    return this.judge(() => this.wait(promise))
  }

  directory(command: DirectoryCommand): Promise<unknown> {
    return this.wait(this.assembly.context.system.ask(directoryAddress, command))
  }

  tenant(tenant: string, command: TenantCommand): Promise<unknown> {
    return this.wait(this.assembly.context.system.ask(tenantAddress(tenant), command))
  }

  get directoryState(): DirectoryState {
    return this.assembly.context.system.peek(directoryAddress) as DirectoryState
  }

  tenantState(tenant = 'default'): TenantState {
    return this.assembly.context.system.peek(tenantAddress(tenant)) as TenantState
  }

  row(name: string): UserRow {
    const row = rowByName(this.directoryState, name)
    if (!row) throw new Error(`no user ${name}`)
    return row
  }

  account(name: string): AccountState {
    const { tenant, id } = this.row(name)
    return this.assembly.context.system.peek(accountAddress(tenant, id)) as AccountState
  }

  addTenant(tenantIdentifier: string, more: Partial<TenantRow> = {}): Promise<unknown> {
    const tenant = { tenantIdentifier, name: tenantIdentifier, hosts: [], twoFactor: 'optional', basic: true } as const
    return this.directory({ type: 'add_tenant', tenant: { ...tenant, ...more } })
  }

  putRole(role: string, grants: readonly Grant[], tenant = 'default'): Promise<unknown> {
    return this.tenant(tenant, { type: 'put_role', role, grants })
  }

  /** Invites a user; the default code is `code of NAME`. */
  async invite(
    name: string,
    more: { tenant?: string; roles?: readonly string[]; email?: string; code?: string } = {},
  ): Promise<void> {
    const { tenant = 'default', roles = ['viewer'], email = null, code = `code of ${name}` } = more
    const id = randomId((byteCount) => this.world.random(byteCount))
    await this.directory({
      type: 'add_user',
      user: { id, tenant, name, email, roles },
      code: { hash: hashOf(code), expiresAt: this.world.now() + 604_800_000, resetsFactors: false },
    })
  }

  /** Invites a user and signs up, by default with the common password. */
  async addUser(
    name: string,
    more: { tenant?: string; roles?: readonly string[]; email?: string; password?: string } = {},
  ): Promise<void> {
    await this.invite(name, more)
    const shown = { name, code: `code of ${name}`, password: more.password ?? password, origin }
    await this.wait(this.identity.logins.signUp(shown))
  }

  loginOf(name: string, key: KeyPair, more: Partial<LoginRequest> = {}): LoginRequest {
    return { email: name, password, jkt: key.jkt, origin, ...more }
  }

  /** Signs in with the DPoP scheme. */
  async logIn(name: string, key: KeyPair = makeKeyPair(), more: Partial<LoginRequest> = {}): Promise<TokenPair> {
    const outcome = await this.wait(this.identity.logins.logIn(this.loginOf(name, key, more)))
    if (outcome.type !== 'pair') throw new Error(`the sign-in gave no tokens, but ${outcome.type}`)
    const { accessToken, refreshToken } = outcome
    return { accessToken, refreshToken }
  }

  /** Signs in with the Basic scheme. */
  async basic(name: string, isOffline = false): Promise<{ token: string; refreshToken: string }> {
    const { token, refreshToken = '' } = await this.wait(this.identity.logins.basicToken(this.basicOf(name, isOffline)))
    return { token, refreshToken }
  }

  basicOf(name: string, isOffline = false, shown = password, from = origin) {
    const authorization = `Basic ${Buffer.from(`${name}:${shown}`).toString('base64')}`
    return { authorization, isOffline, origin: from }
  }

  /** The caller of a request with these headers. */
  async caller(shown: Shown, access: RouteAccess = 'session'): Promise<Caller> {
    const { headers = {}, host = '127.0.0.1:8080', address = '192.0.2.1', ...line } = shown
    const replyHeaders = new Map<string, string>()
    this.replyHeaders = replyHeaders
    const forwarded = { origins: [`http://${host}`], host, address }
    const addReplyHeader = (name: string, value: string) => void replyHeaders.set(name, value)
    return this.identity.authenticate(requestWith(headers, { ...line, forwarded, addReplyHeader }), access)
  }

  /** The caller of a request with this token in the Bearer scheme. */
  bearer(token: string, access?: RouteAccess): Promise<Caller> {
    return this.caller({ headers: { authorization: `Bearer ${token}` } }, access)
  }

  /** The caller of a request with this token in the DPoP scheme, and a new proof. */
  bound(token: string, key: KeyPair, access?: RouteAccess): Promise<Caller> {
    const shown = { authorization: `DPoP ${token}`, dpop: this.proof(key, { token }) }
    return this.caller({ headers: shown }, access)
  }

  proof(key: KeyPair, of: { token?: string; method?: string; path?: string } = {}): string {
    const { token, method = 'GET', path = '/api/v1/iam/me' } = of
    const nowS = () => Math.floor(this.world.now() / 1000)
    return proofOf(draftOf({ method, path, origin: baseUrl, nowS, nonce: () => this.nonce() }, key, token))
  }

  /** The nonce, as a client gets it: from the answer to a request without a proof. */
  nonce(): string {
    void this.judge(() => this.caller({ method: 'POST' }, 'proof'))
    return this.replyHeaders.get('DPoP-Nonce') ?? ''
  }

  /** The refusal as `code message`, or undefined if the task succeeds. */
  async judge(task: () => unknown): Promise<string | undefined> {
    try {
      await task()
      return undefined
    } catch (error) {
      if (error instanceof Problem) return `${error.code} ${error.message}`
      throw error
    }
  }

  /** Opens an event socket for this caller. */
  connect(caller: Caller, resume?: Resume): TestSocket {
    const { eventSocketHandler } = this.assembly
    const socket = this.sockets.add(eventSocketHandler)
    eventSocketHandler.opened(socket, { caller, filter: {}, resume })
    return socket
  }

  /** Kills the process, and starts another one with the same storage. */
  async restart(settings: Partial<IdentitySettings> = {}, writesKept = 0): Promise<IdentityFixture> {
    this.backend.crash(writesKept)
    this.world.kill()
    const { world, backend, faults } = this
    return IdentityFixture.open({ world, stored: { backend, faults }, settings })
  }

  close(): Promise<void> {
    return during(this.world, this.assembly.close())
  }
}
