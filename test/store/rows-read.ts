import type { StoragePlace } from '#runtime/storage'

/** Counts the rows under a prefix that scans read, for handles opened from now on. */
export function countRows(place: StoragePlace, prefix: string): () => number {
  let count = 0
  const open = place.open.bind(place)
  place.open = async () => {
    const storage = await open()
    const scan = storage.scan.bind(storage)
    storage.scan = (range) => {
      const rows = scan(range)
      const next = rows.next.bind(rows)
      rows.next = async (countMax) => {
        const found = await next(countMax)
        count += found.filter(({ key }) => key.startsWith(prefix)).length
        return found
      }
      return rows
    }
    return storage
  }
  return () => count
}
