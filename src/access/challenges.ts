import { base64urlOf } from '#access/base64url'
import { ExpiringMap } from '#access/expiring-map'
import type { Random } from '#access/random'
import type { Principal } from '#model/caller'

/** Contract 2, Second factor. */
const challengeLifetimeMs = 300_000
/** 33 a second; a user whose challenge was given up begins again. */
const challengesMax = 10_000
/** WebAuthn §13.4.3 asks for 16 at least. */
const challengeBytes = 32

export type ChallengeKind = 'register' | 'authenticate'

export interface ChallengesOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: Random
}

/**
 * What an authenticator is asked to sign. Each is good once and for five minutes, for whom it was made (a session or a
 * 2FA token, by a name that no other can have) and for what it was made.
 */
export class Challenges {
  readonly #random: Random
  readonly #challenges: ExpiringMap<string, string>

  constructor({ now, random }: ChallengesOptions) {
    this.#random = random
    this.#challenges = new ExpiringMap({ now, lifetimeMs: challengeLifetimeMs, sizeMax: challengesMax })
  }

  /** Base64url. An earlier one of the same owner and kind is good no more. `user`: the account that signs. */
  issue(owner: string, kind: ChallengeKind, user: Principal): string {
    const challenge = base64urlOf(this.#random(challengeBytes))
    this.#challenges.set(`${kind} ${owner}`, challenge, user)
    return challenge
  }

  /** What has to be signed; gone from then on, whatever comes of it. */
  take(owner: string, kind: ChallengeKind): string | undefined {
    return this.#challenges.take(`${kind} ${owner}`)
  }
}
