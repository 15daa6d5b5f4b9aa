import { createHmac, timingSafeEqual } from 'node:crypto'
import type { HealthStatus } from '#api/health'
import type { NatsLease, NodeAddress } from '#cluster/nats-lease'
import type { NatsNodes } from '#cluster/nats-nodes'
import { Problem } from '#model/problem'
import type { World } from '#runtime/world'

export interface ClusterNodeParts {
  readonly world: World
  readonly node: NodeAddress
  readonly lease: Pick<NatsLease, 'isHeld' | 'holder' | 'changed' | 'handOver'>
  readonly nodes: Pick<NatsNodes, 'all' | 'others' | 'silentMs'>
  /** The bytes of `identity.key`, which all nodes have. */
  readonly fileKey: Uint8Array
  /** Whether the store of this node may be written. */
  readonly isWritable: () => boolean
  /** Whether the store may be read, and all changes in memory are certainly in the log. */
  readonly isSettled: () => boolean
  /** The position of this node in the log. */
  readonly position: () => { readonly sequence: number; readonly generation: number }
}

type ClusterStatus = NonNullable<HealthStatus['cluster']>

/** How long a request waits for an owner. Contract 11. */
const ownerMsMax = 15_000
const askAgainMs = 20
/** How long a request that another node sent here waits for this node to become the owner. */
const becomeOwnerMsMax = 1_000
/** How long a node answers reads while the servers of the log are silent. Contract 11. */
const silentMsMax = 60_000

/**
 * A hand-over waits this long, so that answers of this owner reach the other nodes before the news of the next owner.
 */
const answersMs = 100
/** How long a hand-over waits for commits in progress. */
const settledMsMax = 1_000

/** The header by which nodes recognise requests of each other. */
export const nodeKeyHeader = 'x-node-key'
/** If a request has this header and the key, the node answers from its own store if it can. */
export const ownStateHeader = 'x-own-state'

/** The cluster as this node sees it: which node is the owner, and which node answers a request. */
export class ClusterNode {
  readonly #parts: ClusterNodeParts
  /** `announced`: the answer to the request for it may still be on its way. */
  #handOver: 'none' | 'announced' | 'running' = 'none'
  #pausing: Promise<void> | undefined
  /** Sent with requests to other nodes. */
  readonly key: string

  constructor(parts: ClusterNodeParts) {
    this.#parts = parts
    this.key = createHmac('sha256', parts.fileKey).update('requests between nodes').digest('base64url')
  }

  /**
   * Whether this node applies changes: it owns the log, no other node can have the lease, and no hand-over is in
   * progress.
   */
  get isOwner(): boolean {
    return this.#parts.isWritable() && this.#parts.lease.isHeld && this.#handOver !== 'running'
  }

  /** Where requests are answered: here, at the URL of another node, or nowhere at this moment. */
  get place(): 'here' | URL | undefined {
    if (this.isOwner) return 'here'
    const { holder } = this.#parts.lease
    return holder && holder.name !== this.#parts.node.name ? new URL(holder.url) : undefined
  }

  /**
   * Begins to make another node the owner. After `answersMs`, new requests wait for the next owner.
   * @param waitForCommits resolves when the pending commits are stored
   * @throws Problem `not_found`, `conflict`
   */
  handOver(name: string, waitForCommits: () => Promise<unknown>): void {
    const { world, node, nodes } = this.#parts
    if (name === node.name) throw new Problem('conflict', `${name} is the owner`)
    const all = nodes.all()
    const to = all.find((other) => other.name === name)
    if (!to) {
      const names = all.map((other) => other.name).join(', ')
      throw new Problem('not_found', `no running node has the name ${name}; there are ${names}`)
    }
    if (this.#handOver !== 'none') throw new Problem('conflict', 'another hand-over is in progress')
    this.#handOver = 'announced'
    world.after(answersMs, async () => {
      this.#handOver = 'running'
      try {
        await Promise.race([waitForCommits(), new Promise<void>((resolve) => world.after(settledMsMax, resolve))])
        await new Promise<void>((resolve) => world.after(answersMs, resolve))
        await this.#parts.lease.handOver(to)
      } catch {
        // This node gets the lease again, or another one does.
      } finally {
        this.#handOver = 'none'
      }
    })
  }

  /** Calls `task` when another node may have become the owner. */
  onOwnerChanged(task: () => void): void {
    this.#parts.lease.changed.push(task)
  }

  /** Waits a short time for this node to become the owner, unless another node has the lease or will have it. */
  async becomesOwner(): Promise<boolean> {
    await this.until(() => this.isOwner || this.#handOver === 'running' || this.place !== undefined, becomeOwnerMsMax)
    return this.isOwner
  }

  /** The URL of the node that has the lease. */
  get ownerUrl(): string | undefined {
    const { holder } = this.#parts.lease
    return holder && new URL(holder.url).href
  }

  /** Waits for a condition, and returns whether it is met. */
  async until(isMet: () => boolean, msMax: number): Promise<boolean> {
    const { world } = this.#parts
    const until = world.monotonic() + msMax
    while (!isMet() && world.monotonic() < until) await this.#pause()
    return isMet()
  }

  /** World.after. */
  after(delayMs: number, task: () => void): () => void {
    return this.#parts.world.after(delayMs, task)
  }

  /** The time until which a request that began at `since` may wait. Both by `World.monotonic`. */
  deadline(since = this.#parts.world.monotonic()): number {
    return since + ownerMsMax
  }

  /** @throws Problem `storage` after the deadline */
  async pause(deadline: number): Promise<void> {
    const { world } = this.#parts
    if (world.monotonic() > deadline) throw new Problem('storage')
    await this.#pause()
  }

  /** One timer for all callers: after a failure there may be tens of thousands. */
  #pause(): Promise<void> {
    this.#pausing ??= new Promise<void>((resolve) => this.#parts.world.after(askAgainMs, resolve)).finally(() => {
      this.#pausing = undefined
    })
    return this.#pausing
  }

  /** Whether reads may be answered from this node's store while there is no owner. */
  get mayRead(): boolean {
    return this.#parts.nodes.silentMs < silentMsMax
  }

  /** Whether reads are answered, here or by another node. */
  get answersReads(): boolean {
    return this.place !== undefined || this.mayRead
  }

  /**
   * Whether this node cannot answer from its own state: it has changes that are perhaps not in the log, or its store
   * cannot be read.
   */
  get isUnsettled(): boolean {
    return !this.#parts.isSettled()
  }

  /** The last known URLs of the other nodes. */
  get otherPlaces(): readonly URL[] {
    return this.#parts.nodes.others.map(({ url }) => new URL(url))
  }

  /** Waits until this node has stored this message of the log. @throws Problem `storage` */
  async reach(sequence: number): Promise<void> {
    const deadline = this.deadline()
    while (this.#parts.position().sequence < sequence) await this.pause(deadline)
  }

  isKey(given: string): boolean {
    const [bytes, key] = [Buffer.from(given), Buffer.from(this.key)]
    return bytes.length === key.length && timingSafeEqual(bytes, key)
  }

  /** For `/health/status`. Contract 11. */
  status(): ClusterStatus {
    const { node, lease, nodes, position } = this.#parts
    const all = nodes.all()
    return {
      node: node.name,
      owner: lease.holder?.name ?? null,
      generation: position().generation,
      isOwner: this.isOwner,
      lag: all.find(({ name }) => name === node.name)?.lag ?? { entries: 0, ms: 0 },
      nodes: all.map(({ name, url, lag }) => ({ node: name, url, lag })),
    }
  }
}
