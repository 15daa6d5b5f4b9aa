import { type DeliveryCommand, deliveryAddress } from '#actors/delivery/delivery'
import { isTenantActive } from '#actors/directory/queries'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { FunctionViews } from '#rules/function-views'
import type { System } from '#runtime/system'

export interface OverflowCountsParts {
  readonly system: System<Entry>
  readonly functions: Pick<FunctionViews, 'storedOf' | 'overflows'>
  readonly failed: (error: unknown) => void
}

const everyMs = 1_000

/**
 * Stores once a second how many requests exceeded their rate, so that thousands of requests of a function take one
 * turn. A crash loses at most the last second's count, which is only a number in a digest or in a list.
 */
export class OverflowCounts {
  readonly #parts: OverflowCountsParts
  #cancel: (() => void) | undefined

  constructor(parts: OverflowCountsParts) {
    this.#parts = parts
  }

  start(): void {
    this.#cancel?.()
    this.#cancel = this.#parts.system.world.after(everyMs, () => {
      this.store()
      this.start()
    })
  }

  /** Stores the count since the last call. */
  store(): void {
    const { system, functions, failed } = this.#parts
    if (!system.isServing || !system.gate.isOpen) return
    for (const { tenant, function: fn, webhook: node, count } of functions.overflows.drain()) {
      if (!isTenantActive(system, tenant) || !functions.storedOf(tenant, fn)) continue
      const counted: DeliveryCommand =
        node === undefined ? { type: 'overflowed', count } : { type: 'webhooks_dropped', node, count }
      system.ask(deliveryAddress(tenant, fn), counted, 0).catch((error: unknown) => {
        // A Problem is a failed write, which is logged where it happened.
        if (!(error instanceof Problem)) failed(error)
      })
    }
  }

  /** Call before the last commit, so that the count is stored with it. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.store()
  }
}
