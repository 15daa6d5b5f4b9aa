import type { Observable } from '#client/observable'

/** Runs a task later: behind this turn, or before the next picture. */
export type Later = (task: () => void) => void

/** Who wants to hear, told later and once for all that happened until then. */
export class Listeners<A extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: A) => void>()

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  add(listener: (...args: A) => void): () => void {
    // Subscribed twice is told twice, and each ends by itself.
    const own = (...args: A) => listener(...args)
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  /** One that throws takes nothing from the others; it is thrown where nobody catches it, to be seen. */
  tell(...args: A): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(...args)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

/** One value that is set from time to time. */
export class Cell<T> implements Observable<T> {
  readonly #later: Later
  readonly #listeners = new Listeners<[]>()
  #value: T
  #isToBeTold = false

  constructor(value: T, later: Later) {
    this.#value = value
    this.#later = later
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    if (this.#isToBeTold || this.#listeners.isEmpty) return
    this.#isToBeTold = true
    this.#later(() => {
      this.#isToBeTold = false
      this.#listeners.tell()
    })
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }
}
