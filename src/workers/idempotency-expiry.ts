import { directoryAddress } from '#actors/directory/commands'
import { idempotencyAddressOf, idempotencyIndex, idOfExpiry, isPastExpiry } from '#actors/idempotency/state'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { type Listing, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'

/** A key is valid for 24 hours and removed within an hour and this interval after. Expired keys are never returned. */
export const expireEveryMs = 10 * 60_000
/** Each costs a read and a record: together less than a millisecond. */
const expiredAtATime = 64

export interface IdempotencyExpiryParts {
  readonly system: System<Entry>
  readonly listing: Listing
  /** Called with an error; the removal is retried. */
  readonly failed: (error: unknown) => void
}

/** Removes expired idempotency keys and their stored responses. */
export class IdempotencyExpiry {
  readonly #parts: IdempotencyExpiryParts
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(parts: IdempotencyExpiryParts) {
    this.#parts = parts
  }

  /** Call after the store was read. */
  open(): void {
    if (this.#isStopped) return
    const { system, failed } = this.#parts
    this.#cancel = system.world.after(expireEveryMs, () => {
      void this.#expireAll()
        .catch(failed)
        .then(() => this.open())
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  async #expireAll(): Promise<void> {
    const { system } = this.#parts
    const { tenants } = system.peek(directoryAddress)
    for (const tenant of new Set([defaultTenant, ...tenants.keys()])) {
      if (this.#isStopped) return
      await this.#expireOf(tenant)
    }
  }

  async #expireOf(tenant: string): Promise<void> {
    const { system, listing } = this.#parts
    const now = system.world.now()
    for await (const entries of pagesIn(listing.entries(idempotencyIndex, tenant), expiredAtATime)) {
      const past = entries.filter((entry) => isPastExpiry(entry, now))
      await Promise.all(past.map((entry) => this.#expire(tenant, idOfExpiry(entry))))
      if (past.length < entries.length || this.#isStopped) break
    }
  }

  #expire(tenant: string, id: string): Promise<unknown> {
    return this.#parts.system.ask(idempotencyAddressOf(tenant, id), { type: 'expire' }, 0)
  }
}
