import { replacedMsMax } from '#actors/session/state'
import type { Grant } from '#model/scope'
import type { Register, Version } from '#test/simulation/register'
import type { SimulatedRequest } from '#test/simulation/simulated-server'
import type { Ground, Witness } from '#test/simulation/witness'

export type PersonState = 'active' | 'disabled' | 'invited' | 'gone'
export type Roles = ReadonlyMap<string, Register<readonly Grant[]>>

/** A token has its expiry in whole seconds, and its session ends within one of them. */
const endMarginMs = 2_000
/** The number of tokens of ended sessions that are tried again. */
const overMax = 6

/** A session with everything known about it. */
export class Session {
  id = ''
  token = ''
  /** The refresh token; undefined: none, in use, or unknown. */
  refreshToken: string | undefined
  /** A used refresh token and its expiry, Unix ms: later ones are not tracked. */
  spent: { readonly token: string; readonly until: number } | undefined
  /** Unix ms: the known expiry of its newest token. */
  #endsAt = Number.POSITIVE_INFINITY
  /** Unix ms: the latest possible expiry of its newest token. */
  #endsLatestAt = Number.POSITIVE_INFINITY
  #lifetimeMs = 0
  /** The previous access token, and when its successor was received, Unix ms. */
  replaced: { readonly authorization: string; readonly at: number } | undefined
  /** Unix ms: from here on a refresh without a received answer may have replaced the access token. */
  #mayBeReplacedAt = Number.POSITIVE_INFINITY
  /** The number of requests that may have ended it. */
  doubts = 0
  isOver = false

  get isBegun(): boolean {
    return this.id !== ''
  }

  get authorization(): string {
    return `Bearer ${this.token}`
  }

  /** Reads the answer to a sign-in or a refresh. Returns the account. */
  begun(answered: string, now: number): string {
    const { token, refreshToken } = JSON.parse(answered)
    const { sub, sid, exp } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
    if (this.isBegun) this.replaced = { authorization: this.authorization, at: now }
    this.#mayBeReplacedAt = Number.POSITIVE_INFINITY
    this.id = sid
    this.token = token
    this.refreshToken = refreshToken
    this.#endsAt = exp * 1000
    this.#endsLatestAt = this.#endsAt
    this.#lifetimeMs = this.#endsAt - now
    return sub
  }

  /** Takes the refresh token. */
  spend(token: string): void {
    this.refreshToken = undefined
    this.spent = { token, until: this.#endsAt - endMarginMs }
  }

  /** The refresh token was not used after all. */
  unspend(token: string): void {
    this.refreshToken = token
    this.spent = undefined
  }

  /** A refresh was requested: with or without an answer, the session may last longer. */
  refreshRequested(now: number): void {
    this.#endsLatestAt = now + this.#lifetimeMs
    this.#mayBeReplacedAt = Math.min(this.#mayBeReplacedAt, now)
  }

  mayBeOver(now: number): boolean {
    return this.isOver || this.doubts > 0 || now > this.#endsAt - endMarginMs
  }

  /** Concerns the access token. */
  mayBeRefused(now: number): boolean {
    return this.mayBeOver(now) || now > this.#mayBeReplacedAt + replacedMsMax
  }

  isSurelyOver(now: number): boolean {
    return this.isOver || now > this.#endsLatestAt + endMarginMs
  }
}

/** The end of these sessions was requested. */
export function endRequested(sessions: readonly Session[]): { done(): void; refused(): void } {
  // A session that is being created may come before or after it.
  const ended = sessions.filter(({ isBegun }) => isBegun)
  for (const session of sessions) session.doubts++
  return {
    done() {
      for (const session of ended) session.isOver = true
    },
    refused() {
      for (const session of sessions) session.doubts--
    },
  }
}

/** A user who can sign in. The requested changes of account and roles decide what may be allowed at a moment. */
export class Person {
  readonly name: string
  readonly roles: Register<readonly string[]>
  readonly state: Register<PersonState>
  /** The mail address; null: none. */
  readonly address: Register<string | null>
  readonly sessions = new Set<Session>()
  /** The last ended sessions. */
  over: readonly Session[] = []
  /** Whether the user requests refresh tokens. */
  readonly isOffline: boolean
  /** The resource name of the account at the last check. */
  account = ''
  /** How often the account was created again. */
  accountCount = 0
  /** Whether a change of the account's state is pending. */
  isBusy = false
  /** Since this offset of the stream the permissions are unchanged; undefined after a further change was requested. */
  sameSince: number | undefined
  readonly #table: Roles
  readonly #witness: Witness

