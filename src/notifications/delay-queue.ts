import type { World } from '#runtime/world'
import { TimeQueue } from '#workers/time-queue'

interface Waiter<T> {
  readonly value: T
}

/** Passes each item to `due` once, after its delay. Items have keys, and share one timer. */
export class DelayQueue<T> {
  readonly #world: World
  readonly #due: (value: T) => void
  readonly #byKey = new Map<string, Waiter<T>>()
  /** Replaced and deleted entries stay here until their time and are skipped then. */
  readonly #order = new TimeQueue<readonly [key: string, waiter: Waiter<T>]>()
  #cancel: (() => void) | undefined
  /** The time for which the timer is set, World.monotonic. */
  #armedFor = Number.POSITIVE_INFINITY

  constructor(world: World, due: (value: T) => void) {
    this.#world = world
    this.#due = due
  }

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key)?.value
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const { value } of this.#byKey.values()) yield value
  }

  /** Replaces an item with the same key. */
  add(key: string, value: T, waitMs: number): void {
    const waiter = { value }
    this.#byKey.set(key, waiter)
    this.#order.add(this.#world.monotonic() + waitMs, [key, waiter])
    this.#arm()
  }

  delete(key: string): void {
    this.#byKey.delete(key)
  }

  clear(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#armedFor = Number.POSITIVE_INFINITY
    this.#byKey.clear()
    while (this.#order.first) this.#order.removeFirst()
  }

  #arm(): void {
    const first = this.#order.first
    if (!first || first.at >= this.#armedFor) return
    this.#cancel?.()
    this.#armedFor = first.at
    const waitMs = Math.max(first.at - this.#world.monotonic(), 0)
    this.#cancel = this.#world.after(waitMs, () => this.#run())
  }

  #run(): void {
    this.#cancel = undefined
    this.#armedFor = Number.POSITIVE_INFINITY
    const now = this.#world.monotonic()
    for (let first = this.#order.first; first && first.at <= now; first = this.#order.first) {
      this.#order.removeFirst()
      const [key, waiter] = first.value
      if (this.#byKey.get(key) !== waiter) continue
      this.#byKey.delete(key)
      this.#due(waiter.value)
    }
    this.#arm()
  }
}
