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
