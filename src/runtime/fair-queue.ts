/**
 * A queue that serves its groups in rotation: the first item of each group, then the second of each.
 *
 * Bounded: one group may fill the queue. When it is full, a new item evicts the last item of the largest group, if the
 * group of the new item is smaller by at least two.
 */
export class FairQueue<T> {
  readonly #sizeMax: number
  /** In the order of the rotation. No group is empty. */
  readonly #groups = new Map<string, T[]>()
  #size = 0

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#size
  }

  /** Whether `add` may be called for this group. */
  hasRoom(group: string): boolean {
    return this.#size < this.#sizeMax || this.#largest.length >= this.#waitingOf(group) + 2
  }

  /** Call it only if `hasRoom`. Returns the item that was evicted for the new one. */
  add(group: string, item: T): T | undefined {
    const evicted = this.#size < this.#sizeMax ? undefined : this.#largest.pop()
    if (evicted === undefined) this.#size++
    const waiting = this.#groups.get(group)
    if (waiting) waiting.push(item)
    else this.#groups.set(group, [item])
    return evicted
  }

  /** Takes the next item. Its group goes to the end. */
  take(): T | undefined {
    for (const [group, waiting] of this.#groups) {
      const item = waiting.shift()
      this.#groups.delete(group)
      if (waiting.length > 0) this.#groups.set(group, waiting)
      this.#size--
      return item
    }
    return undefined
  }

  /** Returns whether the item was still waiting. */
  remove(group: string, item: T): boolean {
    const waiting = this.#groups.get(group)
    const place = waiting?.indexOf(item) ?? -1
    if (!waiting || place < 0) return false
    waiting.splice(place, 1)
    if (waiting.length === 0) this.#groups.delete(group)
    this.#size--
    return true
  }

  #waitingOf(group: string): number {
    return this.#groups.get(group)?.length ?? 0
  }

  /** The largest group. Of equally large ones, the group whose turn comes last. */
  get #largest(): T[] {
    let largest: T[] = []
    for (const waiting of this.#groups.values()) if (waiting.length >= largest.length) largest = waiting
    return largest
  }
}
