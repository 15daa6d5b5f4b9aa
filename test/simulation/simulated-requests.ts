import { Participant } from '#test/simulation/participant'
import type { Session } from '#test/simulation/simulated-person'
import type { Outcome, SimulatedRequest } from '#test/simulation/simulated-server'

export interface Attempt {
  readonly isKeyed: boolean
  readonly isFirst: boolean
  /** The request has had its final answer before, so a repetition has no effect. */
  readonly isOver: boolean
}

export interface TrackedRequest {
  readonly name: string
  readonly request: SimulatedRequest
  /** The request is sent without a key, and never repeated. */
  readonly isOnce?: boolean
  /** Called when the request is sent; the returned function is called with the answer, if one comes. */
  readonly sent: (attempt: Attempt) => (outcome: Outcome) => void
}

interface Keyed {
  readonly tracked: TrackedRequest
  readonly key: string
  tries: number
  /** The final answer, which every repetition must get. */
  final: string | undefined
}

interface Parts {
  readonly sessionBy: (authorization: string) => Session | undefined
}

/** The number of remembered requests; older ones are not repeated. */
const keysMax = 40

/**
 * Sends changes without waiting for answers, and repeats them under the same key, if no answer came or at random: each
 * repetition must get the first final answer. Contract 1.10.
 */
export class SimulatedRequests extends Participant<Parts> {
  #keyed: Keyed[] = []
  #keyCount = 0

  /** With a key or without one. */
  ask(tracked: TrackedRequest): void {
    if (tracked.isOnce || this.random.next() < 0.4) {
      this.watch(this.#send(tracked, {}, { isKeyed: false, isFirst: true, isOver: false }))
      return
    }
    const keyed: Keyed = { tracked, key: `key-${++this.#keyCount}`, tries: 0, final: undefined }
    this.#keyed = [...this.#keyed, keyed].slice(-keysMax)
    this.watch(this.#askKeyed(keyed))
    if (this.random.next() < 0.1) this.watch(this.#askKeyed(keyed))
  }

  /** Any earlier request, preferably one without an answer. */
  askAgain(): void {
    const open = this.#keyed.filter(({ final }) => final === undefined)
    const from = open.length > 0 && this.random.next() < 0.7 ? open : this.#keyed
    const keyed = from[this.random.below(from.length)]
    if (!keyed) return
    if (this.random.next() < 0.9) this.watch(this.#askKeyed(keyed))
    else this.watch(this.#askOther(keyed))
  }

  async #askKeyed(keyed: Keyed): Promise<void> {
    const tries = ++keyed.tries
    const attempt = { isKeyed: true, isFirst: tries === 1, isOver: keyed.final !== undefined }
    const { status, body, refused } = await this.#send(keyed.tracked, { key: keyed.key }, attempt)
    // Only a returned answer is final: a thrown refusal is temporary.
    if (refused !== undefined) {
      if (refused === 'unprocessable') this.#report(keyed, `is refused as another request`)
      return
    }
    // The secrets of webhooks are in the first answer alone.
    const answer = `${status} ${body}`.replaceAll(/,"secret":"whsec_[^"]*"/g, '')
    if (keyed.final !== undefined && keyed.final !== answer) this.#report(keyed, `${keyed.final}, and then ${answer}`)
    if (tries > 1) this.witness.count(keyed.final === undefined ? 'answered when asked again' : 'answered the same')
    keyed.final = answer
  }

  /** Another request under the key of an answered one must be refused. */
  async #askOther(keyed: Keyed): Promise<void> {
    if (keyed.final === undefined) return
    const other = { ...keyed.tracked, sent: () => () => {} }
    const attempt = { isKeyed: true, isFirst: false, isOver: true }
    const { status, refused } = await this.#send(other, { key: keyed.key, query: { other: true } }, attempt)
    if (refused === undefined) this.#report(keyed, `is used for two requests, the second answered ${status}`)
  }

  async #send({ name, request, sent }: TrackedRequest, more: SimulatedRequest, attempt: Attempt): Promise<Outcome> {
    const onOutcome = sent(attempt)
    const wasOver = this.parts.sessionBy(request.authorization ?? '')?.isSurelyOver(this.server.now()) ?? false
    const outcome = await this.answerTo(name, { ...request, ...more })
    this.witness.count(`${name} ${outcome.refused ?? outcome.status}`)
    if (wasOver && outcome.refused === undefined)
      this.witness.report(`${name} is answered ${outcome.status}, and the caller's session is over`)
    onOutcome(outcome)
    return outcome
  }

  #report({ tracked: { name }, key }: Keyed, what: string): void {
    this.witness.report(`${name} under ${key}: ${what}`)
  }
}
