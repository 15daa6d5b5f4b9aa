import { type ChainPosition, chainStart } from '#cluster/log-chain'
import { Replica, type ReplicaOptions } from '#cluster/replica'
import type { Lease } from '#cluster/shared-log'
import { Histogram } from '#runtime/histogram'
import {
  type Operation,
  type Scan,
  type ScanRange,
  type SharedStorage,
  type Storage,
  type StorageBackend,
  StorageFailure,
} from '#runtime/storage'
import { everyKey, keys } from '#store/key-space'
import { firstRowOf } from '#store/pages'

/** In seconds. The log usually takes a commit in one or two milliseconds, or in some seconds without a leader. */
export const logSecondsBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/**
 * A commit costs each node several times what the change of one frame costs: messages, a write to its store, and an
 * acknowledgement to each device connection. A change waits at most this long for others to join its commit.
 */
const commitEveryMs = 10

export interface ReplicatedStorageOptions extends Omit<ReplicaOptions, 'storage' | 'logSeconds'> {
  /** The name of this node. */
  readonly node: string
  /** Where this node keeps its copy. */
  readonly backend: StorageBackend
  readonly lease: Lease
}

/** Metrics of all stores that a backend has opened, including closed stores. */
export interface LogMetrics {
  /** How often this node became the owner. */
  takeOvers: number
  readonly logSeconds: Histogram
}

export interface ReplicatedBackend extends StorageBackend {
  readonly position: ChainPosition
  readonly metrics: Readonly<LogMetrics>
}

/** A store that several nodes share through a log. */
export function replicatedStorage(options: ReplicatedStorageOptions): ReplicatedBackend {
  const { backend } = options
  const metrics: LogMetrics = { takeOvers: 0, logSeconds: new Histogram(logSecondsBounds) }
  let replica: Replica | undefined
  return {
    isShared: true,
    commitEveryMs,
    metrics,
    get position() {
      return replica?.position ?? chainStart
    },
    async open() {
      const storage = await backend.open()
      if (storage.get(keys.replica) === undefined && (await firstRowOf(storage, { ...everyKey, hasValues: false }))) {
        await storage.close()
        throw new StorageFailure(
          'damaged',
          'this data folder does not belong to a node of a cluster: use an empty one, with the identity.key of the other nodes',
        )
      }
      replica = new Replica({ ...options, storage, logSeconds: metrics.logSeconds })
      return new ReplicatedStorage(replica, storage, options, metrics)
    },
    hasRoom: () => backend.hasRoom(),
    releaseHeadroom: () => backend.releaseHeadroom(),
    restoreHeadroom: () => backend.restoreHeadroom(),
  }
}

/** `sync` has no effect, because the servers of the log decide how durable a commit is. */
class ReplicatedStorage implements Storage, SharedStorage {
  readonly #replica: Replica
  readonly #storage: Storage
  readonly #lease: Lease
  readonly #node: string
  readonly #metrics: LogMetrics
  #closing: Promise<void> | undefined

  constructor(replica: Replica, storage: Storage, { lease, node }: ReplicatedStorageOptions, metrics: LogMetrics) {
    this.#replica = replica
    this.#storage = storage
    this.#lease = lease
    this.#node = node
    this.#metrics = metrics
  }

  get shared(): SharedStorage {
    return this
  }

  get local(): Storage {
    return this.#openStorage
  }

  follow(stored: (operations: readonly Operation[]) => Promise<void>): Promise<void> {
    return this.#replica.follow(stored)
  }

  async own(): Promise<void> {
    await this.#lease.acquire()
    await this.#replica.claim(this.#node)
    this.#metrics.takeOvers++
  }

  whenEnded(task: (failure: StorageFailure) => void): void {
    this.#replica.whenEnded((failure) => {
      // Lets another node take over, even if this one only has a problem with its disk.
      void this.#lease.release()
      task(failure)
    })
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

  diskBytes(): Promise<number> {
    return this.#storage.diskBytes()
  }

  compact(): Promise<void> {
    return this.#storage.compact()
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
