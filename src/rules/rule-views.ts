import type { StoredAlarm } from '#model/alarm'
import type { StoredGroup } from '#model/group'
import type { ServiceSchema } from '#model/service-schema'
import { type StoredRules, TenantRules } from '#rules/tenant-rules'
import { type TenantViewParts, TenantViews, type TenantViewsParts } from '#rules/tenant-views'

interface RuleViewsParts extends TenantViewsParts {
  /** Called for an alarm that must be evaluated again on its devices, or whose state must be removed from them. */
  sweep(tenant: string, alarm: string): void
}

/**
 * The alarms of all tenants. Device turns read only committed alarms, so every published evaluation is based on stored
 * ones.
 *
 * `sweep` is called for every alarm whose evaluations may have changed. The first loading does not call it, because the
 * sweeper then compares `digestOf` with its stored progress.
 */
export class RuleViews extends TenantViews<StoredRules, TenantRules> {
  readonly #sweep: RuleViewsParts['sweep']
  /** Counts since the start. Device turns count `transitions`. */
  readonly counts = { evaluated: 0, errors: 0, transitions: 0 }

  constructor(parts: RuleViewsParts) {
    super(parts, {
      one: 'alarm',
      many: 'alarms',
      skipped: 'alarms of a device cost more than their share of a turn: some were not evaluated and keep their state',
      silenced:
        'the author of an alarm may no longer read its service: the alarm is not evaluated until a user changes it',
    })
    this.#sweep = parts.sweep
  }

  override load(tenants: Iterable<StoredRules & { readonly tenant: string }>): void {
    const before = this.isLoaded ? new Map(this.active) : undefined
    super.load(tenants)
    if (before) this.#sweepOthers(before)
  }

  /** `stored` undefined: the alarm was deleted. */
  alarmChanged(tenant: string, id: string, stored: StoredAlarm | undefined): void {
    this.#changeAndSweep(tenant, (view) => (view.alarmChanged(id, stored) ? [id] : []))
  }

  /** `stored` undefined: the group was deleted. */
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void {
    this.#changeAndSweep(tenant, (view) => view.groupChanged(id, stored))
  }

  /** `schema` undefined: the schema was deleted. */
  schemaChanged(tenant: string, service: string, schema: ServiceSchema | undefined): void {
    this.#changeAndSweep(tenant, (view) => view.schemaChanged(service, schema))
  }

  /** The permissions of a user of the tenant have changed. */
  accessChanged(tenant: string): void {
    if (this.of(tenant)) this.#changeAndSweep(tenant, (view) => view.accessChanged())
  }

  protected newView(parts: TenantViewParts): TenantRules {
    return new TenantRules({ ...parts, counts: this.counts })
  }

  #changeAndSweep(tenant: string, change: (view: TenantRules) => readonly string[]): void {
    for (const id of this.change(tenant, change) ?? []) this.#sweep(tenant, id)
  }

  /** Sweeps every alarm whose evaluations differ from those of the previous views. */
  #sweepOthers(before: ReadonlyMap<string, TenantRules>): void {
    for (const tenant of new Set([...before.keys(), ...this.active.keys()])) {
      const views = [before.get(tenant), this.of(tenant)]
      const [old, now] = views
      for (const id of new Set(views.flatMap((view) => [...(view?.alarmIds() ?? [])]))) {
        if (old?.digestOf(id) !== now?.digestOf(id)) this.#sweep(tenant, id)
      }
    }
  }
}
