/** The same map, as another object: to be read. */
export class MapView<K, V> implements ReadonlyMap<K, V> {
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
