import { createHash } from 'node:crypto'
import { includesName, unionOf } from '#model/device-names'
import { getOrInsert } from '#model/map-values'
import type { Resource, Scope } from '#model/scope'
import { RuleBindings, type RunInSlices } from '#rules/bindings'
import { turnUnitsMax } from '#rules/rule-budget'
import { InternedLists } from '#rules/rule-list'

export interface TenantViewsParts {
  /** The current permissions of an author, by resource name; empty for a deleted author. */
  scopeOf(tenant: string, author: string): Scope
  readonly runInSlices: RunInSlices
  readonly log: { info(fields: object, message: string): void }
}

export interface TenantViewParts {
  readonly reaches: AuthorReaches
  readonly runInSlices: RunInSlices
  /** A number that was never used before. */
  next(): number
  /** Called for a rule whose author can read its data on no device, so that it has no effect. */
  reportSilenced(id: string, stored: { readonly updatedBy: string }): void
}

/** A rule, with values that are computed once. */
interface ComputedRule<Rule> {
  /** The author can read its data on no device. */
  readonly isSilent: boolean
  /** Set if the rule is the same on all devices that it is bound to. */
  readonly everywhere: Rule | undefined
}

/** The rules of the devices of a profile. */
interface ProfileRules<Computed, List> {
  /** In the order of their ids, without silent rules. */
  readonly views: readonly Computed[]
  /** The list of these rules, if each is the same on every device. */
  readonly list: List | undefined
}

/** The alarms or the functions of one tenant, as device turns read them: only committed state. */
export abstract class TenantView<Stored, Computed extends ComputedRule<Rule>, Rule, List> {
  protected readonly parts: TenantViewParts
  protected readonly views = new Map<string, Computed>()
  protected readonly bindings: RuleBindings<ProfileRules<Computed, List>>
  readonly #lists = new InternedLists<List>()
  #version: number

  constructor(parts: TenantViewParts) {
    this.parts = parts
    this.bindings = new RuleBindings(parts.runInSlices)
    this.#version = parts.next()
  }

  /** Loads everything into an empty view. */
  abstract load(stored: Stored): void
  protected abstract ruleOn(computed: Computed, device: string): Rule | undefined
  /** Equal keys mean equal rules. */
  protected abstract keyOf(rule: Rule): string
  protected abstract listFrom(rules: readonly Rule[]): List

  /** Raised whenever a list may change; never reused for this tenant. */
  get version(): number {
    return this.#version
  }

  /** Whether the view has no rule that a device turn could read. */
  get isIdle(): boolean {
    return this.views.size === 0
  }

  /** The rules of a device: those bound to it whose authors may read their data there. */
  listOf(device: string): List {
    const profile = this.bindings.profileOf(device)
    if (profile.cachedAt !== this.#version) {
      const computed = this.bindings.rulesOf(profile).map((id) => this.views.get(id) as Computed)
      const views = computed.filter(({ isSilent }) => !isSilent)
      const rules = views.flatMap(({ everywhere }) => everywhere ?? [])
      profile.cached = { views, list: rules.length === views.length ? this.#listOf(rules) : undefined }
      profile.cachedAt = this.#version
    }
    const { views, list } = profile.cached as ProfileRules<Computed, List>
    return list ?? this.#listOf(views.flatMap((view) => view.everywhere ?? this.ruleOn(view, device) ?? []))
  }

  membersOf(group: string): readonly string[] | undefined {
    return this.bindings.membersOf(group)
  }

  protected publish(): void {
    this.#lists.sweep(this.#version)
    this.#version = this.parts.next()
  }

  #listOf(rules: readonly Rule[]): List {
    const key = rules.map((rule) => this.keyOf(rule)).join()
    return this.#lists.of(key, this.#version, () => this.listFrom(rules))
  }
}

interface RuleWords {
  /** The names of the log fields with one id, and with several ids. */
  readonly one: string
  readonly many: string
  /** The log messages. */
  readonly skipped: string
  readonly silenced: string
}

type Loadable<Stored> = Pick<TenantView<Stored, never, never, unknown>, 'version' | 'isIdle' | 'membersOf' | 'load'>

/**
 * The views of all tenants of one kind of rules: alarms or functions. Loaded when the server starts, and updated after
 * each commit in the order of commits, so that device turns read only committed state.
 */
export abstract class TenantViews<Stored, View extends Loadable<Stored>> {
  /** The views that are not idle, by tenant. */
  protected readonly active = new Map<string, View>()
  readonly #parts: TenantViewsParts
  readonly #words: RuleWords
  readonly #entries = new Map<string, { readonly view: View; readonly reaches: AuthorReaches }>()
  /**
   * The last number of a version or rule. Numbers are unique across tenants and reloads, because versions and rules are
   * compared by them.
   */
  #last = 0
  #isLoaded = false
  /** By tenant: the version of its rules when skipped rules were last logged. */
  readonly #loggedAt = new Map<string, number>()

  constructor(parts: TenantViewsParts, words: RuleWords) {
    this.#parts = parts
    this.#words = words
  }

  protected abstract newView(parts: TenantViewParts): View

