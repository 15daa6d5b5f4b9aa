import { integer, option } from '#bench/command-line'
import { readFoldedState, type StreamEvent, streamHead } from '#bench/dashboard'
import type { FoldedState } from '#bench/dashboard/folded-state'
import { type Authorizations, askApi, callApi, createProvisioningKey, gateway } from '#bench/harness/identity'
import { type NatsServer, noNats } from '#bench/harness/nats-servers'
import { LoadFleet } from '#bench/load/fleet'
import { type ClusterNode, ClusterUnderProof } from '#bench/proof/cluster/nodes'
import { Writer } from '#bench/proof/cluster/writer'
import { EventChecker } from '#bench/proof/event-checker'
import { ProofFleets } from '#bench/proof/fleets'
import type { Outcome, Proof } from '#bench/proof/outcome'
import { SeededRandom } from '#bench/random'
import { sleep, until } from '#bench/time'

interface ClusterOptions {
  readonly seed: number
  readonly devices: number
  readonly ownerKills: number
  readonly serverKills: number
  readonly pauses: number
  readonly outageSeconds: number
}

/** The longest permitted interruptions, in milliseconds. Contract 11. */
const bars = { kill: 5_000, killWithLeader: 12_000, handOver: 2_000 } as const
const quietMsMax = 60_000
const problemsMax = 5
const bulkPrefix = 'BULK'
/** How long a node may answer reads without the log, and how long a write waits for it. Contract 11. */
const [readsMs, writesMs] = [60_000, 15_000]
const leaseMs = 2_500

/** The load on a cluster, and the checks. */
class ClusterRun {
  readonly #options: ClusterOptions
  readonly #print: (line: string) => void
  readonly #cluster: ClusterUnderProof
  readonly #random: SeededRandom
  readonly #writer: Writer
  readonly #problems: string[] = []
  readonly #summary: string[] = []
  #fleets: ProofFleets | undefined
  #checkers: readonly EventChecker[] = []

  constructor(cluster: ClusterUnderProof, options: ClusterOptions, print: (line: string) => void) {
    this.#cluster = cluster
    this.#options = options
    this.#print = print
    this.#random = new SeededRandom(options.seed)
    this.#writer = new Writer(cluster.balancer.port, cluster.person)
  }

