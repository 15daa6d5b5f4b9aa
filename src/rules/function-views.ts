import { requestsKept } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { Scope } from '#model/scope'
import type { StoredTemplate } from '#model/template'
import { AuthorReaches } from '#rules/author-reach'
import type { InSlices } from '#rules/bindings'
import { Overflows, rateOfAll, rateOfFunction } from '#rules/request-rate'
import { turnUnitsMax } from '#rules/rule-work'
import { TenantFunctions } from '#rules/tenant-functions'

export interface FunctionViewsParts {
  /** How many mails one subscriber gets at most: by it so many requests are made. */
  readonly mailsPerHourMax: number
  /** Requests of one function; default: by these mails. */
  readonly requestsKept?: number
  /** What somebody may do now, by his resource name; nothing when he is gone. */
  scopeOf(tenant: string, author: string): Scope
  readonly inSlices: InSlices
  readonly log: { info(fields: object, message: string): void }
}

/** The functions of a tenant and what they depend on, as stored. */
export interface LoadedFunctions {
  readonly tenant: string
  readonly functions: ReadonlyMap<string, StoredFunction>
  readonly templates: ReadonlyMap<string, StoredTemplate>
  readonly groups: ReadonlyMap<string, StoredGroup>
}

/** Since the process started. */
export interface FunctionCounts {
  runs: number
  /** Conditions without an outcome. */
  errors: number
  requests: number
  /** Those that were only counted. */
  overflown: number
}

interface TenantEntry {
  readonly view: TenantFunctions
  readonly reaches: AuthorReaches
  readonly templates: Map<string, StoredTemplate>
}

/**
 * The functions of all tenants. Filled at the start, and told of everything after its commit, in the order of the
 * commits. Apart from the alarms': a function is about what happens and not about how things stand, so an edit of one
 * leaves nothing to be judged again.
 */
export class FunctionViews {
  readonly #parts: FunctionViewsParts
  readonly #tenants = new Map<string, TenantEntry>()
  /** Those with enabled functions. */
  readonly #active = new Map<string, TenantFunctions>()
  /** Of all functions together. */
  readonly #rate = rateOfAll()
  /** Never given twice, by no tenant and over no loading: versions and rules are compared by it. */
  #last = 0
  #isLoaded = false
  /** By tenant: the version of its functions at which skipped runs were logged. */
  readonly #loggedAt = new Map<string, number>()
  readonly overflows = new Overflows()
  /** Counted by the devices' turns. */
  readonly counts: FunctionCounts = { runs: 0, errors: 0, requests: 0, overflown: 0 }

  constructor(parts: FunctionViewsParts) {
    this.#parts = parts
  }

  /** False until the first `load`: nothing can be run before. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Of a tenant that has an enabled function. */
  of(tenant: string): TenantFunctions | undefined {
    return this.#active.get(tenant)
  }

  /** Runs of a device's functions were left out. Logged once until the tenant's functions change: it may be every turn. */
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

  /** Everything anew, at the start and when the store was read again. */
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

  /** Undefined when it was deleted. Likewise the next two. */
  functionChanged(tenant: string, id: string, stored: StoredFunction | undefined): void {
    if (!stored) this.overflows.forget(tenant, id)
    this.#change(tenant, ({ view }) => view.functionChanged(id, stored))
  }

  templateChanged(tenant: string, name: string, stored: StoredTemplate | undefined): void {
    this.#change(tenant, ({ templates }) => {
      if (stored) templates.set(name, stored)
      else templates.delete(name)
    })
  }

  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void {
    this.#change(tenant, ({ view }) => view.groupChanged(id, stored))
  }

  /** Somebody of the tenant may do more or less than before. */
  accessChanged(tenant: string): void {
    if (this.#active.has(tenant)) this.#change(tenant, ({ view }) => view.accessChanged())
  }

  /** The tenant was deleted; its devices go with it. */
  tenantEnded(tenant: string): void {
    this.#tenants.delete(tenant)
    this.#active.delete(tenant)
    this.#loggedAt.delete(tenant)
    this.overflows.forgetTenant(tenant)
  }

  /** What was told before the first loading is in what is loaded. */
  #change(tenant: string, change: (entry: TenantEntry) => void): void {
    if (!this.#isLoaded) return
    const entry = this.#entryOf(tenant)
    // Asked once for each change and not kept: a change of another author's access may not have been told yet.
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
    const { mailsPerHourMax, requestsKept: kept = requestsKept(mailsPerHourMax) } = this.#parts
    const reaches = new AuthorReaches((author) => this.#parts.scopeOf(tenant, author))
    const view = new TenantFunctions({
      reaches,
      inSlices: this.#parts.inSlices,
      next: () => ++this.#last,
      newRate: () => rateOfFunction(this.#rate, kept, mailsPerHourMax),
      isSilenced: (fn, { updatedBy }) =>
        this.#parts.log.info(
          { tenant, function: fn, author: updatedBy },
          'the author of a function may no longer read what it is about: it runs nowhere until somebody edits it',
        ),
    })
    const entry = { view, reaches, templates: new Map<string, StoredTemplate>() }
    this.#tenants.set(tenant, entry)
    return entry
  }
}
