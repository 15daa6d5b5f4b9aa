import type { Version } from '#test/simulation/register'

/** An observation and its possible justifications: all edits of one of these sets must have been stored. */
interface Doubt {
  readonly what: string
  readonly grounds: readonly Ground[]
}

export type Ground = readonly Version<unknown>[]

/**
 * Records the order of events in a run and reports violations. Moments are counted, not timed: between two of them the
 * server took one step, or time advanced.
 */
export class Witness {
  moment = 0
  readonly faults: unknown[] = []
  /** How often each situation occurred: a run without them proves nothing. */
  readonly counts: Record<string, number> = {}
  /** When users requested the removal of devices, Unix ms, whether or not the answer arrived. */
  readonly removals: { readonly device: string; readonly at: number }[] = []
  #published = 0
  #publications: { readonly upTo: number; readonly at: number }[] = []
  #doubts: Doubt[] = []

  /** The server took a step. `published`: the last offset sent to live sockets. */
  passed(published: number): void {
    if (published > this.#published) this.#publications.push({ upTo: published, at: this.moment })
    this.#published = Math.max(this.#published, published)
    this.moment++
  }

  /** The first moment at which the receivers of this event may have been determined. */
  publishedAt(offset: number): number {
    return this.#publications.find(({ upTo }) => upTo >= offset)?.at ?? this.moment
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  report(what: string): void {
    this.faults.push(new Error(what))
  }

  /** A user was shown or sent something: one of these grounds must permit it. */
  check(what: () => string, grounds: readonly Ground[]): void {
    if (grounds.length === 0) this.report(`${what()}, without permission`)
    else if (!grounds.some((ground) => ground.every(({ fate }) => fate === 'stored'))) {
      this.count('doubted')
      this.#doubts.push({ what: what(), grounds })
    }
  }

  /** The outcome of every request is known by now. */
  settle(): void {
    for (const { what, grounds } of this.#doubts) {
      if (grounds.some((ground) => ground.every(({ fate }) => fate !== 'never'))) continue
      this.report(`${what}, by a permission that was never stored`)
    }
    this.#doubts = []
    this.#publications = [{ upTo: this.#published, at: this.moment }]
  }
}
