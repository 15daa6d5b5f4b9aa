import { createHash } from 'node:crypto'
import {
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { Objm } from '@nats-io/obj'
import { type NatsConnection, TimeoutError } from '@nats-io/transport-node'
import { ClusterFailure } from '#cluster/cluster-failure'
import type { LogTrimOptions } from '#cluster/log-trim'
import { checkSync, checkVersion, connectToNats, type NatsServers } from '#cluster/nats-connection'
import { leaseMs, NatsLease } from '#cluster/nats-lease'
import { natsLog } from '#cluster/nats-log'
import { NatsNodes } from '#cluster/nats-nodes'
import type { ObjectBucket } from '#cluster/shared-blobs'
import type { SharedLog } from '#cluster/shared-log'
import { Problem } from '#model/problem'
import type { World } from '#runtime/world'

export interface NatsSettings extends NatsServers {
  /** The name that all nodes with the same log have in common. */
  readonly cluster: string
  readonly node: { readonly name: string; readonly url: string }
  /** How many servers store each message. */
  readonly replicas: number
  readonly credentialsFile: string | undefined
  /** Credentials of a system account, to check that servers sync before they acknowledge. Undefined: not checked. */
  readonly systemCredentialsFile: string | undefined
  /** The bytes of the key file, which must be the same on all nodes. `isFirst`: there are no other nodes yet. */
  readonly fileKey: (isFirst: boolean) => Promise<Uint8Array>
}

export interface NatsCluster {
  readonly log: SharedLog
  /** The extent of the log, and the removal of its beginning. */
  readonly logStore: LogTrimOptions['log']
  /** Firmware images. */
  readonly objects: ObjectBucket
  readonly lease: NatsLease
  readonly nodes: NatsNodes
  readonly fileKey: Uint8Array
  /** The largest message that a server takes. */
  readonly messageBytesMax: number
  close(): Promise<void>
}

/** The timeout of one request for the lease. The request is repeated after this time. */
const bucketMsMax = 1_000
/** The status of JetStream while it has no leader. */
const unavailableStatus = 503
/** The pause before repeating a request that the servers could not answer yet. */
const askAgainMs = 250

/**
 * Connects to NATS and finds or creates the log. Waits for servers that do not answer, or have no leader yet; calls
 * `waiting` if that takes more than 5 s.
 * @throws ClusterFailure
 */
export async function connectNats(settings: NatsSettings, world: World, waiting: () => void): Promise<NatsCluster> {
  const cancel = world.after(5_000, waiting)
  try {
    return await openCluster(await connectToNats(settings, settings.credentialsFile), settings, world)
  } finally {
    cancel()
  }
}

async function openCluster(connection: NatsConnection, settings: NatsSettings, world: World): Promise<NatsCluster> {
  try {
    checkVersion(connection)
    const { systemCredentialsFile } = settings
    if (systemCredentialsFile !== undefined) {
      const system = await connectToNats(settings, systemCredentialsFile)
      await checkSync(system).finally(() => system.close())
    }
    const { cluster, node, replicas } = settings
    const available = <Value>(step: () => Promise<Value>) => whenAvailable(world, step)
    const manager = await available(() => jetstreamManager(connection))
    const stream = `${cluster}_log`
    const fileKey = await available(() => findOrCreateLog(manager, stream, settings))
    const bucket = await available(() =>
      new Kvm(jetstream(connection, { timeout: bucketMsMax })).create(`${cluster}_nodes`, {
        replicas,
        history: 1,
        ttl: leaseMs,
      }),
    )
    const objects = await available(() => natsObjects(jetstream(connection), `${cluster}_images`, replicas))
    const lease = new NatsLease(world, bucket, node)
    const nodes = new NatsNodes(world, bucket, node)
    await available(() => nodes.start())
    await lease.start()
    return {
      log: natsLog({ world, connection, stream, subject: subjectOf(settings) }),
      logStore: {
        async extent() {
          const { first_seq: first, last_seq: last, messages, bytes } = (await manager.streams.info(stream)).state
          return { first, last, messages, bytes }
        },
        async trim(before) {
          await manager.streams.purge(stream, { seq: before })
        },
      },
      objects,
      lease,
      nodes,
      fileKey,
      messageBytesMax: connection.info?.max_payload ?? 1024 * 1024,
      async close() {
        nodes.stop()
        await lease.stop()
        await connection.close()
      },
    }
  } catch (error) {
    await connection.close()
    throw failureOf(error)
  }
}

/** Repeats a step until the servers answer it: servers that have just started have no leader for some seconds. */
async function whenAvailable<Value>(world: World, step: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      const isTemporary =
        error instanceof TimeoutError || (error instanceof JetStreamApiError && error.status === unavailableStatus)
      if (!isTemporary) throw error
      await new Promise<void>((resolve) => world.after(askAgainMs, resolve))
    }
  }
}

/** All nodes use partition 0, which is the whole store. */
function subjectOf({ cluster }: NatsSettings): string {
  return `${cluster}.log.0`
}

/** Returns the bytes of the key file. @throws ClusterFailure if the log does not fit the settings or the key */
async function findOrCreateLog(manager: JetStreamManager, stream: string, settings: NatsSettings): Promise<Uint8Array> {
  const known = await manager.streams.info(stream).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
  const fileKey = await settings.fileKey(!known)
  const key = createHash('sha256').update('cluster').update(fileKey).digest('base64url')
  const created =
    known ??
    (await manager.streams.add({
      name: stream,
      subjects: [subjectOf(settings)],
      num_replicas: settings.replicas,
      storage: 'file',
      allow_direct: true,
      metadata: { key },
    }))
  if (created.config.metadata?.key !== key) {
    throw new ClusterFailure(
      `identity.key differs from that of the other nodes of cluster ${settings.cluster}: copy theirs into the data folder`,
    )
  }
  const { num_replicas: replicas } = created.config
  if (replicas < settings.replicas) {
    throw new ClusterFailure(
      `the stream ${stream} has num_replicas ${replicas}, and NATS_REPLICAS is ${settings.replicas}: ` +
        'edit the stream, or lower NATS_REPLICAS',
    )
  }
  return fileKey
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.message.includes('stream not found')
}

function failureOf(error: unknown): unknown {
  if (error instanceof ClusterFailure || !(error instanceof Error)) return error
  return new ClusterFailure(`NATS JetStream can't be used: ${error.message}`, { cause: error })
}

/** A bucket of the object store of NATS JetStream. A failure of NATS is a Problem `storage`. */
export async function natsObjects(client: JetStreamClient, bucket: string, replicas: number): Promise<ObjectBucket> {
  const store = await new Objm(client).create(bucket, { replicas })
  return {
    put: (name, pieces) =>
      answered(async () => {
        await store.put({ name }, ReadableStream.from(copied(pieces)))
      }),
    get: (name) => answered(async () => (await store.get(name))?.data),
    find: (name) =>
      answered(async () => {
        const info = await store.info(name)
        return info && !info.deleted ? { size: info.size, storedAt: Date.parse(info.mtime) } : undefined
      }),
    names: () => answered(async () => (await store.list()).map(({ name }) => name)),
    remove: (name) =>
      answered(async () => {
        if (await store.info(name)) await store.delete(name)
      }),
  }
}

async function answered<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof Problem
      ? error
      : new Problem('storage', error instanceof Error ? `NATS: ${error.message}` : undefined)
  }
}

async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) yield Uint8Array.from(piece)
}
