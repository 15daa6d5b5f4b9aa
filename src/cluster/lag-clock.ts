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
