import { storedRequestsMax } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { StoredTemplate } from '#model/template'
import { Overflows, rateOfAll, rateOfFunction, webhookRateOfFunction, webhookRateOfTenant } from '#rules/request-rate'
import { type StoredFunctions, TenantFunctions } from '#rules/tenant-functions'
import { type TenantViewParts, TenantViews, type TenantViewsParts } from '#rules/tenant-views'

interface FunctionViewsParts extends TenantViewsParts {
  /** The maximum number of mails to one subscriber in an hour. It determines the rate of requests. */
  readonly mailsPerHourMax: number
  /** Maximum number of stored requests of one function. Default: derived from `mailsPerHourMax`. */
  readonly storedRequestsMax?: number
}

/** Counts since the process started. */
export interface FunctionCounts {
  runs: number
  /** Conditions that failed, and triggers that were not run because the share of their author was used up. */
  errors: number
  /** Requests of mails that were stored. */
  requests: number
  /** Requests of mails that were only counted, because the rate or the share of the turn was used up. */
  overflown: number
  /** Requested webhooks that were dropped, because the rate or the share of the turn was used up. */
  webhooksDropped: number
}

export function noFunctionCounts(): FunctionCounts {
  return { runs: 0, errors: 0, requests: 0, overflown: 0, webhooksDropped: 0 }
}

/**
 * The functions of all tenants. Separate from the alarms: a function reacts to events and not to states, so an edit
 * requires no new evaluation.
 */
export class FunctionViews extends TenantViews<StoredFunctions, TenantFunctions> {
  readonly #mailsPerHourMax: number
  readonly #storedRequestsMax: number
  /** The rate for mails of all functions of all tenants together. */
  readonly #rate = rateOfAll()
  readonly overflows = new Overflows()
  /** Counted by device turns. */
  readonly counts = noFunctionCounts()

  constructor(parts: FunctionViewsParts) {
    super(parts, {
      one: 'function',
      many: 'functions',
      skipped: 'functions of a device cost more than their share of a turn: some were not run',
      silenced: 'the author of a function may no longer read its trigger data: it does not run until a user changes it',
    })
    this.#mailsPerHourMax = parts.mailsPerHourMax
    this.#storedRequestsMax = parts.storedRequestsMax ?? storedRequestsMax(parts.mailsPerHourMax)
  }

  storedOf(tenant: string, fn: string): StoredFunction | undefined {
    return this.viewOf(tenant)?.storedOf(fn)
  }

  templateOf(tenant: string, name: string): StoredTemplate | undefined {
    return this.viewOf(tenant)?.templates.get(name)
  }

  /** `stored` undefined: the function was deleted. */
  functionChanged(tenant: string, id: string, stored: StoredFunction | undefined): void {
    if (!stored) this.overflows.forget(tenant, id)
    this.change(tenant, (view) => view.functionChanged(id, stored))
  }

  /** `stored` undefined: the template was deleted. */
  templateChanged(tenant: string, name: string, stored: StoredTemplate | undefined): void {
    this.change(tenant, ({ templates }) => {
      if (stored) templates.set(name, stored)
      else templates.delete(name)
    })
  }

  /** `stored` undefined: the group was deleted. */
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void {
    this.change(tenant, (view) => view.groupChanged(id, stored))
  }

  accessChanged(tenant: string): void {
    if (this.of(tenant)) this.change(tenant, (view) => view.accessChanged())
  }

  override tenantEnded(tenant: string): void {
    super.tenantEnded(tenant)
    this.overflows.forgetTenant(tenant)
  }

  protected newView(parts: TenantViewParts): TenantFunctions {
    const webhookRate = webhookRateOfTenant()
    return new TenantFunctions({
      ...parts,
      newRates: () => ({
        rate: rateOfFunction(this.#rate, this.#storedRequestsMax, this.#mailsPerHourMax),
        webhookRate: webhookRateOfFunction(webhookRate),
      }),
    })
  }
}
