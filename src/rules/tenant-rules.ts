import { createHash } from 'node:crypto'
import type { StoredAlarm } from '#model/alarm'
import type { StoredGroup } from '#model/group'
import type { ServiceSchema } from '#model/service-schema'
import { AlarmRule, type EvaluationCounts, resolveNames } from '#rules/alarm-rule'
import { CompiledCondition } from '#rules/compiled-condition'
import { noRules, RuleList } from '#rules/rule-list'
import {
  type AuthorReach,
  TenantView,
  type TenantViewParts,
  TenantViews,
  type TenantViewsParts,
} from '#rules/tenant-views'

/** A tenant's stored alarms and their inputs. */
export interface StoredRules {
  readonly alarms: ReadonlyMap<string, StoredAlarm>
  readonly groups: ReadonlyMap<string, StoredGroup>
  readonly schemas: ReadonlyMap<string, ServiceSchema>
}

interface AlarmView {
  readonly stored: StoredAlarm
  readonly rule: AlarmRule
  readonly reach: AuthorReach
  readonly isSilent: boolean
  readonly everywhere: AlarmRule | undefined
  readonly digest: string
}

interface TenantRulesParts extends TenantViewParts {
  readonly counts: EvaluationCounts
}

/** Updated after each commit; each update returns the ids of the alarms whose evaluations may differ from before. */
export class TenantRules extends TenantView<StoredRules, AlarmView, AlarmRule, RuleList> {
  readonly #schemas = new Map<string, ServiceSchema>()
  readonly #counts: EvaluationCounts

  constructor(parts: TenantRulesParts) {
    super(parts)
    this.#counts = parts.counts
  }

  /** A digest of all inputs of this alarm's evaluations; undefined if there is no such alarm. */
  digestOf(alarm: string): string | undefined {
    return this.views.get(alarm)?.digest
  }

  /** The devices to which an alarm is bound, for any author: a list of lists, or all. */
  boundOf(alarm: string): readonly (readonly string[])[] | '*' | undefined {
    const view = this.views.get(alarm)
    return view && this.bindings.boundOf(view.stored)
  }

  alarmIds(): Iterable<string> {
    return this.views.keys()
  }

  load({ alarms, groups, schemas }: StoredRules): void {
    for (const [service, schema] of schemas) this.#schemas.set(service, schema)
    this.bindings.load([...alarms], groups)
    for (const [id, stored] of alarms) this.views.set(id, this.#viewOf(id, stored, undefined))
    this.publish()
  }

  /** @returns whether evaluations of the alarm may differ from before. */
  alarmChanged(id: string, stored: StoredAlarm | undefined): boolean {
    const before = this.views.get(id)
    this.bindings.bind(id, before?.stored, stored)
    if (stored) this.views.set(id, this.#viewOf(id, stored, before))
    else this.views.delete(id)
    this.publish()
    return before?.digest !== this.digestOf(id)
  }

  /** @returns the alarms that name the group, if their evaluations may differ from before. */
  groupChanged(id: string, stored: StoredGroup | undefined): readonly string[] {
    return this.#renew(this.bindings.groupChanged(id, stored))
  }

  /** @returns the alarms whose meaning changes. */
  schemaChanged(service: string, schema: ServiceSchema | undefined): readonly string[] {
    if (schema) this.#schemas.set(service, schema)
    else this.#schemas.delete(service)
    return this.#renew(this.#alarmsWhere(({ stored }) => stored.serviceIdentifier === service))
  }

  /** @returns the alarms whose authors may read their services on other devices than before. */
  accessChanged(): readonly string[] {
    // There may be ten thousand alarms, and most of their authors are unaffected.
    return this.#renew(this.#alarmsWhere(({ stored, reach }) => this.#reachOf(stored).digest !== reach.digest))
  }

  #alarmsWhere(isWanted: (view: AlarmView) => boolean): readonly string[] {
    return [...this.views].filter(([, view]) => isWanted(view)).map(([id]) => id)
  }

  /** Recomputes these alarms and returns the changed ones. */
  #renew(alarms: readonly string[]): readonly string[] {
    const changed = alarms.filter((id) => {
      const before = this.views.get(id) as AlarmView
      const after = this.#viewOf(id, before.stored, before)
      if (after.digest !== before.digest) this.views.set(id, after)
      return after.digest !== before.digest
    })
    if (changed.length > 0) this.publish()
    return changed
  }

  #viewOf(id: string, stored: StoredAlarm, before: AlarmView | undefined): AlarmView {
    const schema = this.#schemas.get(stored.serviceIdentifier)
    const old = before?.stored === stored ? before.rule : undefined
    const resolved = resolveNames(old?.resolved.condition ?? new CompiledCondition(stored.condition), schema)
    const isSame = old?.resolved.text === resolved.text
    const rule =
      old && isSame ? old : new AlarmRule(stored, { id, serial: this.parts.next(), resolved, counts: this.#counts })
    const reach = this.#reachOf(stored)
    if (reach.isNothing && !before?.reach.isNothing) this.parts.reportSilenced(id, stored)
    return {
      stored,
      rule,
      reach,
      isSilent: reach.isNothing,
      everywhere: reach.isWhole ? rule : undefined,
      digest: this.#digest(stored, rule, reach),
    }
  }

  #reachOf({ updatedBy, serviceIdentifier }: StoredAlarm): AuthorReach {
    return this.parts.reaches.of(updatedBy, 'service', serviceIdentifier)
  }

  #digest({ edit, groups, forSeconds }: StoredAlarm, rule: AlarmRule, reach: AuthorReach): string {
    const edits = (groups ?? []).map((group) => [group, this.bindings.editOf(group) ?? null])
    const decides = JSON.stringify([edit, forSeconds, edits, rule.resolved.text, reach.digest])
    return createHash('sha256').update(decides).digest('base64url').slice(0, digestCharacters)
  }

  protected ruleOn({ reach, rule }: AlarmView, device: string): AlarmRule | undefined {
    return reach.holds(device) ? rule : undefined
  }

  protected keyOf({ serial }: AlarmRule): string {
    return String(serial)
  }

  protected listFrom(rules: readonly AlarmRule[]): RuleList {
    return rules.length === 0 ? noRules : new RuleList(rules)
  }
}

/** 22 characters in base64url are 132 bits. */
const digestCharacters = 22

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
