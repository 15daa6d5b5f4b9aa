/**
 * Who waits, in groups that take turns: of each group its first, then of each its second. So nobody waits for more than one
 * of each other group, however many of them there are.
 *
 * Bounded: a group may have all places while nobody else wants them. When all are taken, the last of the group that has
 * most makes room for one of a group that has fewer, by two at least: so that nobody is put out by his like.
 */
export class FairQueue<T> {
  readonly #sizeMax: number
  /** In the order of their turns. None is empty. */
  readonly #groups = new Map<string, T[]>()
  #size = 0

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#size
  }

  /** Whether `add` would take one more of this group. */
  hasRoom(group: string): boolean {
    return this.#size < this.#sizeMax || this.#largest.length >= this.#waitingOf(group) + 2
  }

  /** Of whom there is room for. Answers who was put out for it. */
  add(group: string, item: T): T | undefined {
    const putOut = this.#size < this.#sizeMax ? undefined : this.#largest.pop()
    if (putOut === undefined) this.#size++
    const waiting = this.#groups.get(group)
    if (waiting) waiting.push(item)
    else this.#groups.set(group, [item])
    return putOut
  }

  /** Whose turn it is. His group is the last now. */
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

  /** Whether he still waited. */
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

  /** Of several alike the one whose turn comes last. */
  get #largest(): T[] {
    let largest: T[] = []
    for (const waiting of this.#groups.values()) if (waiting.length >= largest.length) largest = waiting
    return largest
  }
}
