import type { Problem } from '#model/problem'
import type { Responder } from '#runtime/actor'
import type { CommitCallback } from '#runtime/gate'

/** A responder for one turn that is also its commit callback: a frequent turn needs one object instead of two. */
export abstract class QueuedResponder implements Responder, CommitCallback {
  answer: unknown = undefined
  effects: readonly (() => void)[] | undefined = undefined

  abstract answered(answer: unknown): void
  abstract refused(problem: Problem): void

  committed(): void {
    this.answered(this.answer)
    if (this.effects) for (const effect of this.effects) effect()
  }

  failed(problem: Problem): void {
    this.refused(problem)
  }
}

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
