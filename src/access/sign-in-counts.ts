import { Problem, type ProblemCode } from '#model/problem'

/** By which way somebody came in, or tried to. */
export type SignInWay = 'login' | 'basic' | 'refresh' | 'basic_refresh' | 'sign_up' | 'totp' | 'recovery' | 'webauthn'

/** What came of it: in, asked for more, or the code of why not. `conflict`: also several tenants to choose from. */
export type SignInOutcome = 'ok' | 'second_factor' | ProblemCode

/** How often people signed in, and how often not: by way and outcome, never by who it was. */
export class SignInCounts {
  readonly #counts = new Map<SignInWay, Map<SignInOutcome, number>>()

  of(way: SignInWay, outcome: SignInOutcome): number {
    return this.#counts.get(way)?.get(outcome) ?? 0
  }

  /** Those that there were. */
  *[Symbol.iterator](): Iterator<{ readonly way: SignInWay; readonly outcome: SignInOutcome; readonly count: number }> {
    for (const [way, outcomes] of this.#counts) {
      for (const [outcome, count] of outcomes) yield { way, outcome, count }
    }
  }

  /** The same flow, counted. */
  counted<Request, Answer>(
    way: SignInWay,
    flow: (request: Request) => Promise<Answer>,
    outcomeOf: (answer: Answer) => SignInOutcome = () => 'ok',
  ): (request: Request) => Promise<Answer> {
    return async (request) => {
      try {
        const answer = await flow(request)
        this.#add(way, outcomeOf(answer))
        return answer
      } catch (error) {
        this.#add(way, error instanceof Problem ? error.code : 'bug')
        throw error
      }
    }
  }

  #add(way: SignInWay, outcome: SignInOutcome): void {
    const outcomes = this.#counts.get(way)
    if (outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    else this.#counts.set(way, new Map([[outcome, 1]]))
  }
}
