import type { Version } from '#test/simulation/register'

/** Something that was seen, and what it may rest on: all of one of these sets of edits must have been stored. */
interface Doubt {
  readonly what: string
  readonly grounds: readonly Ground[]
}

export type Ground = readonly Version<unknown>[]

/**
 * What is noted of a run: in which order things happened, and what must not have been. Moments are counted, not timed:
 * between two of them the server did one thing.
 */
export class Witness {
  moment = 0
  readonly faults: unknown[] = []
  /** How often what came to pass: a run that tries nothing finds nothing. */
  readonly counts: Record<string, number> = {}
  /** When people asked that a device be removed, Unix ms: whether it was, nobody waits to hear. */
  readonly removals: { readonly device: string; readonly at: number }[] = []
  #told = 0
  #tellings: { readonly upTo: number; readonly at: number }[] = []
  #doubts: Doubt[] = []

  /** The server did something. `told`: the last offset that live sockets were told by now. */
  passed(told: number): void {
    if (told > this.#told) this.#tellings.push({ upTo: told, at: this.moment })
    this.#told = Math.max(this.#told, told)
    this.moment++
  }

  /** The first moment at which it may have been decided who hears this event. */
  toldAt(offset: number): number {
    return this.#tellings.find(({ upTo }) => upTo >= offset)?.at ?? this.moment
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  accuse(what: string): void {
    this.faults.push(new Error(what))
  }

  /** Somebody was shown or told something, which he may be by one of these grounds. */
  judge(what: () => string, grounds: readonly Ground[]): void {
    if (grounds.length === 0) this.accuse(`${what()}, which he may not`)
    else if (!grounds.some((ground) => ground.every(({ fate }) => fate === 'stored'))) {
      this.count('doubted')
      this.#doubts.push({ what: what(), grounds })
    }
  }

  /** It is known by now what of all that was asked for came to be. */
  settle(): void {
    for (const { what, grounds } of this.#doubts) {
      if (grounds.some((ground) => ground.every(({ fate }) => fate !== 'never'))) continue
      this.accuse(`${what}, by a right that was never stored`)
    }
    this.#doubts = []
    this.#tellings = [{ upTo: this.#told, at: this.moment }]
  }
}
