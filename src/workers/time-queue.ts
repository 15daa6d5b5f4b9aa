interface QueueItem<T> {
  readonly at: number
  readonly order: number
  readonly value: T
}

/** A priority queue by time, first-in first-out at equal times: a binary heap. */
export class TimeQueue<T> {
  readonly #heap: QueueItem<T>[] = []
  #order = 0

  get first(): { readonly at: number; readonly value: T } | undefined {
    return this.#heap[0]
  }

  add(at: number, value: T): void {
    const heap = this.#heap
    const item = { at, order: this.#order++, value }
    let index = heap.push(item) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (isBefore(this.#at(parent), item)) break
      heap[index] = this.#at(parent)
      index = parent
    }
    heap[index] = item
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

  #at(index: number): QueueItem<T> {
    return this.#heap[index] as QueueItem<T>
  }
}

function isBefore(a: QueueItem<unknown>, b: QueueItem<unknown>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