  async run(): Promise<Outcome> {
    await this.#load()
    await this.#measured('SIGKILL of the owner', bars.kill, (owner) => owner.process.kill())
    await this.#measured('SIGKILL of the owner and of the leader of the log', bars.killWithLeader, async (owner) => {
      const leader = await this.#cluster.leader()
      await Promise.all([leader.kill(), owner.process.kill()])
      return () => leader.startAgain()
    })
    await this.#measured('SIGTERM of the owner', bars.handOver, async (owner) => {
      owner.signal('SIGTERM')
    })
    await this.#rollingRestart()
    if (this.#options.outageSeconds > 0) await this.#outage()
    await this.#disturbances()
    await this.#end()
    return { summary: this.#summary, problems: this.#problems }
  }

  async #load(): Promise<void> {
    const { person, balancer, nodes } = this.#cluster
    const key = await createProvisioningKey(balancer.port, person, 'Fleets')
    const startedAt = performance.now()
    await this.#createDevices({ link: gateway(key), person: '' })
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    this.#note(`${this.#options.devices} devices created in ${seconds} s`)
    const fleets = new ProofFleets({ ...this.#options, devices: 40, rate: 1_000, port: balancer.port, key })
    this.#fleets = fleets
    const others = ({ deviceIdentifier }: StreamEvent) =>
      this.#writer.owns(deviceIdentifier) || String(deviceIdentifier).startsWith(bulkPrefix)
    for (const node of nodes) await this.#cluster.followed(node)
    this.#checkers = await Promise.all(
      nodes.map(async ({ name, process: { url } }) => {
        const from = await streamHead(url, person)
        const { sentFrames } = fleets
        return new EventChecker({ name, url, sentFrames, from, rule: 'whole', authorization: person, others })
      }),
    )
    for (const { dashboard } of this.#checkers) dashboard.start()
    await fleets.start()
    this.#writer.start()
    await sleep(2_000)
  }

  async #createDevices(authorizations: Authorizations): Promise<void> {
    const links = Math.min(50, this.#options.devices)
    const devices = Math.ceil(this.#options.devices / links) * links
    const size = { prefix: bulkPrefix, devices, links, window: 8, changes: 4, properties: 4 }
    const bulk = new LoadFleet({ ...size, port: this.#cluster.balancer.port, authorizations })
    await bulk.open()
    bulk.close()
    bulk.check()
  }

  /**
   * Ends the owner under load, and measures the longest write at another node meanwhile. `end` may return a task to run
   * afterwards.
   */
  async #measured(
    what: string,
    msMax: number,
    end: (owner: ClusterNode) => Promise<(() => Promise<void>) | void>,
  ): Promise<void> {
    const owner = await this.#cluster.owner()
    await this.#writer.stop()
    this.#writer.reset()
    const [near] = this.#cluster.others(owner) as [ClusterNode]
    const after = await end(owner)
    do await this.#writer.one(near.place.port)
    while (owner.isRunning)
    const ms = this.#writer.longestMs
    this.#note(`${what}: a write at another node took ${(ms / 1000).toFixed(1)} s (at most ${msMax / 1000})`)
    if (ms > msMax) this.#problems.push(`${what}: a write took ${Math.round(ms)} ms`)
    this.#refusals(what)
    await after?.()
    await owner.process.ended
    await owner.start()
    this.#writer.start()
    await this.#caughtUp(what)
  }

  async #rollingRestart(): Promise<void> {
    this.#writer.reset()
    for (const node of this.#cluster.nodes) {
      const result = await node.process.stop()
      if (result !== 0) this.#problems.push(`node ${node.name} ended with ${result} at SIGTERM`)
      await node.start()
      await this.#cluster.followed(node)
    }
    const { longestMs } = this.#writer
    this.#note(`rolling restart of all nodes: the slowest of the requests took ${Math.round(longestMs)} ms`)
    if (longestMs > bars.handOver) this.#problems.push(`rolling restart: a request took ${Math.round(longestMs)} ms`)
    this.#refusals('rolling restart')
    await this.#caughtUp('rolling restart')
  }

  /** Kills all servers of the log, and starts them again after the outage. */
  async #outage(): Promise<void> {
    const { servers, nodes, person } = this.#cluster
    await this.#writer.stop()
    this.#writer.reset()
    const goneAt = performance.now()
    await Promise.all(servers.map((server) => server.kill()))
    const body = { deviceIdentifier: 'NONE' }
    const write = callApi(nodes[0]?.place.port ?? 0, '/devices', { person, body }).then(
      () => 'accepted',
      (error: Error) => error.message,
    )
    let refusedAt = 0
    void write.then(() => {
      refusedAt = performance.now() - goneAt
    })
    const refusedReads: number[] = []
    // While the owner still has its lease, reads at it wait for the change.
    await sleep(leaseMs)
    const readsUntil = Math.min(readsMs, this.#options.outageSeconds * 1000) - 2_000
    while (performance.now() - goneAt < readsUntil) {
      for (const { place } of nodes) {
        const head = await streamHead(`http://127.0.0.1:${place.port}`, person).catch(() => undefined)
        if (!head) refusedReads.push(performance.now() - goneAt)
      }
      await sleep(200)
    }
    const answer = await write
    this.#note(`without NATS: a write was refused after ${(refusedAt / 1000).toFixed(1)} s`)
    if (!answer.includes('503') || refusedAt < writesMs - 1_000 || refusedAt > writesMs + 5_000)
      this.#problems.push(`without NATS a write was answered after ${Math.round(refusedAt)} ms: ${answer}`)
    if (refusedReads.length > 0)
      this.#problems.push(
        `without NATS ${refusedReads.length} reads were refused, the first after ${refusedReads[0]} ms`,
      )
    await sleep(this.#options.outageSeconds * 1000 - (performance.now() - goneAt))
    if (this.#options.outageSeconds * 1000 > readsMs) {
      for (const { place } of nodes) {
        const { status } = await askApi(place.port, '/health', {})
        if (status !== 503) this.#problems.push(`without NATS for a minute, /health was answered ${status}`)
      }
    }
    await Promise.all(servers.map((server) => server.startAgain()))
    const ms = await this.#writer.one()
    this.#note(`after the servers came back: a write was accepted after ${(ms / 1000).toFixed(1)} s`)
    this.#writer.reset()
    this.#writer.start()
    await this.#caughtUp('without NATS')
  }

  async #disturbances(): Promise<void> {
    const { ownerKills, serverKills, pauses } = this.#options
    const rounds = [
      ...Array.from({ length: ownerKills }, () => () => this.#killOwner()),
      ...Array.from({ length: serverKills }, () => () => this.#killServer()),
      ...Array.from({ length: pauses }, () => () => this.#pauseOwner()),
    ]
    const pausesMs: number[] = []
    for (let round = 1; rounds.length > 0 && this.#problems.length < problemsMax; round++) {
      const [disturb] = rounds.splice(this.#random.below(rounds.length), 1) as [(typeof rounds)[number]]
      this.#writer.reset()
      const what = `round ${round}: ${await disturb()}`
      await this.#caughtUp(what)
      const { longestMs } = this.#writer
      pausesMs.push(longestMs)
      if (longestMs > writesMs) this.#problems.push(`${what}: a write took ${Math.round(longestMs)} ms`)
      this.#refusals(what)
      if (round % 10 === 0) this.#print(`${what}: writes paused for ${Math.round(longestMs)} ms`)
    }
    pausesMs.sort((a, b) => a - b)
    const at = (share: number) => Math.round(pausesMs[Math.floor((pausesMs.length - 1) * share)] ?? 0)
    this.#note(
      `${ownerKills} kills of the owner, ${serverKills} of a server, ${pauses} SIGSTOP of the owner: a write took ` +
        `${at(0.5)} ms (median), ${at(1)} ms (longest)`,
    )
  }

  async #killOwner(): Promise<string> {
    await sleep(this.#random.between(200, 1_500))
    const owner = await this.#cluster.owner()
    await owner.process.kill()
    await this.#cluster.owner()
    await owner.start()
    return `SIGKILL of ${owner.name}`
  }

  async #killServer(): Promise<string> {
    await this.#cluster.serversFollowed()
    await sleep(this.#random.between(200, 1_500))
    const server = this.#random.pick(this.#cluster.servers) as NatsServer
    await server.kill()
    await sleep(this.#random.between(200, 3_000))
    await server.startAgain()
    return `SIGKILL of ${server.name}`
  }

  /** Pauses the owner for a random time. Only after a long pause has another node become the owner. */
  async #pauseOwner(): Promise<string> {
    await sleep(this.#random.between(200, 1_500))
    const owner = await this.#cluster.owner()
    owner.signal('SIGSTOP')
    await sleep(this.#random.between(300, 6_000))
    owner.signal('SIGCONT')
    return `SIGSTOP of ${owner.name}`
  }

  /** Checks that the dashboard of each node receives every acknowledged change. */
  async #caughtUp(what: string): Promise<void> {
    await this.#cluster.owner()
    for (const [place, { dashboard, frames }] of this.#checkers.entries()) {
      const sent = (this.#fleets as ProofFleets).sentFrames()
      const { name } = this.#cluster.nodes[place] as ClusterNode
      if (!(await dashboard.caughtUp(quietMsMax))) this.#problems.push(`${what}: dashboard ${name} did not catch up`)
      // The node may have answered from its own data, because it did not know the new owner yet.
      await until(() => frames.missingOf(sent).length === 0, 10_000, 100)
      const missing = frames.missingOf(sent)
      if (missing.length > 0) this.#problems.push(`${what}: dashboard ${name}: ${missing.slice(0, 3).join('; ')}`)
    }
  }

  #refusals(what: string): void {
    const { refusals } = this.#writer
    if (refusals.length > 0)
      this.#problems.push(`${what}: ${refusals.length} requests were refused, the first with ${refusals[0]}`)
  }

  async #end(): Promise<void> {
    await this.#writer.stop()
    const fleets = this.#fleets as ProofFleets
    if (!(await fleets.settled(quietMsMax))) this.#problems.push('not all frames were acknowledged at the end')
    await this.#caughtUp('at the end')
    for (const checker of this.#checkers) {
      checker.dashboard.stop()
      this.#problems.push(...checker.problems())
    }
    fleets.close()
    this.#problems.push(...fleets.faults.map((fault) => `link: ${fault}`))
    const { nodes, person } = this.#cluster
    const states = await Promise.all(nodes.map(({ process: { url } }) => readFoldedState(url, person)))
    const [first] = states as [FoldedState]
    for (const [place, state] of states.entries()) {
      const which = `node ${nodes[place]?.name} against ${nodes[0]?.name}`
      this.#problems.push(...state.differences(first).map((text) => `${which}: ${text}`))
    }
    const lost = this.#writer.identifiers.filter((identifier) => !first.devices.has(identifier))
    if (lost.length > 0) this.#problems.push(`${lost.length} created devices do not exist: ${lost.slice(0, 5)}`)
    const { acknowledged } = this.#checkers[0]?.frames.report() ?? {}
    this.#note(`${acknowledged} frames and ${this.#writer.created} created devices were acknowledged and found`)
  }

  #note(line: string): void {
    this.#summary.push(line)
    this.#print(line)
  }
}

export const clusterProof: Proof<Omit<ClusterOptions, 'seed'>> = {
  about: 'three nodes over three NATS servers, any of which may die at any time',
  help: `Starts three NATS servers (the program of NATS_SERVER) and three nodes. Devices and clients use all nodes through a
balancer, and a dashboard watches at each node. Ends nodes and servers in every way, and checks that every acknowledged
change is there once, that no dashboard misses or repeats an event, and that writes go on in time.`,
  options: [
    option('--devices N', 'devices that exist, besides 40 that report', integer(1), 100_000),
    option('--owner-kills N', 'SIGKILLs of the owner', integer(0), 200),
    option('--server-kills N', 'SIGKILLs of a NATS server', integer(0), 50),
    option('--pauses N', 'SIGSTOP and SIGCONT of the owner', integer(0), 100),
    option('--outage-seconds S', 'all NATS servers are gone; 0: never', integer(0), 63),
  ],
  async run(options, print) {
    if (noNats) throw new Error(noNats)
    // The exit handlers end the NATS servers.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(2))
    const cluster = await ClusterUnderProof.start()
    try {
      return await new ClusterRun(cluster, options, print).run()
    } finally {
      await cluster.end()
    }
  },
}
