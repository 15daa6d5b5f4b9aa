import { type Caller, principalKey } from '#model/caller'
import { Problem } from '#model/problem'

export interface ConcurrencyLimits {
  /** The plural noun in the text of a refusal. */
  readonly things: string
  readonly perUserMax: number
  /**
   * Above `perUserMax`, so that a user does not block a tenant; below the capacity of the server, so that no tenant
   * blocks the others.
   */
  readonly perTenantMax: number
}

/**
 * Limits how many things (requests, sockets, uploads) each user and each tenant has at the same time. Nothing that has
 * begun is ended for another user. Callers without a session (authentication is off, devices, sign-in) are not counted,
 * because nothing distinguishes them.
 */
export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits
  /** By tenant, and by tenant and user. */
  readonly #counts = new Map<string, number>()

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits
  }

  /** @throws Problem `too_many_requests`, which names the limit */
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

  /** The inverse of `enter`. */
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
