import type { Caller } from '#iam/caller'
import { Problem } from '#model/problem'

export interface ConcurrencyLimits {
  /** The name in the refusal, in the plural. */
  readonly things: string
  readonly perUserMax: number
  /** More than one user may have, so that one user does not shut out a tenant; less than all, so that no tenant does. */
  readonly perTenantMax: number
}

/**
 * Counts how many of something (requests, sockets, uploads) each user and each tenant has at the same time, and refuses more
 * than their limits. Nothing that has begun is given up for another user. Callers without a session (authentication is
 * off, devices, sign-in) cannot be distinguished here, and are not counted.
 */
export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits
  /** By tenant, and by tenant and user. */
  readonly #counts = new Map<string, number>()

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits
  }

  /** @throws Problem `too_many_requests` that names the limit */
  check({ tenant, user, session }: Caller, count = 1): void {
    if (!session) return
    const { things, perUserMax, perTenantMax } = this.#limits
    const refusal = (max: number, owner: string) =>
      new Problem('too_many_requests', `at most ${max} ${things} of one ${owner} at the same time`, {
        headers: { 'Retry-After': '1' },
      })
    if ((this.#counts.get(keyOf(tenant, user)) ?? 0) + count > perUserMax) throw refusal(perUserMax, 'user')
    if ((this.#counts.get(tenant) ?? 0) + count > perTenantMax) throw refusal(perTenantMax, 'tenant')
  }

  enter({ tenant, user, session }: Caller, count = 1): void {
    if (session) this.#change(tenant, user, count)
  }

  /** Undoes `enter`. */
  leave({ tenant, user, session }: Caller, count = 1): void {
    if (session) this.#change(tenant, user, -count)
  }

  #change(tenant: string, user: string, by: number): void {
    for (const key of [tenant, keyOf(tenant, user)]) {
      const count = (this.#counts.get(key) ?? 0) + by
      if (count > 0) this.#counts.set(key, count)
      else this.#counts.delete(key)
    }
  }
}

/** No tenant's name has a slash. */
function keyOf(tenant: string, user: string): string {
  return `${tenant}/${user}`
}
