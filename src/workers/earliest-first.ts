interface Placed<T> {
  readonly at: number
  readonly order: number
  readonly thing: T
}

/** A priority queue by time, first-in first-out at equal times: a binary heap. */
export class EarliestFirst<T> {
  readonly #heap: Placed<T>[] = []
  #order = 0

  get first(): { readonly at: number; readonly thing: T } | undefined {
    return this.#heap[0]
  }

  add(at: number, thing: T): void {
    const heap = this.#heap
    const placed = { at, order: this.#order++, thing }
    let index = heap.push(placed) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (isBefore(this.#at(parent), placed)) break
      heap[index] = this.#at(parent)
      index = parent
    }
    heap[index] = placed
  }

  removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let index = 0
    for (let child = 1; child < heap.length; child = index * 2 + 1) {
      if (child + 1 < heap.length && isBefore(this.#at(child + 1), this.#at(child))) child++
      if (isBefore(last, this.#at(child))) break
      heap[index] = this.#at(child)
      index = child
    }
    heap[index] = last
  }

  #at(index: number): Placed<T> {
    return this.#heap[index] as Placed<T>
  }
}

function isBefore(a: Placed<unknown>, b: Placed<unknown>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
