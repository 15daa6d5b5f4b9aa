import { copyFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { type ClusterInfo, jetstreamManager } from '@nats-io/jetstream'
import { connect as connectNats } from '@nats-io/transport-node'
import { administrator, callApi, readToken } from '#bench/harness/identity'
import { NatsServer } from '#bench/harness/nats-servers'
import { proofServer, type ServerPlace } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { freePort, ServerProcess } from '#bench/server-process'
import { until } from '#bench/time'

interface ClusterStatus {
  readonly isOwner: boolean
  readonly generation: number
  readonly lag: { readonly entries: number }
}

/** A node of the cluster, which keeps its port and its data folder. */
export class ClusterNode {
  readonly name: string
  readonly place: ServerPlace
  readonly #environment: Readonly<Record<string, string>>
  #process: ServerProcess | undefined

  constructor(name: string, place: ServerPlace, environment: Readonly<Record<string, string>>) {
    this.name = name
    this.place = place
    const url = `http://127.0.0.1:${place.port}`
    this.#environment = { ...environment, NODE_NAME: name, NODE_URL: url }
  }

  get process(): ServerProcess {
    if (!this.#process) throw new Error(`node ${this.name} was not started`)
    return this.#process
  }

  get isRunning(): boolean {
    return this.#process?.isEnded === false
  }

  async start(): Promise<void> {
    this.#process = new ServerProcess(proofServer(this.place, { environment: this.#environment }))
    await this.process.serving()
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.process.processId, signal)
  }
}

/** Three nodes over three NATS servers, and a balancer in front of the nodes. */
export class ClusterUnderProof {
  readonly nodes: readonly ClusterNode[]
  readonly servers: readonly NatsServer[]
  readonly balancer: Balancer
  /** Authorization of the administrator. */
  person = ''

  private constructor(nodes: readonly ClusterNode[], servers: readonly NatsServer[], balancer: Balancer) {
    this.nodes = nodes
    this.servers = servers
    this.balancer = balancer
  }

  static async start(): Promise<ClusterUnderProof> {
    const servers = await NatsServer.startCluster(3)
    const environment = { NATS_URL: servers.map(({ url }) => url).join(','), NATS_REPLICAS: '3' }
    const nodes: ClusterNode[] = []
    for (const name of ['a', 'b', 'c']) {
      const place = { port: await freePort(), dataFolder: temporaryFolder(`cluster-${name}-`).path }
      nodes.push(new ClusterNode(name, place, environment))
    }
    const ports = () => nodes.filter(({ isRunning }) => isRunning).map(({ place }) => place.port)
    const cluster = new ClusterUnderProof(nodes, servers, await startBalancer(ports))
    const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]]
    await first.start()
    for (const { place } of others) {
      await copyFile(join(first.place.dataFolder, 'identity.key'), join(place.dataFolder, 'identity.key'))
    }
    await Promise.all(others.map((node) => node.start()))
    cluster.person = `Bearer ${await readToken(first.place.port, administrator)}`
    return cluster
  }

  /** Undefined if the node gives no status, for example while it opens its store. */
  async statusOf(node: ClusterNode): Promise<ClusterStatus | undefined> {
    const { person } = this
    const answer = callApi<{ cluster: ClusterStatus }>(node.place.port, '/health/status', { person })
    return (await answer.catch(() => undefined))?.cluster
  }

  /** Waits for an owner. */
  async owner(): Promise<ClusterNode> {
    let owner: ClusterNode | undefined
    const isOwned = async () => {
      const running = this.nodes.filter(({ isRunning }) => isRunning)
      const statuses = await Promise.all(running.map((node) => this.statusOf(node)))
      owner = running[statuses.findIndex((status) => status?.isOwner)]
      return owner !== undefined
    }
    if (!(await until(isOwned, 60_000, 20)) || !owner) throw new Error('no node became the owner within a minute')
    return owner
  }

  others(node: ClusterNode): readonly ClusterNode[] {
    return this.nodes.filter((each) => each !== node)
  }

  /** Waits until this node has stored the whole log. */
  async followed(node: ClusterNode): Promise<void> {
    const isWhole = async () => (await this.statusOf(node))?.lag.entries === 0
    if (!(await until(isWhole, 20_000, 20))) throw new Error(`node ${node.name} did not follow`)
  }

  /** The NATS server that leads the log. */
  async leader(): Promise<NatsServer> {
    let found: NatsServer | undefined
    await this.#log('has no leader', ({ leader }) => {
      found = this.servers.find(({ name }) => name === leader)
      return found !== undefined
    })
    return found as unknown as NatsServer
  }

  /** Waits until all servers have the whole log, so that the next failure hits a complete cluster. */
  async serversFollowed(): Promise<void> {
    await this.#log('is not on all servers', ({ leader, replicas = [] }) => {
      return !!leader && replicas.length === this.servers.length - 1 && replicas.every(({ current }) => current)
    })
  }

  /** Waits until this is true of the log's servers. @throws Error after 30 s */
  async #log(what: string, isTrue: (servers: ClusterInfo) => boolean): Promise<void> {
    const connection = await connectNats({ servers: this.servers.map(({ url }) => url) })
    let cause: unknown
    const isTrueNow = async () => {
      try {
        const { cluster } = await (await jetstreamManager(connection)).streams.info('devices_log')
        return cluster !== undefined && isTrue(cluster)
      } catch (error) {
        cause = error
        return false
      }
    }
    try {
      if (!(await until(isTrueNow, 30_000, 100))) throw new Error(`the log ${what} after 30 s`, { cause })
    } finally {
      await connection.close()
    }
  }

  async end(): Promise<void> {
    this.balancer.stop()
    await Promise.all(this.nodes.filter(({ isRunning }) => isRunning).map(({ process }) => process.kill()))
    await Promise.all(this.servers.map((server) => server.discard()))
  }
}

interface Balancer {
  readonly port: number
  stop(): void
}

/** Forwards each client to one of these ports on loopback that accepts the connection. The ports are used in rotation. */
async function startBalancer(portsNow: () => readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  let turn = 0
  const note = (socket: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  const forward = (client: Socket, attempts: number) => {
    const ports = portsNow()
    const port = ports[turn++ % ports.length]
    if (port === undefined || attempts === 0) {
      client.destroy()
      return
    }
    const server = note(connect(port, '127.0.0.1'))
    const tryNext = () => forward(client, attempts - 1)
    server.once('error', tryNext)
    server.once('connect', () => {
      server.off('error', tryNext)
      // Destroys both when one of them has failed.
      pipeline(client, server, client, () => {})
    })
  }
  const listener = createServer((client) => forward(note(client), portsNow().length * 2))
  const port = await freePort()
  await new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve))
  const stop = () => {
    listener.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port, stop }
}
