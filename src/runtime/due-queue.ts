import { type ActorAddress, addressFrom, addressKey } from '#runtime/actor'
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

/** An item of a `TimeHeap`. While an item is in a heap, only the heap changes these fields. */
export interface Timed {
  at: number
  /** Items with the same time stay in the order in which they were put. */
  order: number
  /** The index in the heap; -1: not in a heap. */
  place: number
}

/** The fields of an item that was not put into a heap yet. */
export const unplaced: Timed = { at: Number.POSITIVE_INFINITY, order: 0, place: -1 }

/** A priority queue by time, first-in first-out at equal times: a binary heap. An item is moved without a search. */
export class TimeHeap<T extends Timed> {
  readonly #items: T[] = []
  #order = 0

  get first(): T | undefined {
    return this.#items[0]
  }

  /** Adds an item, or moves it to another time. */
  put(item: T, at: number): void {
    item.at = at
    item.order = this.#order++
    this.#settle(item, item.place < 0 ? this.#items.length : item.place)
  }

  /** The heap must contain the item. */
  remove(item: T): void {
    const { place } = item
    const last = this.#items.pop()
    if (last && last !== item) this.#settle(last, place)
    item.place = -1
  }

  clear(): void {
    for (const item of this.#items.splice(0)) item.place = -1
  }

  /** Moves the item from a free place up or down to its place. */
  #settle(item: T, free: number): void {
    let place = free
    for (let above = (place - 1) >> 1; place > 0; above = (place - 1) >> 1) {
      const over = this.#items[above] as T
      if (isBefore(over, item)) break
      this.#set(over, place)
      place = above
    }
    for (let under = this.#firstUnder(place); under && isBefore(under, item); under = this.#firstUnder(place)) {
      const below = under.place
      this.#set(under, place)
      place = below
    }
    this.#set(item, place)
  }

  #firstUnder(place: number): T | undefined {
    const left = this.#items[2 * place + 1]
    const right = this.#items[2 * place + 2]
    return left && right && isBefore(right, left) ? right : left
  }

  #set(item: T, place: number): void {
    this.#items[place] = item
    item.place = place
  }
}

function isBefore(one: Timed, other: Timed): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

/**
 * The deadlines at which actors get a `reminder_due` command, one for each actor. Kept in memory in the order of time;
 * the turn that sets a deadline also stores it. Reminders that became due while the server was down fire when it
 * starts.
 */
export class Reminders {
  /** By `addressKey`. Items are kept small (about 170 bytes), because many reminders wait for a day. */
  readonly #queue: DueQueue<Due>

  constructor(world: World, fire: (address: ActorAddress, dueAt: number) => void) {
    this.#queue = new DueQueue(world, 'now', ({ key, at }) => fire(addressFrom(key), at))
    // Reminders are only collected until `start`.
    this.#queue.stop()
  }

  get count(): number {
    return this.#queue.size
  }

  dueAt(address: ActorAddress): number | undefined {
    return this.#queue.get(addressKey(address))?.at
  }

  set(address: ActorAddress, dueAt: number | null): void {
    const key = addressKey(address)
    if (dueAt === null) this.#queue.delete(key)
    else this.#queue.put(this.#queue.get(key) ?? reminderOf(address), dueAt)
  }

  /** Drops all reminders of a tenant in memory. Stored ones stay, and the next start would read them. */
  dropTenant(tenant: string): void {
    for (const { key } of this.#queue) if (addressFrom(key).tenant === tenant) this.#queue.delete(key)
  }

  /** Begins to fire. Before this, reminders are only collected. */
  start(): void {
    this.#queue.start()
  }

  /** Drops all reminders in memory. Later ones are only collected until `start`. */
  clear(): void {
    this.#queue.stop()
  }
}

function reminderOf({ kind, tenant, id }: ActorAddress): Due {
  // `join` creates a flat string. A concatenation would keep its parts: 130 bytes more.
  return { key: [kind, tenant, id].join('/'), ...unplaced }
}

/** A stored reminder is its deadline, Unix ms. */
export const reminderFormat = { name: 'reminder', version: 1, upgrades: {} }
