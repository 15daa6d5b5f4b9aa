import { createHash } from 'node:crypto'
import {
  type ConsumerMessages,
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
import { checkSync, checkVersion, connectToNats, type NatsServers } from '#cluster/nats-connection'
import { leaseMs, NatsLease } from '#cluster/nats-lease'
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
export async function connectNats(settings: NatsSettings, world: World, waiting: () => void) {
  const cancel = world.after(5_000, waiting)
  try {
    return await openCluster(await connectToNats(settings, settings.credentialsFile), settings, world)
  } finally {
    cancel()
  }
}

async function openCluster(connection: NatsConnection, settings: NatsSettings, world: World) {
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
      /** The extent of the log, and the removal of its beginning. */
      logStore: {
        async extent() {
          const { first_seq: first, last_seq: last, messages, bytes } = (await manager.streams.info(stream)).state
          return { first, last, messages, bytes }
        },
        async trim(before: number) {
          await manager.streams.purge(stream, { seq: before })
        },
      },
      /** Firmware images. */
      objects,
      lease,
      nodes,
      fileKey,
      /** The largest message that a server takes. */
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

interface NatsLogOptions {
  readonly world: World
  readonly connection: NatsConnection
  readonly stream: string
  readonly subject: string
}

/**
 * The longest wait for the answer to a request. A later answer to an append is ignored: the node receives the message
 * from the log, or appends it again.
 */
const answerMsMax = 1_000
/**
 * A consumer that sends nothing for twice this time is gone, for example because its server stopped. NATS accepts no
 * smaller value.
 */
const heartbeatMs = 500
/** How long one request for messages is valid. */
const requestMs = 5_000
/** The pause before the log is followed again after an error. */
const followAgainMs = 100

/** The shared log as a stream of NATS JetStream. */
function natsLog({ world, connection, stream, subject }: NatsLogOptions): SharedLog {
  const client = jetstream(connection, { timeout: answerMsMax })
  // `false`: does not check first whether the servers answer.
  const manager = client.jetstreamManager(false)
  return {
    async append(message, after) {
      const options = { expect: { lastSubjectSequence: after }, retries: 0 }
      const { seq } = await withoutStacks(() => client.publish(subject, message, options))
      return seq
    },
    async lastSequence() {
      return (await (await manager).streams.info(stream)).state.last_seq
    },
    follow(after, receive) {
      let last = after
      let isFollowing = true
      let messages: ConsumerMessages | undefined
      // Reads stored messages from any server, which works even if the log has no leader and no consumer can be
      // created.
      const readStored = async () => {
        for (;;) {
          const message = await (await manager).direct.getMessage(stream, { seq: last + 1, next_by_subj: subject })
          if (!message || !isFollowing) return
          last = message.seq
          await receive(message.seq, message.data)
        }
      }
      const consume = async () => {
        const consumer = await client.consumers.get(stream, { opt_start_seq: last + 1, filter_subjects: subject })
        messages = await consumer.consume({ idle_heartbeat: heartbeatMs, expires: requestMs })
        void stopIfSilent(messages)
        for await (const message of messages) {
          if (!isFollowing) break
          last = message.seq
          await receive(message.seq, message.data)
        }
      }
      const repeat = async () => {
        while (isFollowing && !connection.isClosed()) {
          // After an error the consumer is made again, from the next message on.
          await readStored().catch(() => {})
          await consume().catch(() => {})
          if (isFollowing) await new Promise<void>((resolve) => world.after(followAgainMs, resolve))
        }
      }
      // After a lost connection, the library would ask for the consumer only every five seconds until the servers
      // answer.
      const stopIfDisconnected = async () => {
        for await (const { type } of connection.status()) {
          if (!isFollowing) break
          if (type === 'disconnect') messages?.stop()
        }
      }
      void repeat()
      void stopIfDisconnected()
      return () => {
        isFollowing = false
        messages?.stop()
      }
    },
  }
}

/** Stops at missed heartbeats: the library itself waits much longer for a consumer whose server is gone. */
async function stopIfSilent(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (type === 'heartbeats_missed') messages.stop()
}

/**
 * Runs a call without stack traces. The library creates two errors for each request in advance, and their stacks would
 * cost more than the rest of the request.
 */
function withoutStacks<Result>(call: () => Result): Result {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return call()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
