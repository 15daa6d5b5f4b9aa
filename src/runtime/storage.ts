/**
 * Ordered keys to bytes, as the runtime needs them. Two implementations: LevelDB, memory; one suite
 * (`test/store/storage-suite.ts`).
 *
 * Obligations
 * - Keys are ordered by their UTF-8 bytes.
 * - `write` is atomic: all operations of a batch are there afterwards, or none. When its promise is fulfilled, the
 *   batch survives the death of the process; with `sync` also the death of the machine.
 * - A rejected `write` may still have reached the disk. After it, this handle never writes again: every later `write`
 *   rejects with `StorageFailure('poisoned')`. Reads go on.
 * - Batches become visible in the order of their calls. A `get` or a `scan` that begins after a `write` was
 *   fulfilled sees it; whether it sees one still in flight is not defined.
 * - A scan reads the state of the moment `scan` was called.
 */
export interface Storage {
  /** The bytes under a key, at once; `undefined` when there are none. Not to be changed by the caller. */
  get(key: string): Uint8Array | undefined
  write(operations: readonly Operation[], options: { readonly sync: boolean }): Promise<void>
  scan(range: ScanRange): Scan
  /** Bytes of memory that it holds for itself: of what was read, and what was written last. 0 once it is closed. */
  memoryBytes(): number
  /** Waits for a write in flight and gives the folder back. Reads and writes after it reject. Idempotent. */
  close(): Promise<void>
}

/**
 * `value: null` deletes. One of no bytes can be stored, but shouldn't be: classic-level 3.0.0 never frees what it copied it to,
 * 36 bytes of memory a write.
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
  /** Read values too; without it every row's value is empty. */
  readonly hasValues: boolean
}

export interface Scan {
  /** The next rows, at most `countMax`, and often fewer; only an empty page is the end. One call at a time. */
  next(countMax: number): Promise<readonly Row[]>
  close(): Promise<void>
}

export interface Row {
  readonly key: string
  readonly value: Uint8Array
}

/**
 * Where a storage rests and how it is opened: the part that outlives a handle.
 */
export interface StoragePlace {
  /**
   * Opens a handle. Only one at a time, also across processes: `StorageFailure('locked')`.
   * A damaged store: `StorageFailure('damaged')`; no room to open it: `StorageFailure('full')`.
   */
  open(): Promise<Storage>
  /** Whether there is room for some minutes of writes (and the headroom). */
  hasRoom(): Promise<boolean>
  /** Gives the headroom back to the file system, so that a store on a full disk can be reopened. */
  releaseHeadroom(): Promise<void>
  /** Takes the headroom again. Never rejects for want of room. */
  restoreHeadroom(): Promise<void>
}

/**
 * - `full`: no space left; may be reopened when there is room again.
 * - `io`: the disk refused; no writes until the process starts anew.
 * - `locked`: another process has it. - `damaged`: it can't be read. - `closed`, `poisoned`: this handle is done.
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
