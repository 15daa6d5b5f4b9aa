import type { Row, Scan, Storage, StorageBackend } from '#runtime/storage'

type Next = (read: Scan['next'], countMax: number) => Promise<readonly Row[]>

/** Changes each handle that the backend opens from now on. */
export function wrapStorage(backend: StorageBackend, wrap: (storage: Storage) => void): void {
  const open = backend.open.bind(backend)
  backend.open = async () => {
    const storage = await open()
    wrap(storage)
    return storage
  }
}

/** Replaces how scans of a handle read a page. */
export function wrapScans(storage: Storage, next: Next): void {
  const scan = storage.scan.bind(storage)
  storage.scan = (range) => {
    const rows = scan(range)
    return { next: (countMax) => next(rows.next.bind(rows), countMax), close: () => rows.close() }
  }
}

/** Counts the rows under a prefix that scans read, for handles opened from now on. */
export function countRows(backend: StorageBackend, prefix: string): () => number {
  let count = 0
  wrapStorage(backend, (storage) =>
    wrapScans(storage, async (read, countMax) => {
      const found = await read(countMax)
      count += found.filter(({ key }) => key.startsWith(prefix)).length
      return found
    }),
  )
  return () => count
}
