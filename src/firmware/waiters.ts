import type { TriggerOutcome } from '#model/firmware'
import { Problem } from '#model/problem'
import { isOfTenant, tenantKey } from '#model/tenant-key'
import type { World } from '#runtime/world'

/** More than ask at once: each is a request that is held open. */
export const waitersMax = 10_000

export interface Waiter {
  /** Whoever asked is gone, or was given up. */
  readonly signal: AbortSignal
  /** What is said to him when nothing came in time. */
  readonly late: () => TriggerOutcome
  readonly answered: (outcome: TriggerOutcome) => void
  readonly refused: (problem: Problem) => void
}

/** Who waits to hear what becomes of an update, by device. Each hears once. */
export class Waiters {
  readonly #world: World
  readonly #timeoutMs: number
  /** By tenant and device; what ends the waiting of each. */
  readonly #waiting = new Map<string, Map<Waiter, () => void>>()
  #size = 0

  constructor(world: World, timeoutMs: number) {
    this.#world = world
    this.#timeoutMs = timeoutMs
  }

  get size(): number {
    return this.#size
  }

  has(tenant: string, device: string): boolean {
    return this.#waiting.has(tenantKey(tenant, device))
  }

  /** Refused at once when too many wait, or when nobody does any more. */
  add(tenant: string, device: string, waiter: Waiter): void {
    const { signal } = waiter
    if (this.#size >= waitersMax) {
      waiter.refused(new Problem('overloaded'))
      return
    }
    const key = tenantKey(tenant, device)
    const gone = () => {
      if (this.#take(key, waiter)) waiter.refused(new Problem('stopping', 'nobody waits for it any more'))
    }
    const cancel = this.#world.after(this.#timeoutMs, () => {
      if (this.#take(key, waiter)) waiter.answered(waiter.late())
    })
    signal.addEventListener('abort', gone, { once: true })
    const end = () => {
      cancel()
      signal.removeEventListener('abort', gone)
    }
    const waiting = this.#waiting.get(key)
    if (waiting) waiting.set(waiter, end)
    else this.#waiting.set(key, new Map([[waiter, end]]))
    this.#size++
    if (signal.aborted) gone()
  }

  /** Everybody who waits for this device. */
  settle(tenant: string, device: string, outcome: TriggerOutcome): void {
    for (const waiter of this.#takeAll(tenantKey(tenant, device))) waiter.answered(outcome)
  }

  refuse(tenant: string, device: string, problem: Problem): void {
    for (const waiter of this.#takeAll(tenantKey(tenant, device))) waiter.refused(problem)
  }

  settleAll(outcome: TriggerOutcome): void {
    for (const key of [...this.#waiting.keys()]) for (const waiter of this.#takeAll(key)) waiter.answered(outcome)
  }

  /** Of all tenants, or of one. */
  refuseAll(problem: Problem, tenant = ''): void {
    const keys = [...this.#waiting.keys()].filter((key) => tenant === '' || isOfTenant(key, tenant))
    for (const key of keys) for (const waiter of this.#takeAll(key)) waiter.refused(problem)
  }

  #takeAll(key: string): readonly Waiter[] {
    return [...(this.#waiting.get(key)?.keys() ?? [])].filter((waiter) => this.#take(key, waiter))
  }

  /** False when he was taken out before. */
  #take(key: string, waiter: Waiter): boolean {
    const waiting = this.#waiting.get(key)
    const end = waiting?.get(waiter)
    if (!waiting || !end) return false
    end()
    waiting.delete(waiter)
    if (waiting.size === 0) this.#waiting.delete(key)
    this.#size--
    return true
  }
}
