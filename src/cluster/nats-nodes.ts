import type { KV, KvWatchEntry } from '@nats-io/kv'
import { leaseMs, type NodeAddress } from '#cluster/nats-lease'
import type { World } from '#runtime/world'

/** The state that each node publishes about itself. */
export interface NodeState extends NodeAddress {
  /** The last message of the log that is in its store. */
  readonly sequence: number
  readonly lag: Lag
}

const keyPrefix = 'node.'
const publishEveryMs = 500
/** How long the log keeps the messages that a stopped node needs. */
const rememberedMs = 24 * 3_600_000

/** The nodes of a cluster: each publishes its state in an entry, which expires when the node stops publishing. */
export class NatsNodes {
  readonly #world: World
  readonly #bucket: KV
  readonly #node: NodeAddress
  readonly #others = new Map<string, { readonly state: NodeState; readonly seenAt: number }>()
  #cancelTimer: (() => void) | undefined
  #stopWatching: (() => void) | undefined
  /** When the servers last answered, by `World.monotonic`. */
  #answeredAt: number
  readonly #lag = new LagClock()
  /** The last message of the log that is in the store of this node. */
  sequence: () => number = () => 0

  constructor(world: World, bucket: KV, node: NodeAddress) {
    this.#world = world
    this.#bucket = bucket
    this.#node = node
    this.#answeredAt = world.monotonic()
  }

  async start(): Promise<void> {
    const entries = await this.#bucket.watch({ key: `${keyPrefix}>` })
    this.#stopWatching = () => entries.stop()
    const watch = async () => {
      for await (const entry of entries) this.#see(entry)
    }
    void watch().catch(() => {})
    await this.#publish()
  }

  /** All nodes that published within the last seconds, this one included, by name. */
  all(): readonly NodeState[] {
    const now = this.#world.monotonic()
    const others = [...this.#others.values()].filter(({ seenAt }) => now - seenAt < 2 * leaseMs)
    return [this.#own(), ...others.map(({ state }) => state)].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The last published state of every other known node, including stopped nodes. */
  get others(): readonly NodeState[] {
    return [...this.#others.values()].map(({ state }) => state)
  }

  /** The last message of this node, and of each node that published within a day. */
  positions(): readonly number[] {
    const now = this.#world.monotonic()
    for (const [name, { seenAt }] of this.#others) if (now - seenAt > rememberedMs) this.#others.delete(name)
    return [this.sequence(), ...[...this.#others.values()].map(({ state }) => state.sequence)]
  }

  /** How long the servers have not answered. */
  get silentMs(): number {
    return this.#world.monotonic() - this.#answeredAt
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#stopWatching?.()
  }

  #see(entry: KvWatchEntry): void {
    const name = entry.key.slice(keyPrefix.length)
    if (name === this.#node.name) return
    if (entry.operation === 'PUT') {
      const state = entry.json<NodeState>()
      const seenAt = this.#world.monotonic()
      this.#others.set(name, { state, seenAt })
      this.#lag.reached(state.sequence, seenAt)
    } else this.#others.delete(name)
  }

  #own(): NodeState {
    const sequence = this.sequence()
    return { ...this.#node, sequence, lag: this.#lag.behind(sequence, this.#world.monotonic()) }
  }

  async #publish(): Promise<void> {
    await this.#bucket.put(keyPrefix + this.#node.name, JSON.stringify(this.#own())).then(
      () => {
        this.#answeredAt = this.#world.monotonic()
      },
      () => {},
    )
    this.#cancelTimer = this.#world.after(publishEveryMs, () => void this.#publish())
  }
}

/** How far a node is behind another one: in messages of the log, and by the age of the oldest message that it lacks. */
export interface Lag {
  readonly entries: number
  readonly ms: number
}

/**
 * Enough for some minutes at two samples a second from each node. Above this number, the sample after the oldest one is
 * dropped.
 */
const samplesMax = 1_000

/** Measures the lag of a node by the positions that other nodes publish. */
export class LagClock {
  /** The times at which another node had a message. Sequences and times ascend. */
  #samples: { readonly sequence: number; readonly at: number }[] = []

  /** Another node has this message. `at`: World.monotonic. */
  reached(sequence: number, at: number): void {
    if (sequence <= (this.#samples.at(-1)?.sequence ?? 0)) return
    // The oldest sample stays: its age is the lag.
    if (this.#samples.length === samplesMax) this.#samples.splice(1, 1)
    this.#samples.push({ sequence, at })
  }

  /** `sequence`: the last message of this node. `at`: World.monotonic. */
  behind(sequence: number, at: number): Lag {
    const missing = this.#samples.findIndex((sample) => sample.sequence > sequence)
    this.#samples = missing < 0 ? [] : this.#samples.slice(missing)
    const [oldest] = this.#samples
    if (!oldest) return { entries: 0, ms: 0 }
    return { entries: (this.#samples.at(-1)?.sequence ?? sequence) - sequence, ms: Math.round(at - oldest.at) }
  }
}
