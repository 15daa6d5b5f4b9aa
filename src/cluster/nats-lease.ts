import type { KV, KvEntry } from '@nats-io/kv'
import type { Lease } from '#cluster/shared-log'
import type { World } from '#runtime/world'

export interface NodeAddress {
  readonly name: string
  readonly url: string
}

interface LeaseEntry extends NodeAddress {
  /** The former holder wrote this entry. The node that the entry names has to renew the entry. */
  readonly isHandedOver?: true
}

/** How long an entry is valid after it was renewed. */
export const leaseMs = 2_000
const key = 'owner'
const renewEveryMs = 500
/** How often a node without the lease tries to get it. */
const askEveryMs = 100

/**
 * The lease of the owner: an entry of a bucket whose entries expire. The lease is renewed in time to survive one lost
 * request. Each node also reads which node has the lease, because requests are forwarded to that node.
 */
export class NatsLease implements Lease {
  readonly #world: World
  readonly #bucket: KV
  readonly #node: NodeAddress
  #holder: NodeAddress | undefined
  /** The revision of the last entry that was read, of any holder. 0 if there is no entry. */
  #holderRevision = 0
  /** When this revision was first read, by `World.monotonic`. */
  #holderRenewedAt: number
  /** The revision of this node's entry. Undefined if this node does not have the lease. */
  #revision: number | undefined
  #heldUntil = Number.NEGATIVE_INFINITY
  #isWanted = false
  #isAsking = false
  #cancelTimer: (() => void) | undefined
  #waiting: { resolve(): void; reject(error: Error): void }[] = []
  /** Tasks that are called when another node than before has the lease. */
  readonly changed: (() => void)[] = []

  constructor(world: World, bucket: KV, node: NodeAddress) {
    this.#world = world
    this.#bucket = bucket
    this.#node = node
    this.#holderRenewedAt = world.monotonic()
  }

  async start(): Promise<void> {
    await this.#read()
    this.#runAfter(0)
  }

  /** The node that has the lease, as far as this node knows. */
  get holder(): NodeAddress | undefined {
    if (this.isHeld) return this.#node
    return this.#isExpired ? undefined : this.#holder
  }

  /** Whether this node has the lease, by its own clock. As long as this is true, no other node can get the lease. */
  get isHeld(): boolean {
    return this.#world.monotonic() < this.#heldUntil
  }

  acquire(): Promise<void> {
    this.#isWanted = true
    if (this.isHeld) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  async release(): Promise<void> {
    this.#isWanted = false
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the lease is not wanted any more'))
    const revision = this.#revision
    this.#revision = undefined
    this.#heldUntil = Number.NEGATIVE_INFINITY
    if (revision !== undefined) await this.#bucket.delete(key, { previousSeq: revision }).catch(() => {})
  }

  /**
   * Gives the lease to another node. If that node does not want the lease, the lease expires. @throws errors of NATS
   */
  async handOver({ name, url }: NodeAddress): Promise<void> {
    while (this.#isAsking) await new Promise<void>((resolve) => this.#world.after(1, resolve))
    const revision = this.#revision
    if (revision === undefined) return
    this.#revision = undefined
    this.#heldUntil = Number.NEGATIVE_INFINITY
    const entry: LeaseEntry = { name, url, isHandedOver: true }
    await this.#bucket.update(key, JSON.stringify(entry), revision)
  }

  async stop(): Promise<void> {
    this.#cancelTimer?.()
    await this.release()
  }

  /** Reads the entry at intervals. A watch would be silent for many seconds after it lost its server. */
  async #read(): Promise<void> {
    let entry: KvEntry | null
    try {
      entry = await this.#bucket.get(key)
    } catch {
      return
    }
    const found = entry?.operation === 'PUT' ? entry.json<LeaseEntry>() : undefined
    const revision = entry?.revision ?? 0
    if (revision !== this.#holderRevision) this.#holderRenewedAt = this.#world.monotonic()
    this.#holderRevision = revision
    this.#setHolder(found)
    if (found?.isHandedOver && found.name === this.#node.name && this.#isWanted) this.#revision = revision
  }

  #setHolder(holder: NodeAddress | undefined): void {
    const before = this.#holder?.name
    this.#holder = holder
    if (holder && holder.name !== before) for (const task of this.changed) task()
  }

  get #isExpired(): boolean {
    return this.#world.monotonic() - this.#holderRenewedAt > leaseMs
  }

  #runAfter(delayMs: number): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#world.after(delayMs, () => void this.#run())
  }

  async #run(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      if (this.#revision === undefined) await this.#read()
      const isRenewal = this.#revision !== undefined
      if (this.#isWanted && (isRenewal || !this.#holder || this.#isExpired)) await this.#ask()
    } finally {
      this.#isAsking = false
      this.#runAfter(this.#revision === undefined ? askEveryMs : renewEveryMs)
    }
  }

  async #ask(): Promise<void> {
    const askedAt = this.#world.monotonic()
    const text = JSON.stringify(this.#node)
    try {
      const revision = this.#revision
      this.#revision =
        revision === undefined ? await this.#bucket.create(key, text) : await this.#bucket.update(key, text, revision)
      if (!this.#isWanted) return await this.release()
      this.#heldUntil = askedAt + leaseMs
      if (revision === undefined) this.#setHolder(this.#node)
      for (const { resolve } of this.#waiting.splice(0)) resolve()
    } catch (error) {
      // Another node has the lease. After any other error the entry may still be this node's, and is renewed again.
      if (error instanceof Error && /wrong last sequence|exists/i.test(error.message)) this.#revision = undefined
    }
  }
}
