import { BoundedMap } from '#iam/bounded-map'
import type { VerifiedToken } from '#iam/tokens'

/** Of each kind: 65 536 sessions at once pay no second signature; one entry takes about half a kilobyte. */
const tokensMax = 65_536

/** Access tokens whose signature was found good, or that were made here, by their hash. Never the tokens themselves. */
export class TokenCache {
  /** Those that are bound to a key, and the others: of one kind all live equally long, so the oldest end first. */
  readonly #bound: Tokens
  readonly #unbound: Tokens

  constructor(sizeMax = tokensMax) {
    this.#bound = new BoundedMap(sizeMax)
    this.#unbound = new BoundedMap(sizeMax)
  }

  /** Wrapped as it is answered, so that a request makes nothing new. */
  find(hash: string): { readonly token: VerifiedToken } | undefined {
    return this.#bound.get(hash) ?? this.#unbound.get(hash)
  }

  /** `now`: Unix ms. Those that have ended by then leave. */
  remember(token: VerifiedToken, now: number): { readonly token: VerifiedToken } {
    const tokens = token.jkt === undefined ? this.#unbound : this.#bound
    dropEnded(tokens, now)
    const found = { token }
    tokens.set(token.hash, found)
    return found
  }
}

type Tokens = BoundedMap<string, { readonly token: VerifiedToken }>

function dropEnded(tokens: Tokens, now: number): void {
  for (;;) {
    const { oldest } = tokens
    if (oldest === undefined || (tokens.get(oldest)?.token.expiresAt ?? 0) > now) return
    tokens.delete(oldest)
  }
}
