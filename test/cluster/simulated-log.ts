import type { Lease, SharedLog } from '#cluster/shared-log'
import type { World } from '#runtime/world'

/** Faults of messages, each with its probability from 0 to 1. */
export interface LogFaults {
  /** The message is stored, but its answer does not reach the node. */
  readonly lostAnswer: number
  /** A copy of the message is stored up to ten seconds later, even if the message is refused. */
  readonly lateCopy: number
  /** The log stores a message although `after` is not the last sequence. */
  readonly ignoredOrder: number
  /** The log stalls for four to nine seconds. */
  readonly stall: number
  /** Messages are lost without an answer. */
  readonly isAway?: boolean
}

export const noFaults: LogFaults = { lostAnswer: 0, lateCopy: 0, ignoredOrder: 0, stall: 0 }

/** The servers of a log. They outlive every node. */
export class SimulatedLog {
  readonly messages: Uint8Array[] = []
  readonly #followers = new Set<() => void>()
  readonly #world: World
  faults: LogFaults
  /** The sequence of the first message that was not trimmed. */
  firstSequence = 1
  #stalledUntil = 0

  constructor(world: World, faults = noFaults) {
    this.#world = world
    this.faults = faults
  }

  /** The log as one node sees it. */
  of(node: World): SharedLog {
    return {
      append: (message, after) => {
        const copy = Uint8Array.from(message)
        return new Promise((resolve, reject) => {
          this.#later(() => {
            if (this.faults.isAway) return
            if (this.#chance(this.faults.lateCopy)) this.#world.after(this.#below(10_000), () => this.#add(copy))
            const isRefused = after !== this.messages.length && !this.#chance(this.faults.ignoredOrder)
            const sequence = isRefused ? 0 : this.#add(copy)
            if (this.#chance(this.faults.lostAnswer)) return
            node.after(this.#below(3), () => (isRefused ? reject(new Error('wrong last sequence')) : resolve(sequence)))
          })
        })
      },
      lastSequence: () =>
        new Promise((resolve) => {
          this.#later(() => {
            const last = this.messages.length
            node.after(this.#below(3), () => resolve(last))
          })
        }),
      follow: (after, receive) => {
        let next = Math.max(after, this.firstSequence - 1)
        let isWaiting = false
        let isFollowing = true
        const pass = () => {
          if (isWaiting || !isFollowing || next >= this.messages.length) return
          isWaiting = true
          node.after(this.#below(4), async () => {
            const end = this.messages.length
            while (isFollowing && next < end) await receive(++next, this.messages[next - 1] as Uint8Array)
            isWaiting = false
            pass()
          })
        }
        this.#followers.add(pass)
        pass()
        return () => {
          isFollowing = false
          this.#followers.delete(pass)
        }
      },
    }
  }

  #add(message: Uint8Array): number {
    this.messages.push(message)
    for (const pass of this.#followers) pass()
    return this.messages.length
  }

  #later(task: () => void): void {
    const now = this.#world.monotonic()
    if (this.#chance(this.faults.stall)) this.#stalledUntil = now + 4_000 + this.#below(5_000)
    this.#world.after(Math.max(0, this.#stalledUntil - now) + this.#below(4), task)
  }

  #chance(chance: number): boolean {
    return chance > 0 && this.#below(1_000) < chance * 1_000
  }

  #below(count: number): number {
    const [high = 0, low = 0] = this.#world.random(2)
    return ((high << 8) | low) % count
  }
}

/** A lease that every node gets at once, so that only the log protects the data. */
export const everyonesLease: Lease = { acquire: async () => {}, release: async () => {} }
