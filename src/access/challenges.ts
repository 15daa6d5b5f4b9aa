import { base64urlOf } from '#access/base64url'
import { ExpiringMap } from '#access/bounded-map'
import type { Random } from '#access/file-keys'
import type { Principal } from '#model/caller'

/** Contract 2, Second factor. */
const challengeLifetimeMs = 300_000
/** Enough for 33 new challenges a second. A user whose challenge was evicted has to start again. */
const challengesMax = 10_000
/** WebAuthn §13.4.3 requires at least 16 bytes. */
const challengeBytes = 32

export type ChallengeKind = 'register' | 'authenticate'

export interface ChallengesOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: Random
}

/**
 * Challenges for authenticators to sign. Each is valid once, for five minutes, for one kind of use and one owner: the
 * unique name of a session or a 2FA token.
 */
export class Challenges {
  readonly #random: Random
  readonly #challenges: ExpiringMap<string, string>

  constructor({ now, random }: ChallengesOptions) {
    this.#random = random
    this.#challenges = new ExpiringMap({ now, lifetimeMs: challengeLifetimeMs, sizeMax: challengesMax })
  }

  /** Returns Base64url. Replaces an earlier challenge of the same owner and kind. `user`: the account that signs. */
  issue(owner: string, kind: ChallengeKind, user: Principal): string {
    const challenge = base64urlOf(this.#random(challengeBytes))
    this.#challenges.set(`${kind} ${owner}`, challenge, user)
    return challenge
  }

  /** The challenge to check a signature against. It is used up, even if the signature is wrong. */
  take(owner: string, kind: ChallengeKind): string | undefined {
    return this.#challenges.take(`${kind} ${owner}`)
  }
}
