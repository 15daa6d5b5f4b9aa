import type { Problem } from '#model/problem'
import type { Asker } from '#runtime/actor'
import { QueuedAsker } from '#runtime/gate'

/** Waits at the commit gate for an asker that cannot wait there itself. */
export class Answer extends QueuedAsker {
  readonly #asker: Asker

  constructor(asker: Asker) {
    super()
    this.#asker = asker
  }

  answered(answer: unknown): void {
    this.#asker.answered(answer)
  }

  refused(problem: Problem): void {
    this.#asker.refused(problem)
  }
}
