import { type Later, Listeners } from '#client/cell'
import { MapView } from '#client/map-view'
import type { Observable, ObservableMap } from '#client/observable'

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
