import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { ClusterFailure } from '#cluster/cluster-failure'
import { leaseMs, NatsLease } from '#cluster/nats-lease'
import { natsLog } from '#cluster/nats-log'
import { NatsNodes } from '#cluster/nats-nodes'
import type { SharedLog } from '#cluster/shared-log'
import type { World } from '#runtime/world'

export interface NatsSettings {
  /** The servers, as `NATS_URL` names them. Contract 11. */
  readonly servers: readonly string[]
  /** Of all nodes that share one log. */
  readonly cluster: string
  readonly node: { readonly name: string; readonly url: string }
  /** How many servers store each message. */
  readonly replicas: number
  readonly credentialsFile: string | undefined
  /** Of a system account, to check that servers write to disk before they acknowledge. Undefined: not checked. */
  readonly systemCredentialsFile: string | undefined
  /** The bytes of the key file, which must be the same on all nodes. `isFirst`: there are no other nodes yet. */
  readonly fileKey: (isFirst: boolean) => Promise<Uint8Array>
}

export interface NatsCluster {
  readonly log: SharedLog
  readonly lease: NatsLease
  readonly nodes: NatsNodes
  readonly fileKey: Uint8Array
  /** The largest message that a server takes. */
  readonly messageBytesMax: number
  close(): Promise<void>
}

/** Earlier servers let two nodes win the same comparison of the last sequence (2.9.10: in 182 of 300 races). */
const versionMin = [2, 11] as const

/**
 * Connects to NATS and finds or creates the log. Waits for servers that do not answer yet.
 * @throws ClusterFailure
 */
export async function connectNats(settings: NatsSettings, world: World, waiting: () => void): Promise<NatsCluster> {
  const cancel = world.after(5_000, waiting)
  const connection = await connect(await connectionOptions(settings, settings.credentialsFile))
  cancel()
  try {
    checkVersion(connection)
    if (settings.systemCredentialsFile !== undefined) await checkSync(settings, settings.systemCredentialsFile)
    const manager = await jetstreamManager(connection)
    const stream = `${settings.cluster}_log`
    const fileKey = await findOrCreateLog(manager, stream, settings)
    const bucket = await new Kvm(jetstream(connection)).create(`${settings.cluster}_nodes`, {
      replicas: settings.replicas,
      history: 1,
      ttl: leaseMs,
    })
    const { node } = settings
    const lease = new NatsLease(world, bucket, node)
    const nodes = new NatsNodes(world, bucket, node)
    await Promise.all([lease.start(), nodes.start()])
    return {
      log: natsLog({ world, connection, manager, stream, subject: subjectOf(settings) }),
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

/** All nodes use partition 0, which is the whole store. */
function subjectOf({ cluster }: NatsSettings): string {
  return `${cluster}.log.0`
}

async function connectionOptions(settings: NatsSettings, file: string | undefined): Promise<ConnectionOptions> {
  return {
    servers: [...settings.servers],
    name: `device-data-backend ${settings.node.name} on ${hostname()}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    waitOnFirstConnect: true,
    ...(file !== undefined && { authenticator: credsAuthenticator(await readFile(file)) }),
  }
}

function checkVersion(connection: NatsConnection): void {
  const version = connection.info?.version ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1])) return
  const needed = versionMin.join('.')
  throw new ClusterFailure(`the NATS server at ${connection.getServer()} is ${version}; ${needed} or later is needed`)
}

/** Returns the bytes of the key file. */
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
      metadata: { key },
    }))
  if (created.config.metadata?.key !== key) {
    throw new ClusterFailure(
      `identity.key differs from that of the other nodes of cluster ${settings.cluster}: copy theirs into the data folder`,
    )
  }
  return fileKey
}

/** @throws ClusterFailure if a server acknowledges messages before they are on disk */
async function checkSync(settings: NatsSettings, file: string): Promise<void> {
  const connection = await connect(await connectionOptions(settings, file))
  try {
    const answers = await connection.requestMany('$SYS.REQ.SERVER.PING.JSZ', '{}', { maxWait: 2_000 })
    let count = 0
    for await (const answer of answers) {
      const { server, data } = answer.json<{
        server: { name: string }
        data?: { config?: { sync_always?: boolean } }
      }>()
      if (!data?.config) continue
      count++
      if (data.config.sync_always) continue
      throw new ClusterFailure(
        `the NATS server ${server.name} has no "sync_interval: always" in its jetstream block; DURABILITY=disk needs it`,
      )
    }
    if (count === 0) throw new ClusterFailure('NATS_SYS_CREDS is not of a system account: no server answers it')
  } finally {
    await connection.close()
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.message.includes('stream not found')
}

function failureOf(error: unknown): unknown {
  if (error instanceof ClusterFailure || !(error instanceof Error)) return error
  return new ClusterFailure(`NATS JetStream can't be used: ${error.message}`, { cause: error })
}
