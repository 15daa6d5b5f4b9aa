import type { ProofApi } from '#bench/proof/workloads/proof-api'
import type { SeededRandom } from '#bench/random'

/** Where somebody comes to, and what he may need there. */
export interface WalkPlace {
  readonly api: ProofApi
  readonly port: number
  /** `http://host:port` */
  readonly url: string
  readonly random: SeededRandom
  /** A provisioning key. */
  readonly key: string
  /** Nothing more is begun: whoever stays, goes. */
  isOver(): boolean
}

/** What comes, does something and goes again, and leaves nothing in memory behind. */
export interface Walk {
  readonly name: string
  /** So many at a time. */
  readonly atOnce: number
  /** Between one and the next, on average. */
  readonly pauseMs: number
  /** One of them, from the beginning to the end. `number`: there is no other of it. @throws when something is not as it must be */
  go(place: WalkPlace, number: number): Promise<void>
}

const problemsMax = 5

/** Walks all of them, one after the other, many beside each other, until it is over. */
export class Walks {
  readonly #place: WalkPlace
  readonly #walks: readonly Walk[]
  #number = 0
  /** How often each was gone to its end. */
  readonly counts: Record<string, number> = {}
  readonly problems: string[] = []

  constructor(place: WalkPlace, walks: readonly Walk[]) {
    this.#place = place
    this.#walks = walks
    for (const { name } of walks) this.counts[name] = 0
  }

  async work(): Promise<void> {
    await Promise.all(this.#walks.flatMap((walk) => Array.from({ length: walk.atOnce }, () => this.#walk(walk))))
  }

  async #walk(walk: Walk): Promise<void> {
    const { random, isOver } = this.#place
    while (this.problems.length < problemsMax) {
      await pass(random.between(0, 2 * walk.pauseMs))
      if (isOver()) return
      try {
        await walk.go(this.#place, ++this.#number)
        this.counts[walk.name] = (this.counts[walk.name] ?? 0) + 1
      } catch (error) {
        this.problems.push(`${walk.name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
}

/** Until so much time has passed, or it is over. */
export async function stay({ isOver }: WalkPlace, ms: number): Promise<void> {
  const end = performance.now() + ms
  while (performance.now() < end && !isOver()) await pass(Math.min(100, Math.max(1, end - performance.now())))
}

export function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
