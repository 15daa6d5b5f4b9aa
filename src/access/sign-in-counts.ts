import { Problem, type ProblemCode } from '#model/problem'

/** The way of a sign-in. */
export type SignInWay = 'login' | 'basic' | 'refresh' | 'basic_refresh' | 'sign_up' | 'totp' | 'recovery' | 'webauthn'

/**
 * The result: `ok`, a further step, or the code of the refusal. `conflict`: also if the user has to choose a tenant.
 */
export type SignInOutcome = 'ok' | 'second_factor' | ProblemCode

/** Sign-ins by way and outcome, never by user. */
export class SignInCounts {
  readonly #counts = new Map<SignInWay, Map<SignInOutcome, number>>()

  of(way: SignInWay, outcome: SignInOutcome): number {
    return this.#counts.get(way)?.get(outcome) ?? 0
  }

  /** Only pairs that occurred. */
  *[Symbol.iterator](): Iterator<{ readonly way: SignInWay; readonly outcome: SignInOutcome; readonly count: number }> {
    for (const [way, outcomes] of this.#counts) {
      for (const [outcome, count] of outcomes) yield { way, outcome, count }
    }
  }

  /** The same function, with its results counted. */
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
