import { type ChainPosition, chainStart } from '#cluster/log-chain'
import { Replica, type ReplicaOptions } from '#cluster/replica'
import type { Lease } from '#cluster/shared-log'
import { Histogram } from '#runtime/histogram'
import { type Storage, type StorageBackend, StorageFailure } from '#runtime/storage'
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
      const local = await backend.open()
      if (local.get(keys.replica) === undefined && (await firstRowOf(local, { ...everyKey, hasValues: false }))) {
        await local.close()
        throw new StorageFailure(
          'damaged',
          'this data folder does not belong to a node of a cluster: use an empty one, with the identity.key of the other nodes',
        )
      }
      replica = new Replica({ ...options, storage: local, logSeconds: metrics.logSeconds })
      return sharedStorage(replica, local, options, metrics)
    },
    hasRoom: () => backend.hasRoom(),
    releaseHeadroom: () => backend.releaseHeadroom(),
    restoreHeadroom: () => backend.restoreHeadroom(),
  }
}

/** `sync` of `write` has no effect, because the servers of the log decide how durable a commit is. */
function sharedStorage(
  replica: Replica,
  local: Storage,
  { lease, node }: ReplicatedStorageOptions,
  metrics: LogMetrics,
): Storage {
  let closing: Promise<void> | undefined
  const open = () => {
    if (closing !== undefined) throw new StorageFailure('closed', 'the store was closed')
    return local
  }
  const close = async () => {
    await replica.close()
    await local.close()
    await lease.release()
  }
  return {
    get: (key) => open().get(key),
    scan: (range) => open().scan(range),
    async write(operations) {
      open()
      await replica.commit(operations)
    },
    memoryBytes: () => local.memoryBytes(),
    diskBytes: () => local.diskBytes(),
    compact: () => local.compact(),
    close: () => {
      closing ??= close()
      return closing
    },
    shared: {
      get local() {
        return open()
      },
      follow: (stored) => replica.follow(stored),
      async own() {
        await lease.acquire()
        await replica.claim(node)
        metrics.takeOvers++
      },
      whenEnded: (task) =>
        replica.whenEnded((failure) => {
          // Lets another node take over, even if this one only has a problem with its disk.
          void lease.release()
          task(failure)
        }),
    },
  }
}
