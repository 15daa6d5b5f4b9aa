import { BoundedMap } from '#iam/bounded-map'
import type { VerifiedToken } from '#iam/tokens'

/** 65 536 sessions at once pay no second signature; one entry takes about half a kilobyte. */
const tokensMax = 65_536

/** Access tokens whose signature was found good, or that were made here, by their hash. Never the tokens themselves. */
export class TokenCache {
  readonly #tokens: BoundedMap<string, { readonly token: VerifiedToken }>

  constructor(sizeMax = tokensMax) {
    this.#tokens = new BoundedMap(sizeMax)
  }

  /** Wrapped as it is answered, so that a request makes nothing new. */
  find(hash: string): { readonly token: VerifiedToken } | undefined {
    return this.#tokens.get(hash)
  }

  remember(token: VerifiedToken): { readonly token: VerifiedToken } {
    const found = { token }
    this.#tokens.set(token.hash, found)
    return found
  }
}
