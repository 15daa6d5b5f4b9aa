import { Replica, type ReplicaOptions } from '#cluster/replica'
import type { Lease } from '#cluster/shared-log'
import {
  type Operation,
  type Scan,
  type ScanRange,
  type Storage,
  StorageFailure,
  type StoragePlace,
} from '#runtime/storage'

export interface ReplicatedPlaceOptions extends Omit<ReplicaOptions, 'storage'> {
  /** The name of this node. */
  readonly node: string
  /** Where this node keeps its copy. */
  readonly place: StoragePlace
  readonly lease: Lease
}

/**
 * A store that several nodes share by a log. `open` follows the log, which keeps the copy of this node up to date, and
 * resolves when this node owns the log.
 */
export function replicatedPlace(options: ReplicatedPlaceOptions): StoragePlace {
  const { place, lease, node } = options
  return {
    keepsEpoch: true,
    async open() {
      const storage = await place.open()
      const replica = new Replica({ ...options, storage })
      try {
        await lease.acquire()
        await replica.claim(node)
      } catch (error) {
        await closeAll(replica, storage, lease)
        throw error
      }
      return new ReplicatedStorage(replica, storage, lease)
    },
    hasRoom: () => place.hasRoom(),
    releaseHeadroom: () => place.releaseHeadroom(),
    restoreHeadroom: () => place.restoreHeadroom(),
  }
}

/** `sync` has no effect, because the servers of the log decide how durable a commit is. */
class ReplicatedStorage implements Storage {
  readonly #replica: Replica
  readonly #storage: Storage
  readonly #lease: Lease
  #closing: Promise<void> | undefined

  constructor(replica: Replica, storage: Storage, lease: Lease) {
    this.#replica = replica
    this.#storage = storage
    this.#lease = lease
  }

  get(key: string): Uint8Array | undefined {
    return this.#openStorage.get(key)
  }

  async write(operations: readonly Operation[]): Promise<void> {
    if (this.#closing !== undefined) throw closedFailure()
    await this.#replica.commit(operations)
  }

  scan(range: ScanRange): Scan {
    return this.#openStorage.scan(range)
  }

  memoryBytes(): number {
    return this.#storage.memoryBytes()
  }

  get #openStorage(): Storage {
    if (this.#closing !== undefined) throw closedFailure()
    return this.#storage
  }

  close(): Promise<void> {
    this.#closing ??= closeAll(this.#replica, this.#storage, this.#lease)
    return this.#closing
  }
}

function closedFailure(): StorageFailure {
  return new StorageFailure('closed', 'the store was closed')
}

async function closeAll(replica: Replica, storage: Storage, lease: Lease): Promise<void> {
  await replica.close()
  await storage.close()
  await lease.release()
}
