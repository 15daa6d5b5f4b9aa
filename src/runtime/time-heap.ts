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
