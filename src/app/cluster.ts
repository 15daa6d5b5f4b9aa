import { hostname } from 'node:os'
import { anonymous } from '#access/built-in-callers'
import type { Assembly } from '#app/assembly'
import { fetchImage } from '#app/cluster-image'
import type { Config } from '#app/config'
import { realWorld } from '#app/world'
import { ClusterFailure } from '#cluster/cluster-failure'
import { DeviceTunnels } from '#cluster/device-tunnels'
import { Forwarder } from '#cluster/forwarder'
import { trimLog } from '#cluster/log-trim'
import { connectNats } from '#cluster/nats'
import { ClusterNode, type ClusterNodeParts } from '#cluster/node'
import { replicatedStorage } from '#cluster/replicated-storage'
import { SharedBlobs } from '#cluster/shared-blobs'
import type { Authenticate } from '#http/authentication'
import type { Binding } from '#http/call'
import type { ClusterSockets } from '#routes/bindings'
import { clusterRoutes, ownersCallers } from '#routes/cluster'
import type { BlobStore } from '#runtime/blobs'
import type { Log } from '#runtime/log'
import type { StorageBackend } from '#runtime/storage'
import { KeyFileMissing, readOrMakeKeyFile } from '#store/key-file'
import { everyKeyOfNode } from '#store/key-space'
import { makeImage } from '#store/node-image'

/** The bytes of a message that are reserved for other content than its part of a commit. */
const messageSpareBytes = 1024
/** How long a node that stops waits for its last commit before another node takes over. */
const handOverMs = 1_000
/** How long an event socket waits for events that its client received from another node. */
const positionMsMax = 1_000
/** The largest part of a commit in one message: larger messages would delay others. */
const partBytesMax = 512 * 1024

/**
 * Connects to the cluster of the settings, and makes this server a node of it. `backend`: the store of this node.
 * Contract 11.
 * @throws ClusterFailure, KeyFileFailure
 */
export async function joinCluster(
  config: Config,
  log: Log,
  backend: StorageBackend,
  store: Pick<ClusterNodeParts, 'isWritable' | 'isSettled'>,
) {
  const name = config.nodeName ?? hostname()
  const node = { name, url: config.nodeUrl ?? '' }
  const nats = await connectNats(
    {
      servers: config.natsUrls,
      cluster: config.cluster,
      node,
      replicas: config.natsReplicas,
      credentialsFile: config.natsCredentials,
      systemCredentialsFile: config.durability === 'disk' ? config.natsSystemCredentials : undefined,
      fileKey: (isFirst) => fileKeyOf(config, isFirst),
    },
    realWorld,
    () => log.warn({}, 'waiting for the NATS servers of NATS_URL'),
  )
  const replicated = replicatedStorage({
    world: realWorld,
    log: nats.log,
    lease: nats.lease,
    node: name,
    partBytesMax: Math.min(partBytesMax, nats.messageBytesMax - messageSpareBytes),
    backend,
  })
  nats.nodes.sequence = () => replicated.position.sequence
  const clusterNode = new ClusterNode({
    world: realWorld,
    node,
    lease: nats.lease,
    nodes: nats.nodes,
    fileKey: nats.fileKey,
    ...store,
    position: () => replicated.position,
  })
  const forwarder = new Forwarder(clusterNode)
  const tunnels = new DeviceTunnels({
    world: realWorld,
    node: clusterNode,
    basePath: '/api/v1',
    bug: (error) => log.error({ err: error }, 'a bug: handling a device that is connected to another node'),
  })
  await fetchImage({
    world: realWorld,
    folder: config.dataDirectory,
    backend,
    extent: nats.logStore.extent,
    others: () => nats.nodes.all().filter((other) => other.name !== name),
    key: clusterNode.key,
    log,
  })
  const stopTrimming = trimLog({
    world: realWorld,
    isOwner: () => clusterNode.isOwner,
    positions: () => nats.nodes.positions(),
    log: nats.logStore,
    failed: (error) => log.warn({ err: error }, 'old messages of the log could not be deleted'),
  })
  return {
    backend: replicated,
    node: clusterNode,
    forwarder,
    /** Forwards the messages of device connections to the owner. */
    tunnels,
    /** Firmware images that outlive this node. `local`: those in its data folder. */
    imagesOf: (local: BlobStore): BlobStore =>
      new SharedBlobs({ local, bucket: nats.objects, now: () => realWorld.now() }),
    metrics: replicated.metrics,
    /** Websockets and routes of this node. */
    socketsOf: (assembly: Assembly) => clusterSockets(assembly, clusterNode, forwarder, tunnels),
    routesOf: ({ context, database, identity }: Assembly): Binding[] =>
      clusterRoutes({
        context,
        authenticate: authenticateOf(identity),
        otherNodes: forwarder,
        sequence: () => replicated.position.sequence,
        makeImage: () =>
          makeImage({
            world: realWorld,
            folder: config.dataDirectory,
            snapshot: () => database.snapshot(everyKeyOfNode),
            images: context.firmware.images,
          }),
      }),
    /** Makes another node the owner. @throws Problem `not_found`, `conflict` */
    handOverTo: (other: string, assembly: Assembly) => clusterNode.handOver(other, () => waitForCommits(assembly)),
    /** Stores the accepted changes and lets another node become the owner. Later requests are sent to that node. */
    async handOver(assembly: Assembly) {
      const timeout = new Promise<void>((resolve) => realWorld.after(handOverMs, resolve))
      await Promise.race([waitForCommits(assembly), timeout])
      await assembly.database.close()
    },
    async close() {
      stopTrimming()
      forwarder.close()
      await nats.close()
    },
  }
}

/** Waits twice, because the first commits lead to entries of the audit, which are stored by another commit. */
async function waitForCommits({ context: { system } }: Assembly): Promise<void> {
  for (let times = 0; times < 2 && system.gate.isOpen; times++) {
    await system.gate.whenStored().catch(() => {})
    await new Promise<void>((resolve) => realWorld.soon(resolve))
  }
}

function clusterSockets(
  { context, identity }: Assembly,
  node: ClusterNode,
  forwarder: Forwarder,
  tunnels: DeviceTunnels,
): ClusterSockets {
  const { hub, reader } = context.events
  return {
    ...ownersCallers({
      otherNodes: forwarder,
      context,
      authenticate: authenticateOf(identity),
      reach: (sequence) => node.reach(sequence),
      callerOf: identity?.callerOf,
      anonymous,
    }),
    async awaitPosition({ caller, resume }) {
      if (node.isOwner || typeof resume !== 'object' || resume.after.epoch !== reader.epoch) return
      await node.until(() => hub.publishedTo(caller.tenant) >= resume.after.offset, positionMsMax)
    },
    tunnelled: (route) => [tunnels.carry(route), tunnels.host],
  }
}

function authenticateOf(identity: Assembly['identity']): Authenticate {
  return identity?.authenticate ?? (() => anonymous)
}

async function fileKeyOf({ dataDirectory, cluster }: Config, isFirst: boolean): Promise<Uint8Array> {
  const random = (byteCount: number) => realWorld.random(byteCount)
  try {
    return (await readOrMakeKeyFile(dataDirectory, { random, isNeeded: !isFirst })).bytes
  } catch (error) {
    if (!(error instanceof KeyFileMissing)) throw error
    throw new ClusterFailure(
      `identity.key is missing in ${dataDirectory}: copy it from the data folder of another node of cluster ${cluster}`,
    )
  }
}
