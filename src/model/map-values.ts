/** The value of a key. If there is none, `make` makes it, and the map keeps it. */
export function getOrInsert<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

export function addTo<K, Item>(index: Map<K, Set<Item>>, key: K, item: Item): void {
  getOrInsert(index, key, () => new Set()).add(item)
}

/** Undoes `addTo`. No set of the index is empty. Returns whether this was the last item of the key. */
export function removeFrom<K, Item>(index: Map<K, Set<Item>>, key: K, item: Item): boolean {
  const items = index.get(key)
  return items?.delete(item) === true && items.size === 0 && index.delete(key)
}

/** Changes a count. A count of zero is removed, and never falls below zero. */
export function changeCount<K>(counts: Map<K, number>, key: K, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
