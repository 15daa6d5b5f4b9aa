import { type ActorAddress, addressFrom, addressKey } from '#runtime/actor'
import type { World } from '#runtime/world'

/** Kept small (about 160 bytes), because many reminders wait for a day. */
interface Reminder {
  /** `addressKey` of the actor. */
  readonly key: string
  dueAt: number
  /** The index in the heap. */
  place: number
}

/** The longest delay of a timer. After it, the next reminder is checked again. */
const timerMsMax = 2 ** 31 - 1
/** Reminders fired before the loop yields: many may be due after a restart. */
const batchMax = 64

/**
 * The deadlines at which actors get a `reminder_due` command, one for each actor. Kept in memory in the order of time;
 * the turn that sets a deadline also stores it. Reminders that became due while the server was down fire when it
 * starts.
 */
export class Reminders {
  readonly #world: World
  readonly #fire: (address: ActorAddress, dueAt: number) => void
  readonly #due = new Map<string, Reminder>()
  /** The same reminders as a binary heap by time. */
  readonly #heap: Reminder[] = []
  #cancel: (() => void) | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #isRunning = false

  constructor(world: World, fire: (address: ActorAddress, dueAt: number) => void) {
    this.#world = world
    this.#fire = fire
  }

  get count(): number {
    return this.#due.size
  }

  dueAt(address: ActorAddress): number | undefined {
    return this.#due.get(addressKey(address))?.dueAt
  }

  set(address: ActorAddress, dueAt: number | null): void {
    const known = this.#due.get(addressKey(address))
    if (dueAt === null) {
      if (known) this.#remove(known)
      return
    }
    const reminder = known ?? this.#added(address, dueAt)
    reminder.dueAt = dueAt
    this.#settle(reminder)
    this.#arm()
  }

  /** Drops all reminders of a tenant in memory. Stored ones stay, and the next start would read them. */
  dropTenant(tenant: string): void {
    for (const one of this.#due.values()) if (addressFrom(one.key).tenant === tenant) this.#remove(one)
  }

  /** Begins to fire. Before this, reminders are only collected. */
  start(): void {
    this.#isRunning = true
    this.#arm()
  }

  stop(): void {
    this.#isRunning = false
    this.#cancel?.()
    this.#cancel = undefined
    this.#timerAt = Number.POSITIVE_INFINITY
  }

  clear(): void {
    this.stop()
    this.#due.clear()
    this.#heap.length = 0
  }

  #arm(): void {
    const next = this.#heap[0]
    if (!this.#isRunning || !next || next.dueAt >= this.#timerAt) return
    this.#cancel?.()
    this.#timerAt = next.dueAt
    const delay = Math.min(Math.max(next.dueAt - this.#world.now(), 0), timerMsMax)
    this.#cancel = this.#world.after(delay, () => this.#run())
  }

  #run(): void {
    this.#cancel = undefined
    this.#timerAt = Number.POSITIVE_INFINITY
    const now = this.#world.now()
    for (let count = 0; count < batchMax && this.#isRunning; count++) {
      const next = this.#heap[0]
      if (!next || next.dueAt > now) break
      this.#remove(next)
      this.#fire(addressFrom(next.key), next.dueAt)
    }
    this.#arm()
  }

  #added(address: ActorAddress, dueAt: number): Reminder {
    // `join` creates a flat string. A concatenation would keep its parts: 130 bytes more.
    const key = [address.kind, address.tenant, address.id].join('/')
    const reminder = { key, dueAt, place: this.#heap.length }
    this.#due.set(key, reminder)
    this.#heap.push(reminder)
    return reminder
  }

  #remove(reminder: Reminder): void {
    this.#due.delete(reminder.key)
    const last = this.#heap.pop()
    if (!last || last === reminder) return
    this.#put(last, reminder.place)
    this.#settle(last)
  }

  /** Moves a reminder up or down to its place in the heap. */
  #settle(reminder: Reminder): void {
    const heap = this.#heap
    for (let parent = above(reminder.place); reminder.place > 0; parent = above(reminder.place)) {
      const over = at(heap, parent)
      if (over.dueAt <= reminder.dueAt) break
      this.#swap(over, reminder)
    }
    for (;;) {
      const under = this.#earlierUnder(reminder.place)
      if (!under || under.dueAt >= reminder.dueAt) return
      this.#swap(reminder, under)
    }
  }

  #earlierUnder(place: number): Reminder | undefined {
    const left = this.#heap[2 * place + 1]
    const right = this.#heap[2 * place + 2]
    return left && right && right.dueAt < left.dueAt ? right : left
  }

  #swap(upper: Reminder, lower: Reminder): void {
    const { place } = upper
    this.#put(upper, lower.place)
    this.#put(lower, place)
  }

  #put(reminder: Reminder, place: number): void {
    this.#heap[place] = reminder
    reminder.place = place
  }
}

function above(place: number): number {
  return (place - 1) >> 1
}

function at(heap: readonly Reminder[], index: number): Reminder {
  return heap[index] as Reminder
}

/** A stored reminder is its deadline, Unix ms. */
export const reminderFormat = { name: 'reminder', version: 1, upgrades: {} }
