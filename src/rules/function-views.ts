import { storedRequestsMax } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { Scope } from '#model/scope'
import type { StoredTemplate } from '#model/template'
import { AuthorReaches } from '#rules/author-reach'
import type { RunInSlices } from '#rules/bindings'
import { noFunctionCounts } from '#rules/function-counts'
import { Overflows, rateOfAll, rateOfFunction, webhookRateOfFunction, webhookRateOfTenant } from '#rules/request-rate'
import { turnUnitsMax } from '#rules/rule-budget'
import { TenantFunctions } from '#rules/tenant-functions'

export interface FunctionViewsParts {
  /** The maximum number of mails to one subscriber in an hour. It determines the rate of requests. */
  readonly mailsPerHourMax: number
  /** Maximum number of stored requests of one function. Default: derived from `mailsPerHourMax`. */
  readonly storedRequestsMax?: number
  /** The current permissions of an author, by resource name; empty for a deleted author. */
  scopeOf(tenant: string, author: string): Scope
  readonly runInSlices: RunInSlices
  readonly log: { info(fields: object, message: string): void }
}

/** The stored functions of a tenant and their inputs. */
export interface LoadedFunctions {
  readonly tenant: string
  readonly functions: ReadonlyMap<string, StoredFunction>
  readonly templates: ReadonlyMap<string, StoredTemplate>
  readonly groups: ReadonlyMap<string, StoredGroup>
}

interface TenantEntry {
  readonly view: TenantFunctions
  readonly reaches: AuthorReaches
  readonly templates: Map<string, StoredTemplate>
}

/**
 * The functions of all tenants. Loaded when the server starts, and updated after each commit, in the order of commits.
 * Separate from the alarms: a function reacts to events and not to states, so an edit requires no new evaluation.
 */
export class FunctionViews {
  readonly #parts: FunctionViewsParts
  readonly #tenants = new Map<string, TenantEntry>()
  /** Tenants with enabled functions. */
  readonly #active = new Map<string, TenantFunctions>()
  /** The rate for mails of all functions of all tenants together. */
  readonly #rate = rateOfAll()
  /**
   * The last number of a version or rule. Numbers are unique across tenants and reloads, because versions and rules are
   * compared by them.
   */
  #last = 0
  #isLoaded = false
  /** By tenant: the version of its functions at the last log of skipped runs. */
  readonly #loggedAt = new Map<string, number>()
  readonly overflows = new Overflows()
  /** Counted by device turns. */
  readonly counts = noFunctionCounts()

  constructor(parts: FunctionViewsParts) {
    this.#parts = parts
  }

  /** False until the first `load`; no function runs before. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Undefined for a tenant without enabled functions. */
  of(tenant: string): TenantFunctions | undefined {
    return this.#active.get(tenant)
  }

  /**
   * Logs that functions of a device were skipped: once until the tenant's functions change, because it may happen in
   * every turn.
   */
  skipped(tenant: string, device: string, { count, ids }: { readonly count: number; readonly ids: readonly string[] }) {
    const version = this.#active.get(tenant)?.version
    if (version === undefined || version === this.#loggedAt.get(tenant)) return
    this.#loggedAt.set(tenant, version)
    this.#parts.log.info(
      { tenant, device, functions: ids, count, unitsMax: turnUnitsMax },
      'functions of a device cost more than their share of a turn: some were not run',
    )
  }

  storedOf(tenant: string, fn: string): StoredFunction | undefined {
    return this.#tenants.get(tenant)?.view.storedOf(fn)
  }

  templateOf(tenant: string, name: string): StoredTemplate | undefined {
    return this.#tenants.get(tenant)?.templates.get(name)
  }

  membersOf(tenant: string, group: string): readonly string[] | undefined {
    return this.#tenants.get(tenant)?.view.membersOf(group)
  }

  /** Loads everything, when the server starts and after the store was read again. */
  load(tenants: Iterable<LoadedFunctions>): void {
    this.#tenants.clear()
    this.#active.clear()
    this.#isLoaded = true
    for (const { tenant, functions, templates, groups } of tenants) {
      const entry = this.#entryOf(tenant)
      for (const [name, stored] of templates) entry.templates.set(name, stored)
      entry.view.load(functions, groups)
      this.#settle(tenant, entry)
    }
  }

  /** `stored` undefined: the function was deleted. */
  functionChanged(tenant: string, id: string, stored: StoredFunction | undefined): void {
    if (!stored) this.overflows.forget(tenant, id)
    this.#change(tenant, ({ view }) => view.functionChanged(id, stored))
  }

  /** `stored` undefined: the template was deleted. */
  templateChanged(tenant: string, name: string, stored: StoredTemplate | undefined): void {
    this.#change(tenant, ({ templates }) => {
      if (stored) templates.set(name, stored)
      else templates.delete(name)
    })
  }

  /** `stored` undefined: the group was deleted. */
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void {
    this.#change(tenant, ({ view }) => view.groupChanged(id, stored))
  }

  /** The permissions of a user of the tenant have changed. */
  accessChanged(tenant: string): void {
    if (this.#active.has(tenant)) this.#change(tenant, ({ view }) => view.accessChanged())
  }

  /** The tenant was deleted with its devices. */
  tenantEnded(tenant: string): void {
    this.#tenants.delete(tenant)
    this.#active.delete(tenant)
    this.#loggedAt.delete(tenant)
    this.overflows.forgetTenant(tenant)
  }

  /** Changes before the first loading are part of the loaded state. */
  #change(tenant: string, change: (entry: TenantEntry) => void): void {
    if (!this.#isLoaded) return
    const entry = this.#entryOf(tenant)
    // Not cached across changes: permissions of another author may have changed although no notice has arrived yet.
    entry.reaches.forget()
    change(entry)
    this.#settle(tenant, entry)
  }

  #settle(tenant: string, { view }: TenantEntry): void {
    if (view.isIdle) this.#active.delete(tenant)
    else this.#active.set(tenant, view)
  }

  #entryOf(tenant: string): TenantEntry {
    const known = this.#tenants.get(tenant)
    if (known) return known
    const { mailsPerHourMax, storedRequestsMax: storedMax = storedRequestsMax(mailsPerHourMax) } = this.#parts
    const reaches = new AuthorReaches((author) => this.#parts.scopeOf(tenant, author))
    const webhookRate = webhookRateOfTenant()
    const view = new TenantFunctions({
      reaches,
      runInSlices: this.#parts.runInSlices,
      next: () => ++this.#last,
      newRates: () => ({
        rate: rateOfFunction(this.#rate, storedMax, mailsPerHourMax),
        webhookRate: webhookRateOfFunction(webhookRate),
      }),
      reportSilenced: (fn, { updatedBy }) =>
        this.#parts.log.info(
          { tenant, function: fn, author: updatedBy },
          'the author of a function may no longer read its trigger data: it does not run until a user changes it',
        ),
    })
    const entry = { view, reaches, templates: new Map<string, StoredTemplate>() }
    this.#tenants.set(tenant, entry)
    return entry
  }
}
