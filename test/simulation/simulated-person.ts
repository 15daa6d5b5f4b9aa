import { replacedMsMax } from '#actors/session/state'
import type { Grant } from '#model/scope'
import type { Register, Version } from '#test/simulation/register'
import type { SimulatedRequest } from '#test/simulation/simulated-server'
import type { Ground, Witness } from '#test/simulation/witness'

export type PersonState = 'active' | 'disabled' | 'invited' | 'gone'
export type Roles = ReadonlyMap<string, Register<readonly Grant[]>>

/** A token says in whole seconds when it ends, and its session ends within one of them. */
const endMarginMs = 2_000
/** Of who is gone, so many are shown again. */
const overMax = 6

/** A sign-in, by all that is known of it. */
export class Session {
  id = ''
  token = ''
  /** By which it is renewed; undefined: it can't be, or somebody is at it, or nobody knows by what. */
  refreshToken: string | undefined
  /** One that was used, and until when it was good, Unix ms: of a later one nobody looks whether it was used. */
  spent: { readonly token: string; readonly until: number } | undefined
  /** Unix ms: when its newest token ends, that is known, and that there may be. */
  #endsAt = Number.POSITIVE_INFINITY
  #endsLatestAt = Number.POSITIVE_INFINITY
  #lifetimeMs = 0
  /** The access token before this one, and when its successor was received, Unix ms. */
  replaced: { readonly authorization: string; readonly at: number } | undefined
  /** Unix ms: from here on a refresh whose answer was not received may have replaced the access token. */
  #mayBeReplacedAt = Number.POSITIVE_INFINITY
  /** Edits that may have ended it. */
  doubts = 0
  isOver = false

  get isBegun(): boolean {
    return this.id !== ''
  }

  get authorization(): string {
    return `Bearer ${this.token}`
  }

  /** What was answered to signing in, or to renewing it. Gives whose it is. */
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

  /** What renews it is used. */
  spend(token: string): void {
    this.refreshToken = undefined
    this.spent = { token, until: this.#endsAt - endMarginMs }
  }

  /** It was not used after all. */
  unspend(token: string): void {
    this.refreshToken = token
    this.spent = undefined
  }

  /** Somebody asks for its next tokens: whether he hears of it or not, it may hold for longer. */
  askedAnew(now: number): void {
    this.#endsLatestAt = now + this.#lifetimeMs
    this.#mayBeReplacedAt = Math.min(this.#mayBeReplacedAt, now)
  }

  mayBeOver(now: number): boolean {
    return this.isOver || this.doubts > 0 || now > this.#endsAt - endMarginMs
  }

  /** Of its access token. */
  mayBeRefused(now: number): boolean {
    return this.mayBeOver(now) || now > this.#mayBeReplacedAt + replacedMsMax
  }

  isSurelyOver(now: number): boolean {
    return this.isOver || now > this.#endsLatestAt + endMarginMs
  }
}

/** Somebody asks for the end of these. */
export function askedToEnd(sessions: readonly Session[]): { done(): void; refused(): void } {
  // One that is being begun may come before or behind it.
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

/** Somebody who can sign in, by what was asked for him and of his roles: what he may at some moment, and what he may not. */
export class Person {
  readonly name: string
  readonly roles: Register<readonly string[]>
  readonly state: Register<PersonState>
  /** Where mail to him goes; null: nowhere. */
  readonly address: Register<string | null>
  readonly sessions = new Set<Session>()
  /** The last that are no more. */
  over: readonly Session[] = []
  /** Whether he asks for what renews his tokens. */
  readonly isOffline: boolean
  /** The resource name of the account he had when that was looked at last. */
  account = ''
  /** How often he was made anew. */
  accountCount = 0
  /** He is being disabled, deleted, made anew: one after the other. */
  isBusy = false
  /** Up to this offset what he may is as it is now, and so it is stored; undefined when anything was asked for since. */
  sameSince: number | undefined
  readonly #table: Roles
  readonly #witness: Witness

  constructor(
    name: string,
    start: {
      roles: Register<readonly string[]>
      state: Register<PersonState>
      address: Register<string | null>
      isOffline: boolean
    },
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

  /** He has an account, and is not about to lose it. */
  get isThere(): boolean {
    const { certain } = this.state
    return certain !== undefined && certain !== 'gone'
  }

  /** By which he signs in. */
  get credentials(): SimulatedRequest {
    const authorization = `Basic ${Buffer.from(`${this.name}:${passwordOf(this.name)}`).toString('base64')}`
    return { authorization, query: this.isOffline ? { scope: true } : {} }
  }

  /** The session is no more, whoever ended it. */
  forget(session: Session): void {
    this.sessions.delete(session)
    session.isOver = true
    if (session.isBegun) this.over = [...this.over, session].slice(-overMax)
  }

  /** He is about to; forgotten again when he is refused. */
  signIn(): Session {
    const session = new Session()
    this.sessions.add(session)
    return session
  }

  /** By what he may have been allowed something at some moment since: one grant is enough. */
  grounds(from: number, allows: (grants: readonly Grant[]) => boolean): readonly Ground[] {
    return this.roles.since(from).flatMap((held) =>
      held.value.flatMap((role) =>
        this.#meanings(role, from)
          .filter(({ value }) => allows(value))
          .map((meaning) => [held, meaning]),
      ),
    )
  }

  /** Whether he may have lacked something at some moment since. */
  mayLack(from: number, allows: (grants: readonly Grant[]) => boolean): boolean {
    return this.roles
      .since(from)
      .some(({ value }) => value.every((role) => this.#meanings(role, from).some((meaning) => !allows(meaning.value))))
  }

  /** Whether he may what he might at that moment, and mail goes to where it went, all the time. */
  isSteadySince(moment: number): boolean {
    return (
      [this.state, this.address].every((register) => register.isSteadySince(moment)) && this.hasSteadyRolesSince(moment)
    )
  }

  /** The same of rights alone. */
  hasSteadyRolesSince(moment: number): boolean {
    const held = (this.roles.certain ?? []).map((role) => this.#table.get(role))
    return [this.roles, ...held].every((register) => register?.isSteadySince(moment))
  }

  /** All grants that may have been held at some moment since. */
  grantsSince(from: number): readonly Grant[] {
    const roles = this.roles.since(from).flatMap(({ value }) => value)
    return roles.flatMap((role) => this.#meanings(role, from).flatMap(({ value }) => value))
  }

  mayHold(role: string): boolean {
    return this.roles.since(this.#witness.moment).some(({ value }) => value.includes(role))
  }

  /** At rest. */
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
