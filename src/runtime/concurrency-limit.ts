import { type Caller, principalKey } from '#model/caller'
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
  check(caller: Caller, count = 1): void {
    if (!caller.session) return
    const { things, perUserMax, perTenantMax } = this.#limits
    const mustFit = (key: string, max: number, owner: string) => {
      if ((this.#counts.get(key) ?? 0) + count <= max) return
      const headers = { 'Retry-After': '1' }
      throw new Problem('too_many_requests', `at most ${max} ${things} of one ${owner} at the same time`, { headers })
    }
    mustFit(principalKey(caller), perUserMax, 'user')
    mustFit(caller.tenant, perTenantMax, 'tenant')
  }

  enter(caller: Caller, count = 1): void {
    this.#change(caller, count)
  }

  /** Undoes `enter`. */
  leave(caller: Caller, count = 1): void {
    this.#change(caller, -count)
  }

  #change(caller: Caller, by: number): void {
    if (!caller.session) return
    for (const key of [caller.tenant, principalKey(caller)]) {
      const count = (this.#counts.get(key) ?? 0) + by
      if (count > 0) this.#counts.set(key, count)
      else this.#counts.delete(key)
    }
  }
}
