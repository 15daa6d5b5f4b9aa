import type { World } from '#runtime/world'

/** How long packets are processed before other work of the event loop runs. */
const sliceMs = 8
/**
 * A longer turn had an expensive packet. The next turn then waits as long as the expensive turn took, up to
 * `waitMsMax`, so packets use about half of the CPU at most.
 */
const expensiveMs = 2 * sliceMs
/** The longest wait. A pause of the process during a turn must not delay the next turn for long. */
const waitMsMax = 50

/** A connection with packets that wait. */
export interface WaitingPackets {
  /** Processes packets until the turn is over. If packets are left, adds this object to the turns again. */
  takeWaiting(): void
}

/**
 * Shares the time for packets among all connections. Node reads up to 2 MiB of one connection in a cycle of the event
 * loop. In packets of two bytes, or in the most expensive packets, this would be some seconds of work.
 */
export class PacketTurns {
  readonly #world: World
  readonly #waiting = new Set<WaitingPackets>()
  #isScheduled = false
  /**
   * When the first packet of this cycle of the event loop, or of the running turns, was processed, by
   * `World.monotonic`.
   */
  #startedAt: number | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** Whether packets have to wait for the next turn. */
  get isOver(): boolean {
    const now = this.#world.monotonic()
    if (this.#startedAt === undefined) {
      this.#startedAt = now
      this.#world.soon(() => {
        this.#startedAt = undefined
      })
    }
    return now - this.#startedAt >= sliceMs
  }

  add(packets: WaitingPackets): void {
    this.#waiting.add(packets)
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#world.soon(() => this.#run())
  }

  /** Processes waiting packets. Connections are served in rotation. */
  #run(): void {
    const startedAt = this.#world.monotonic()
    this.#startedAt = startedAt
    for (const packets of this.#waiting) {
      this.#waiting.delete(packets)
      packets.takeWaiting()
      if (this.#world.monotonic() - startedAt >= sliceMs) break
    }
    this.#startedAt = undefined
    this.#isScheduled = this.#waiting.size > 0
    if (!this.#isScheduled) return
    const spentMs = this.#world.monotonic() - startedAt
    if (spentMs > expensiveMs) this.#world.after(Math.min(spentMs, waitMsMax), () => this.#run())
    else this.#world.soon(() => this.#run())
  }
}
