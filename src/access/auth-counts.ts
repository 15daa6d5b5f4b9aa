import type { RouteAccess } from '#api/route-entry'
import type { AuthenticationRequest } from '#http/authentication'
import { Problem, type ProblemCode } from '#model/problem'

/** The kinds of credentials a request can carry. */
export const credentialKinds = ['bearer', 'dpop', 'api_key', 'proof', 'link', 'none', 'other'] as const
export type CredentialKind = (typeof credentialKinds)[number]

/**
 * `challenged`: the client has to retry with a nonce. `held_up`: refused after too many failed attempts. `unavailable`:
 * the credentials could not be checked.
 */
export const authOutcomes = ['accepted', 'challenged', 'refused', 'held_up', 'unavailable'] as const
type AuthOutcome = (typeof authOutcomes)[number]

/** Authentication results by kind of credential, never by user. */
export type AuthCounts = Readonly<Record<CredentialKind, Record<AuthOutcome, number>>>

export function noAuthCounts(): AuthCounts {
  const none = () => Object.fromEntries(authOutcomes.map((outcome) => [outcome, 0]))
  return Object.fromEntries(credentialKinds.map((kind) => [kind, none()])) as AuthCounts
}

/** Does not count an error that is not a Problem: such an error is a bug. */
export function countFailed(counts: AuthCounts, kind: CredentialKind, error: unknown): void {
  if (error instanceof Problem) counts[kind][outcomeOf(error.code)]++
}

function outcomeOf(code: ProblemCode): AuthOutcome {
  if (code === 'bad_request') return 'challenged'
  if (code === 'too_many_requests') return 'held_up'
  return code === 'storage' || code === 'overloaded' ? 'unavailable' : 'refused'
}

/** The kind of credential that a request carries, valid or not. */
export function credentialKindOf(request: AuthenticationRequest, access: RouteAccess): CredentialKind {
  if (access === 'link') return 'link'
  if (request.header('x-api-key') !== '') return 'api_key'
  const authorization = request.header('authorization')
  if (authorization === '') return access === 'proof' || access === 'user or proof' ? 'proof' : 'none'
  if (/^dpop\b/i.test(authorization)) return 'dpop'
  return /^bearer\b/i.test(authorization) ? 'bearer' : 'other'
}

/** The flow of a sign-in. */
export type SignInWay = 'login' | 'basic' | 'refresh' | 'basic_refresh' | 'sign_up' | 'totp' | 'recovery' | 'webauthn'

/**
 * The result: `ok`, `second_factor` if that step follows, or the code of the refusal. `conflict` also counts sign-ins
 * after which the user has to choose a tenant.
 */
export type SignInOutcome = 'ok' | 'second_factor' | ProblemCode

/** Sign-ins by way and outcome, never by user. */
export class SignInCounts {
  readonly #counts = new Map<SignInWay, Map<SignInOutcome, number>>()

  /** Wraps a flow so that its results are counted. */
  countOutcomes<Request, Answer>(
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

  /** Only pairs that occurred. */
  *[Symbol.iterator](): Iterator<{ readonly way: SignInWay; readonly outcome: SignInOutcome; readonly count: number }> {
    for (const [way, outcomes] of this.#counts) {
      for (const [outcome, count] of outcomes) yield { way, outcome, count }
    }
  }

  #add(way: SignInWay, outcome: SignInOutcome): void {
    const outcomes = this.#counts.get(way)
    if (outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    else this.#counts.set(way, new Map([[outcome, 1]]))
  }
}
