import type { Operation, Storage } from '#runtime/storage'

/**
 * Stores commits in the order of the calls; the next call may come before the last one is settled.
 *
 * - Fulfilled: all operations are stored, `Storage.get` reads them, and they survive as `DURABILITY` promises.
 * - Rejected: all operations are stored or none; the next opening shows which. No later commit is stored until then.
 *
 * @throws StorageFailure
 */
export type CommitLog = (operations: readonly Operation[]) => Promise<void>

/** A commit is one batch of the database of this process. `isSynced`: it survives the death of the machine. */
export function embeddedLog(isSynced: boolean): (storage: Storage) => CommitLog {
  return (storage) => (operations) => storage.write(operations, { sync: isSynced })
}
