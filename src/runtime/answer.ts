import type { Problem } from '#model/problem'
import type { Responder } from '#runtime/actor'
import { QueuedResponder } from '#runtime/gate'

/** Passes the answer of a turn to a responder that is not itself a commit callback. */
export class Answer extends QueuedResponder {
  readonly #responder: Responder

  constructor(responder: Responder) {
    super()
    this.#responder = responder
  }

  answered(answer: unknown): void {
    this.#responder.answered(answer)
  }

  refused(problem: Problem): void {
    this.#responder.refused(problem)
  }
}
