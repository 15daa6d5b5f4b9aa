import type { Grant } from '#model/scope'
import type { Register, Version } from '#test/simulation/register'
import type { Ground, Witness } from '#test/simulation/witness'

export type PersonState = 'active' | 'disabled' | 'invited' | 'gone'
export type Roles = ReadonlyMap<string, Register<readonly Grant[]>>

/** A token says in whole seconds when it ends, and its session ends within one of them. */
const endMarginMs = 2_000

/** A sign-in, by all that is known of it. */
export class Session {
  id = ''
  token = ''
  /** Unix ms. */
  #endsAt = Number.POSITIVE_INFINITY
  /** Edits that may have ended it. */
  doubts = 0
  isOver = false

  get isBegun(): boolean {
    return this.id !== ''
  }

  begun(id: string, token: string, endsAt: number): void {
    this.id = id
    this.token = token
    this.#endsAt = endsAt
  }

  mayBeOver(now: number): boolean {
    return this.isOver || this.doubts > 0 || now > this.#endsAt - endMarginMs
  }

  isSurelyOver(now: number): boolean {
    return this.isOver || now > this.#endsAt + endMarginMs
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
    start: { roles: Register<readonly string[]>; state: Register<PersonState>; address: Register<string | null> },
    table: Roles,
    witness: Witness,
  ) {
    this.name = name
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

  get authorization(): string {
    return `Basic ${Buffer.from(`${this.name}:${passwordOf(this.name)}`).toString('base64')}`
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
    const held = (this.roles.certain ?? []).map((role) => this.#table.get(role))
    return [this.roles, this.state, this.address, ...held].every((register) => register?.isSteadySince(moment))
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