  constructor(
    name: string,
    start: Pick<Person, 'roles' | 'state' | 'address' | 'isOffline'>,
    table: Roles,
    witness: Witness,
  ) {
    this.name = name
    this.isOffline = start.isOffline
    this.roles = start.roles
    this.state = start.state
    this.address = start.address
    this.#table = table
    this.#witness = witness
  }

  get isActive(): boolean {
    return this.state.certain === 'active'
  }

  /** The account exists and no deletion is requested. */
  get isThere(): boolean {
    const { certain } = this.state
    return certain !== undefined && certain !== 'gone'
  }

  /** The request to sign in. */
  get credentials(): SimulatedRequest {
    const authorization = `Basic ${Buffer.from(`${this.name}:${passwordOf(this.name)}`).toString('base64')}`
    return { authorization, query: this.isOffline ? { scope: true } : {} }
  }

  /** The session ended, for any reason. */
  forget(session: Session): void {
    this.sessions.delete(session)
    session.isOver = true
    if (session.isBegun) this.over = [...this.over, session].slice(-overMax)
  }

  /** Adds a session that is about to be requested. */
  signIn(): Session {
    const session = new Session()
    this.sessions.add(session)
    return session
  }

  /** The grants that may have allowed something at some moment since `from`: one suffices. */
  grounds(from: number, allows: (grants: readonly Grant[]) => boolean): readonly Ground[] {
    return this.roles.since(from).flatMap((held) =>
      held.value.flatMap((role) =>
        this.#meanings(role, from)
          .filter(({ value }) => allows(value))
          .map((meaning) => [held, meaning]),
      ),
    )
  }

  /** Whether the permission may have been missing at some moment since `from`. */
  mayLack(from: number, allows: (grants: readonly Grant[]) => boolean): boolean {
    return this.roles
      .since(from)
      .some(({ value }) => value.every((role) => this.#meanings(role, from).some((meaning) => !allows(meaning.value))))
  }

  /** Whether the state, the permissions and the mail address are unchanged since this moment. */
  isSteadySince(moment: number): boolean {
    return (
      [this.state, this.address].every((register) => register.isSteadySince(moment)) && this.hasSteadyRolesSince(moment)
    )
  }

  /** Whether the roles and their grants are unchanged since this moment. */
  hasSteadyRolesSince(moment: number): boolean {
    const held = (this.roles.certain ?? []).map((role) => this.#table.get(role))
    return [this.roles, ...held].every((register) => register?.isSteadySince(moment))
  }

  /** All grants that the user may have had at some moment since `from`. */
  grantsSince(from: number): readonly Grant[] {
    const roles = this.roles.since(from).flatMap(({ value }) => value)
    return roles.flatMap((role) => this.#meanings(role, from).flatMap(({ value }) => value))
  }

  mayHold(role: string): boolean {
    return this.roles.since(this.#witness.moment).some(({ value }) => value.includes(role))
  }

  /** Call at rest. */
  get grants(): readonly Grant[] {
    return (this.roles.certain ?? []).flatMap((role) => this.#table.get(role)?.certain ?? [])
  }

  #meanings(role: string, from: number): readonly Version<readonly Grant[]>[] {
    return this.#table.get(role)?.since(from) ?? []
  }
}

export function passwordOf(name: string): string {
  return `the password of ${name}`
}
