import { type Timed, TimeHeap } from '#runtime/time-heap'
import type { World } from '#runtime/world'

/** An item of a `DueQueue`. */
export interface Due extends Timed {
  readonly key: string
}

/** The longest delay of a timer. After it, the next item is checked again. */
const timerMsMax = 2 ** 31 - 1
/** The most items in one run, because many may be due after a restart. The event loop continues before the next run. */
const batchMax = 64

/** Passes each item to `due` once, at its time. All items share one timer. */
export class DueQueue<T extends Due> {
  readonly #world: World
  readonly #clock: 'now' | 'monotonic'
  readonly #due: (item: T) => void
  readonly #byKey = new Map<string, T>()
  readonly #heap = new TimeHeap<T>()
  #cancel: (() => void) | undefined
  /** The time for which the timer is set. */
  #timerAt = Number.POSITIVE_INFINITY
  #isRunning = true

  /** `clock`: the clock of the world to which the times of items refer. */
  constructor(world: World, clock: 'now' | 'monotonic', due: (item: T) => void) {
    this.#world = world
    this.#clock = clock
    this.#due = due
  }

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key)
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#byKey.values()
  }

  /** Adds an item, or moves it to another time. Replaces an item with the same key. */
  put(item: T, at: number): void {
    const known = this.#byKey.get(item.key)
    if (known && known !== item) this.#heap.remove(known)
    this.#byKey.set(item.key, item)
    this.#heap.put(item, at)
    this.#arm()
  }

  delete(key: string): void {
    const item = this.#byKey.get(key)
    if (!item) return
    this.#byKey.delete(key)
    this.#heap.remove(item)
  }

  clear(): void {
    this.#disarm()
    this.#byKey.clear()
    this.#heap.clear()
  }

  /** Clears the queue. Later items are only collected until `start`. */
  stop(): void {
    this.#isRunning = false
    this.clear()
  }

  start(): void {
    this.#isRunning = true
    this.#arm()
  }

  #arm(): void {
    const { first } = this.#heap
    if (!this.#isRunning || !first || first.at >= this.#timerAt) return
    this.#disarm()
    this.#timerAt = first.at
    const delay = Math.min(Math.max(first.at - this.#world[this.#clock](), 0), timerMsMax)
    this.#cancel = this.#world.after(delay, () => this.#run())
  }

  #disarm(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#timerAt = Number.POSITIVE_INFINITY
  }

  #run(): void {
    this.#disarm()
    const now = this.#world[this.#clock]()
    for (let count = 0; count < batchMax && this.#isRunning; count++) {
      const { first } = this.#heap
      if (!first || first.at > now) break
      this.delete(first.key)
      this.#due(first)
    }
    this.#arm()
  }
}
