/** A value that notifies listeners of changes. Fits `useSyncExternalStore`, signals and Svelte's stores. */
export interface Observable<T> {
  /** The present value: another object after a change, the same object otherwise. */
  readonly value: T
  /** Calls the listener after each change, or once after several changes, until the returned function is called. */
  subscribe(listener: () => void): () => void
}

/**
 * A map whose entries change one by one. `value` is a view of the map: another object after each change, so that
 * comparisons find the change. Every view shows the present entries.
 */
export interface ObservableMap<K, V> extends Observable<ReadonlyMap<K, V>> {
  /** Whether the map was read completely. Its listeners are notified when this changes. */
  readonly isComplete: boolean
  readonly size: number
  get(key: K): V | undefined
  has(key: K): boolean
  keys(): MapIterator<K>
  values(): MapIterator<V>
  entries(): MapIterator<[K, V]>
  /** `changed`: the keys that were added, changed or removed since the last notification. */
  subscribe(listener: (changed: ReadonlySet<K>) => void): () => void
  /** The listener is called only when this entry was added, changed or removed. */
  subscribeKey(key: K, listener: () => void): () => void
  /** One entry as an observable. */
  at(key: K): Observable<V | undefined>
}

/** Runs a task later, such as before the next frame. */
export type Scheduler = (task: () => void) => void

/** Listeners of one subject. */
export class Listeners<A extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: A) => void>()

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  add(listener: (...args: A) => void): () => void {
    // A function that is added twice is called twice, and each subscription ends separately.
    const own = (...args: A) => listener(...args)
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  /** A listener that throws does not affect the others; its error is reported as uncaught. */
  notify(...args: A): void {
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

/** An observable that holds one value. Notifies its listeners after the running code. */
export class ObservableValue<T> implements Observable<T> {
  readonly #listeners = new Listeners<[]>()
  #value: T
  #isScheduled = false

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    if (this.#isScheduled || this.#listeners.isEmpty) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#listeners.notify()
    })
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }
}

/** A read-only view of a map. */
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

/** An observable map that its owner changes. */
export class LiveMap<K, V> extends MapView<K, V> implements ObservableMap<K, V> {
  readonly #schedule: Scheduler
  readonly #map: Map<K, V>
  readonly #listeners = new Listeners<[ReadonlySet<K>]>()
  readonly #ofKeys = new Map<K, Listeners<[]>>()
  /** Called when an entry gets its first listener. */
  onWatch?: (() => void) | undefined
  #changed = new Set<K>()
  #isComplete = false
  #isScheduled = false
  #value: ReadonlyMap<K, V> | undefined

  constructor(schedule: Scheduler) {
    const map = new Map<K, V>()
    super(map)
    this.#map = map
    this.#schedule = schedule
  }

  get value(): ReadonlyMap<K, V> {
    this.#value ??= new MapView(this.#map)
    return this.#value
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Whether this entry has listeners. */
  isWatched(key: K): boolean {
    return this.#ofKeys.has(key)
  }

  /** The entries with listeners, present or not. */
  watched(): MapIterator<K> {
    return this.#ofKeys.keys()
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

  /** Sets `isComplete`. */
  complete(isComplete: boolean): void {
    if (this.#isComplete === isComplete) return
    this.#isComplete = isComplete
    this.#soon()
  }

  subscribe(listener: (changed: ReadonlySet<K>) => void): () => void {
    return this.#listeners.add(listener)
  }

  subscribeKey(key: K, listener: () => void): () => void {
    const known = this.#ofKeys.get(key)
    const listeners = known ?? new Listeners<[]>()
    this.#ofKeys.set(key, listeners)
    const end = listeners.add(listener)
    if (!known) this.onWatch?.()
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
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#schedule(() => this.#notify())
  }

  #notify(): void {
    const changed = this.#changed
    this.#isScheduled = false
    this.#changed = new Set()
    this.#listeners.notify(changed)
    // Iterates over the smaller set: a page watches some devices, and a change may concern all.
    if (this.#ofKeys.size < changed.size) {
      for (const [key, listeners] of [...this.#ofKeys]) if (changed.has(key)) listeners.notify()
    } else for (const key of changed) this.#ofKeys.get(key)?.notify()
  }
}
