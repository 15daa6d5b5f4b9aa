import type { LinkedDevice } from '#link/link'
import type { Problem } from '#model/problem'
import type { Asker } from '#runtime/actor'

/** What became of an UPDATE: an object and not two closures, for there are very many. */
export class ReportAsker implements Asker {
  readonly #linked: LinkedDevice
  readonly #seq: number
  readonly #counts: { refused: number }

  constructor(linked: LinkedDevice, seq: number, counts: { refused: number }) {
    this.#linked = linked
    this.#seq = seq
    this.#counts = counts
  }

  answered(seq: unknown): void {
    this.#linked.link.acknowledge(this.#linked, seq as number)
  }

  /** Nothing behind it may be stored: the device would be told that all up to there is. */
  refusing(): void {
    this.#linked.link.stopTaking()
  }

  refused(problem: Problem): void {
    this.#counts.refused++
    const { link, flakeAddress } = this.#linked
    // Removed while the frame was under way, or full: no mistake of the link's, which may carry other devices.
    const isMistake = problem.code !== 'device_unknown' && problem.code !== 'memory_full'
    link.refuse(problem, { flakeAddress, seq: this.#seq }, true, isMistake)
  }
}
