import type { StoredAlarm } from '#model/alarm'
import type { StoredGroup } from '#model/group'
import type { Scope } from '#model/scope'
import type { ServiceSchema } from '#model/service-schema'
import { AuthorReaches } from '#rules/author-reach'
import type { RunInSlices } from '#rules/bindings'
import { turnUnitsMax } from '#rules/rule-budget'
import { type StoredRules, TenantRules } from '#rules/tenant-rules'

export interface RuleViewsParts {
  /** The current permissions of an author, by resource name; empty for a deleted author. */
  scopeOf(tenant: string, author: string): Scope
  /** Called for an alarm that must be evaluated again on its devices, or whose state must be removed from them. */
  sweep(tenant: string, alarm: string): void
  readonly runInSlices: RunInSlices
  readonly log: { info(fields: object, message: string): void }
}

export interface LoadedRules extends StoredRules {
  readonly tenant: string
}

/**
 * The rules of all tenants. Loaded when the server starts, and updated after each commit in the order of commits, so
 * that every published evaluation is based on stored rules.
 *
 * `sweep` is called for every alarm whose evaluations may have changed. The first loading does not call it, because the
 * sweeper then compares `digestOf` with its stored progress.
 */
export class RuleViews {
  readonly #parts: RuleViewsParts
  readonly #views = new Map<string, { readonly view: TenantRules; readonly reaches: AuthorReaches }>()
  /** Tenants with alarms. */
  readonly #active = new Map<string, TenantRules>()
  /**
   * The last number of a version or rule. Numbers are unique across tenants and reloads, because versions and rules are
   * compared by them.
   */
  #last = 0
  #isLoaded = false
  /** By tenant: the version of its rules when skipped rules were last logged. */
  readonly #loggedAt = new Map<string, number>()
  /** Counts since the start. Device turns count `transitions`. */
  readonly counts = { evaluated: 0, errors: 0, transitions: 0 }

  constructor(parts: RuleViewsParts) {
    this.#parts = parts
  }

  /** False until the first `load`; nothing is evaluated before. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Undefined for a tenant without alarms. */
  of(tenant: string): TenantRules | undefined {
    return this.#active.get(tenant)
  }

  /** Also for tenants without alarms, because groups do not depend on alarms. */
  membersOf(tenant: string, group: string): readonly string[] | undefined {
    return this.#views.get(tenant)?.view.membersOf(group)
  }

  /**
   * Logs that rules of a device were skipped in a turn: once until the tenant's rules change, because it may happen in
   * every turn.
   */
  skipped(tenant: string, device: string, { count, ids }: { readonly count: number; readonly ids: readonly string[] }) {
    const version = this.#active.get(tenant)?.version
    if (version === undefined || version === this.#loggedAt.get(tenant)) return
    this.#loggedAt.set(tenant, version)
    this.#parts.log.info(
      { tenant, device, alarms: ids, count, unitsMax: turnUnitsMax },
      'alarms of a device cost more than their share of a turn: some were not evaluated and keep their state',
    )
  }

  /** Loads everything, when the server starts and after the store was read again. */
  load(tenants: Iterable<LoadedRules>): void {
    const before = this.#isLoaded ? new Map(this.#active) : undefined
    this.#views.clear()
    this.#active.clear()
    this.#isLoaded = true
    for (const stored of tenants) {
      const { view } = this.#entryOf(stored.tenant)
      view.load(stored)
      this.#settle(stored.tenant, view, [])
    }
    if (before) this.#sweepOthers(before)
  }

  /** `stored` undefined: the alarm was deleted. */
  alarmChanged(tenant: string, id: string, stored: StoredAlarm | undefined): void {
    this.#change(tenant, (view) => (view.alarmChanged(id, stored) ? [id] : []))
  }

  /** `stored` undefined: the group was deleted. */
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void {
    this.#change(tenant, (view) => view.groupChanged(id, stored))
  }

  /** `schema` undefined: the schema was deleted. */
  schemaChanged(tenant: string, service: string, schema: ServiceSchema | undefined): void {
    this.#change(tenant, (view) => view.schemaChanged(service, schema))
  }

  /** The permissions of a user of the tenant have changed. */
  accessChanged(tenant: string): void {
    if (this.#active.has(tenant)) this.#change(tenant, (view) => view.accessChanged())
  }

  /** The tenant was deleted with its devices. */
  tenantEnded(tenant: string): void {
    this.#views.delete(tenant)
    this.#active.delete(tenant)
    this.#loggedAt.delete(tenant)
  }

  /** Sweeps every alarm whose evaluations differ from those of the previous views. */
  #sweepOthers(before: ReadonlyMap<string, TenantRules>): void {
    for (const tenant of new Set([...before.keys(), ...this.#active.keys()])) {
      const views = [before.get(tenant), this.#active.get(tenant)]
      const [old, now] = views
      for (const id of new Set(views.flatMap((view) => [...(view?.alarmIds() ?? [])]))) {
        if (old?.digestOf(id) !== now?.digestOf(id)) this.#parts.sweep(tenant, id)
      }
    }
  }

  /** Changes before the first loading are part of the loaded state. */
  #change(tenant: string, change: (view: TenantRules) => readonly string[]): void {
    if (!this.#isLoaded) return
    const { view, reaches } = this.#entryOf(tenant)
    // Not cached across changes: permissions of another author may have changed although no notice has arrived yet.
    reaches.forget()
    this.#settle(tenant, view, change(view))
  }

  #settle(tenant: string, view: TenantRules, changed: readonly string[]): void {
    if (view.isWithoutAlarms) this.#active.delete(tenant)
    else this.#active.set(tenant, view)
    for (const id of changed) this.#parts.sweep(tenant, id)
  }

  #entryOf(tenant: string): { readonly view: TenantRules; readonly reaches: AuthorReaches } {
    const known = this.#views.get(tenant)
    if (known) return known
    const reaches = new AuthorReaches((author) => this.#parts.scopeOf(tenant, author))
    const view = new TenantRules({
      reaches,
      runInSlices: this.#parts.runInSlices,
      counts: this.counts,
      next: () => ++this.#last,
      reportSilenced: (alarm, { updatedBy }) =>
        this.#parts.log.info(
          { tenant, alarm, author: updatedBy },
          'the author of an alarm may no longer read its service: the alarm is not evaluated until a user changes it',
        ),
    })
    const entry = { view, reaches }
    this.#views.set(tenant, entry)
    return entry
  }
}
