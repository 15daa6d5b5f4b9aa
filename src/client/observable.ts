/** Something that changes, and tells when it did. Fits `useSyncExternalStore`, signals and Svelte's stores. */
export interface Observable<T> {
  /** As it is now. Another object when it changed, the same one when it did not. */
  readonly value: T
  /** Calls the listener after changes until the returned function is called; several changes are told at once. */
  subscribe(listener: () => void): () => void
}

/**
 * Many things that change one by one. `value` is a view of the map that is another object after each telling, so that
 * whoever compares finds it changed; what it shows is always as it is now.
 */
export interface ObservableMap<K, V> extends Observable<ReadonlyMap<K, V>> {
  /** Whether it was read to its end: before that an empty one says nothing. Told like a change. */
  readonly isComplete: boolean
  readonly size: number
  get(key: K): V | undefined
  has(key: K): boolean
  keys(): MapIterator<K>
  values(): MapIterator<V>
  entries(): MapIterator<[K, V]>
  /** `changed`: the keys that were added, changed or removed since the last telling. */
  subscribe(listener: (changed: ReadonlySet<K>) => void): () => void
  /** Told only when this one was added, changed or removed. */
  subscribeKey(key: K, listener: () => void): () => void
  /** One of them as an observable of its own. */
  at(key: K): Observable<V | undefined>
}

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
export class ObservableValue<T> implements Observable<T> {
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

/** The same map, as another object: to be read. */
class MapView<K, V> implements ReadonlyMap<K, V> {
  readonly #map: ReadonlyMap<K, V>

  constructor(map: ReadonlyMap<K, V>) {
    this.#map = map
  }

  get size(): number {
    return this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  has(key: K): boolean {
    return this.#map.has(key)
  }

  keys(): MapIterator<K> {
    return this.#map.keys()
  }

  values(): MapIterator<V> {
    return this.#map.values()
  }

  entries(): MapIterator<[K, V]> {
    return this.#map.entries()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]()
  }

  forEach(callback: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.#map) callback(value, key, this)
  }
}

/** A map that tells what changed in it. */
export class LiveMap<K, V> extends MapView<K, V> implements ObservableMap<K, V> {
  readonly #later: Later
  readonly #map: Map<K, V>
  readonly #listeners = new Listeners<[ReadonlySet<K>]>()
  readonly #ofKeys = new Map<K, Listeners<[]>>()
  #changed = new Set<K>()
  #isComplete = false
  #isToBeTold = false
  #value: ReadonlyMap<K, V> | undefined

  constructor(later: Later) {
    const map = new Map<K, V>()
    super(map)
    this.#map = map
    this.#later = later
  }

  get value(): ReadonlyMap<K, V> {
    this.#value ??= new MapView(this.#map)
    return this.#value
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Whether somebody wants to hear of this one. */
  isWatched(key: K): boolean {
    return this.#ofKeys.has(key)
  }

  set(key: K, value: V): void {
    if (this.#map.get(key) === value) return
    this.#map.set(key, value)
    this.#change(key)
  }

  delete(key: K): void {
    if (this.#map.delete(key)) this.#change(key)
  }

  clear(): void {
    for (const key of [...this.#map.keys()]) this.delete(key)
  }

  /** It was read to its end, or is to be read anew by somebody else. */
  complete(isComplete: boolean): void {
    if (this.#isComplete === isComplete) return
    this.#isComplete = isComplete
    this.#soon()
  }

  subscribe(listener: (changed: ReadonlySet<K>) => void): () => void {
    return this.#listeners.add(listener)
  }

  subscribeKey(key: K, listener: () => void): () => void {
    const listeners = this.#ofKeys.get(key) ?? new Listeners<[]>()
    this.#ofKeys.set(key, listeners)
    const end = listeners.add(listener)
    return () => {
      end()
      if (listeners.isEmpty && this.#ofKeys.get(key) === listeners) this.#ofKeys.delete(key)
    }
  }

  at(key: K): Observable<V | undefined> {
    const map = this
    return {
      get value() {
        return map.get(key)
      },
      subscribe: (listener) => map.subscribeKey(key, listener),
    }
  }

  #change(key: K): void {
    this.#changed.add(key)
    this.#soon()
  }

  #soon(): void {
    this.#value = undefined
    if (this.#isToBeTold) return
    this.#isToBeTold = true
    this.#later(() => this.#tell())
  }

  #tell(): void {
    const changed = this.#changed
    this.#isToBeTold = false
    this.#changed = new Set()
    this.#listeners.tell(changed)
    // Whichever are fewer: a page of a fleet watches some, a change may be of all.
    if (this.#ofKeys.size < changed.size) {
      for (const [key, listeners] of [...this.#ofKeys]) if (changed.has(key)) listeners.tell()
    } else for (const key of changed) this.#ofKeys.get(key)?.tell()
  }
}
