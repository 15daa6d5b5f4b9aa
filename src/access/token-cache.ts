import { RecentMap } from '#access/recent-map'
import type { VerifiedToken } from '#access/tokens'

/** In one generation: 65 536 sessions at once pay no second signature; one entry takes about half a kilobyte. */
const tokensMax = 65_536
/** A token that nobody comes with is forgotten after one to two of these: to read it anew takes some 100 µs. */
export const tokenGenerationMs = 5 * 60_000

/** Access tokens whose signature was found good, or that were made here, by their hash. Never the tokens themselves. */
export class TokenCache {
  readonly #tokens: RecentMap<string, Found>

  constructor(sizeMax = tokensMax) {
    this.#tokens = new RecentMap({ generationMs: tokenGenerationMs, sizeMax })
  }

  /** Wrapped as it is answered, so that a request makes nothing new. `now`: Unix ms. */
  find(hash: string, now: number): Found | undefined {
    return this.#tokens.get(hash, now)
  }

  /** `now`: Unix ms. */
  remember(token: VerifiedToken, now: number): Found {
    const found = { token }
    this.#tokens.set(token.hash, found, now)
    return found
  }
}

type Found = { readonly token: VerifiedToken }
