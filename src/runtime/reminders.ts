import type { ActorAddress } from '#runtime/actor'
import { addressFrom, addressKey } from '#runtime/actor'
import type { World } from '#runtime/world'

/** Many stand for a day: 141 bytes each, with the address beside its key 352. */
interface Reminder {
  /** Of its actor. */
  readonly key: string
  readonly dueAt: number
}

/** A timer can't wait longer than this; we look again then. */
const timerMsMax = 2 ** 31 - 1
/** Entries that may be dead before it is worth looking. */
const heapSlack = 1_024
/** Reminders fired before the loop is given back: many may be due at a start. */
const batchMax = 64

/**
 * When actors want to be woken: one deadline an actor, stored by the turn that set it. This holds them in memory in the
 * order of their time and fires them; one that became due while the server was down fires at the start.
 */
export class Reminders {
  readonly #world: World
  readonly #fire: (address: ActorAddress, dueAt: number) => void
  readonly #due = new Map<string, Reminder>()
  /** A binary heap by time; entries that no longer stand in `#due` are skipped when they surface. */
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
    if (dueAt === null) {
      this.#due.delete(addressKey(address))
      return
    }
    // Joined, and not put together by the engine, which keeps the parts of what it puts together.
    const key = [address.kind, address.tenant, address.id].join('/')
    const reminder = { key, dueAt }
    this.#due.set(key, reminder)
    this.#push(reminder)
    this.#arm()
  }

  /** None of its actors is woken any more. What is stored is not touched: another start would find it again. */
  dropTenant(tenant: string): void {
    for (const key of this.#due.keys()) if (addressFrom(key).tenant === tenant) this.#due.delete(key)
  }

  /** Begins to fire. Before it, reminders only gather. */
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
    const next = this.#peek()
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
      const next = this.#peek()
      if (!next || next.dueAt > now) break
      this.#pop()
      this.#due.delete(next.key)
      this.#fire(addressFrom(next.key), next.dueAt)
    }
    this.#arm()
  }

  #peek(): Reminder | undefined {
    for (let top = this.#heap[0]; top; top = this.#heap[0]) {
      if (this.#due.get(top.key) === top) return top
      this.#pop()
    }
    return undefined
  }

  #push(reminder: Reminder): void {
    const heap = this.#heap
    if (heap.length > 2 * this.#due.size + heapSlack) this.#compact()
    let index = heap.push(reminder) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (at(heap, parent).dueAt <= reminder.dueAt) break
      heap[index] = at(heap, parent)
      index = parent
    }
    heap[index] = reminder
  }

  /** Without those that were replaced or cleared. In the order of time it is a heap as it stands. */
  #compact(): void {
    const live = this.#heap.filter((reminder) => this.#due.get(reminder.key) === reminder)
    this.#heap.length = 0
    for (const reminder of live.sort((a, b) => a.dueAt - b.dueAt)) this.#heap.push(reminder)
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && at(heap, child + 1).dueAt < at(heap, child).dueAt) child++
      if (at(heap, child).dueAt >= last.dueAt) break
      heap[index] = at(heap, child)
      index = child
    }
    heap[index] = last
  }
}

function at(heap: readonly Reminder[], index: number): Reminder {
  return heap[index] as Reminder
}