  /** False until the first `load`; no rule is evaluated or run before that. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Undefined for a tenant without alarms, or without enabled functions. */
  of(tenant: string): View | undefined {
    return this.active.get(tenant)
  }

  /** Also for idle views, because groups do not depend on rules. */
  membersOf(tenant: string, group: string): readonly string[] | undefined {
    return this.viewOf(tenant)?.membersOf(group)
  }

  /**
   * Logs that rules of a device were skipped in a turn: once until the tenant's rules change, because it may happen in
   * every turn.
   */
  skipped(tenant: string, device: string, { count, ids }: { readonly count: number; readonly ids: readonly string[] }) {
    const version = this.of(tenant)?.version
    if (version === undefined || version === this.#loggedAt.get(tenant)) return
    this.#loggedAt.set(tenant, version)
    const { many, skipped } = this.#words
    this.#parts.log.info({ tenant, device, [many]: ids, count, unitsMax: turnUnitsMax }, skipped)
  }

  /** Loads everything, when the server starts and after the store was read again. */
  load(tenants: Iterable<Stored & { readonly tenant: string }>): void {
    this.#entries.clear()
    this.active.clear()
    this.#isLoaded = true
    for (const stored of tenants) {
      const { view } = this.#entryOf(stored.tenant)
      view.load(stored)
      this.#settle(stored.tenant, view)
    }
  }

  /** The tenant was deleted with its devices. */
  tenantEnded(tenant: string): void {
    this.#entries.delete(tenant)
    this.active.delete(tenant)
    this.#loggedAt.delete(tenant)
  }

  /** Also an idle view. */
  protected viewOf(tenant: string): View | undefined {
    return this.#entries.get(tenant)?.view
  }

  /** Does nothing before the first loading, because the loaded state contains the change. */
  protected change<Result>(tenant: string, change: (view: View) => Result): Result | undefined {
    if (!this.#isLoaded) return undefined
    const { view, reaches } = this.#entryOf(tenant)
    // Not cached across changes: permissions of another author may have changed although no notice has arrived yet.
    reaches.forget()
    const result = change(view)
    this.#settle(tenant, view)
    return result
  }

  #settle(tenant: string, view: View): void {
    if (view.isIdle) this.active.delete(tenant)
    else this.active.set(tenant, view)
  }

  #entryOf(tenant: string): { readonly view: View; readonly reaches: AuthorReaches } {
    const known = this.#entries.get(tenant)
    if (known) return known
    const { one, silenced } = this.#words
    const reaches = new AuthorReaches((author) => this.#parts.scopeOf(tenant, author))
    const view = this.newView({
      reaches,
      runInSlices: this.#parts.runInSlices,
      next: () => ++this.#last,
      reportSilenced: (id, { updatedBy }) => this.#parts.log.info({ tenant, [one]: id, author: updatedBy }, silenced),
    })
    const entry = { view, reaches }
    this.#entries.set(tenant, entry)
    return entry
  }
}

/**
 * The devices on which an author may read a service or another resource. An alarm or function counts only for devices
 * on which its author could read the same data directly. Contract 5.1.
 */
export interface AuthorReach {
  readonly isWhole: boolean
  readonly isNothing: boolean
  /** Equal if the devices are equal. */
  readonly digest: string
  holds(device: string): boolean
}

const whole: AuthorReach = { isWhole: true, isNothing: false, digest: '*', holds: () => true }
const nothing: AuthorReach = { isWhole: false, isNothing: true, digest: '', holds: () => false }

function reachOfAuthor(scope: Scope, resource: Resource, service?: string): AuthorReach {
  const all = scope.reaches(resource, 'read')
  const reaches = service === undefined ? all : all.filter(({ services }) => includesName(services, service))
  if (reaches.some(({ devices }) => devices === '*')) return whole
  const { names, prefixes } = unionOf(reaches)
  if (names.size + prefixes.length === 0) return nothing
  const terms = [...names, ...prefixes.map((prefix) => `${prefix}*`)].sort()
  return {
    isWhole: false,
    isNothing: false,
    digest: createHash('sha256').update(terms.join(' ')).digest('base64url'),
    holds: (device) => names.has(device) || prefixes.some((prefix) => device.startsWith(prefix)),
  }
}

/**
 * Caches the reaches of authors: each is computed once, because thousands of alarms have few authors. `forget` must be
 * called after a change of permissions.
 */
export class AuthorReaches {
  readonly #scopeOf: (author: string) => Scope
  readonly #scopes = new Map<string, Scope>()
  readonly #known = new Map<Scope, Map<string, AuthorReach>>()

  constructor(scopeOf: (author: string) => Scope) {
    this.#scopeOf = scopeOf
  }

  of(author: string, resource: Resource, service?: string): AuthorReach {
    const scope = getOrInsert(this.#scopes, author, () => this.#scopeOf(author))
    const reaches = getOrInsert(this.#known, scope, () => new Map())
    const asked = service === undefined ? resource : `${resource} ${service}`
    return getOrInsert(reaches, asked, () => reachOfAuthor(scope, resource, service))
  }

  forget(): void {
    this.#scopes.clear()
    this.#known.clear()
  }
}
