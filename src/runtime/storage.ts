/**
 * An ordered key-value store, as the runtime needs it. The implementations with LevelDB and in memory share one test
 * suite (`test/store/storage-suite.ts`).
 *
 * Obligations:
 * - Keys are ordered by their UTF-8 bytes.
 * - `write` is atomic: all operations of a batch are stored, or none. If it resolves, the batch survives a crash of the
 *   process; with `sync` also a crash of the machine.
 * - A rejected `write` may still have reached the disk. After it, this handle never writes again: every later `write`
 *   rejects with `StorageFailure('poisoned')`. Reads continue.
 * - Batches become visible in the order of their calls. A `get` or `scan` that begins after a resolved `write` sees it;
 *   whether it sees a pending one is undefined.
 * - A scan reads the state at the call of `scan`.
 */
export interface Storage {
  /** Reads the bytes of a key synchronously; undefined if there are none. The caller must not change them. */
  get(key: string): Uint8Array | undefined
  write(operations: readonly Operation[], options: { readonly sync: boolean }): Promise<void>
  scan(range: ScanRange): Scan
  /** Bytes of memory for caches of reads and recent writes. 0 after `close`. */
  memoryBytes(): number
  /** Bytes on the disk. */
  diskBytes(): Promise<number>
  /** Frees the disk space of deleted rows now; otherwise the store does it later. Reads and writes go on meanwhile. */
  compact(): Promise<void>
  /** Waits for a pending write and unlocks the folder. Later reads and writes fail. Idempotent. */
  close(): Promise<void>
  /** Present if other nodes write to the store too. */
  readonly shared?: SharedStorage
}

/** A store to which one node at a time may write: its owner. Until this node is the owner, `write` rejects. */
export interface SharedStorage {
  /**
   * Begins to receive the commits of other nodes. Each is written, and then passed to `stored`; the next one waits for
   * its promise. Resolves when all commits that existed at the call are written. Rejects if this node can't follow.
   */
  follow(stored: (operations: readonly Operation[]) => Promise<void>): Promise<void>
  /**
   * Resolves when this node is the owner, and no more commits are passed. Rejects if this node can no longer follow.
   */
  own(): Promise<void>
  /** The store of this node alone. */
  readonly local: Storage
  /** Called once if this node stops being the owner, or can no longer follow. */
  whenEnded(task: (failure: StorageFailure) => void): void
}

/**
 * `value: null` deletes. Avoid empty values, although they can be stored: classic-level 3.0.0 leaks 36 bytes of memory
 * for each.
 */
export interface Operation {
  readonly key: string
  readonly value: Uint8Array | null
}

/** Keys strictly between `after` and `before`. */
export interface ScanRange {
  readonly after: string
  readonly before: string
  readonly isReverse?: boolean
  /** Reads values too. Otherwise the value of every row is empty. */
  readonly hasValues: boolean
}

export interface Scan {
  /** The next rows, at most `countMax`, often fewer. Only an empty page is the end. One call at a time. */
  next(countMax: number): Promise<readonly Row[]>
  close(): Promise<void>
}

export interface Row {
  readonly key: string
  readonly value: Uint8Array
}

/** Opens the handles of one store. A backend stays valid when a handle is closed. */
export interface StorageBackend {
  /**
   * Whether other nodes have the store too. Each opening then continues where the last one ended, on whichever node
   * that was, so positions of earlier openings stay valid. Default: false.
   */
  readonly isShared?: boolean
  /**
   * The shortest time from the beginning of one commit to the beginning of the next, for stores where a commit costs
   * much more than its changes. Default: 0.
   */
  readonly commitEveryMs?: number
  /**
   * Opens a handle. Only one may be open at a time, also across processes.
   * @throws StorageFailure `locked` if another handle is open, `full` if there is not enough space, `damaged`, `io`
   */
  open(): Promise<Storage>
  /** Whether there is space for some minutes of writes and for the headroom. */
  hasRoom(): Promise<boolean>
  /** Frees the headroom, so that a store on a full disk can be reopened. */
  releaseHeadroom(): Promise<void>
  /** Reserves the headroom again. Does not reject if space is missing. */
  restoreHeadroom(): Promise<void>
}

/**
 * - `full`: no space left; the store may be reopened when there is space.
 * - `io`: the disk failed; no writes until the process restarts.
 * - `locked`: another process uses the store.
 * - `damaged`: the store can't be read.
 * - `closed`: this handle was closed.
 * - `poisoned`: an earlier write failed; this handle never writes again.
 */
export type StorageFailureCode = 'full' | 'io' | 'locked' | 'damaged' | 'closed' | 'poisoned'

export class StorageFailure extends Error {
  readonly code: StorageFailureCode

  constructor(code: StorageFailureCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'StorageFailure'
    this.code = code
  }
}

/**
 * Lists stored names in order. A listing shows the commits before its beginning; a caller that needs the present state
 * reads it separately.
 */
export interface Listing {
  /** Ids of stored `redo` actors of a kind, beginning after `after`. */
  actors(kind: string, tenant: string, after?: string): Pages
  /** Entries of an index with this prefix, beginning after `after`. */
  entries(index: string, tenant: string, prefix?: string, after?: string): Pages
}

export interface Pages {
  /** The next names, at most `countMax`, often fewer. Only an empty page is the end. */
  next(countMax: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** The pages of a listing, which is closed at the end. */
export async function* pagesIn(listing: Pages, countMax: number): AsyncGenerator<readonly string[]> {
  try {
    for (let page = await listing.next(countMax); page.length > 0; page = await listing.next(countMax)) yield page
  } finally {
    await listing.close()
  }
}

/** A listing of names in memory, in their order. */
export function namesOf(names: Iterable<string>): Pages {
  const rest = names[Symbol.iterator]()
  return {
    async next(countMax) {
      const page: string[] = []
      while (page.length < countMax) {
        const { value, done } = rest.next()
        if (done) break
        page.push(value)
      }
      return page
    },
    close: async () => {},
  }
}
