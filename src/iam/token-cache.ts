import { BoundedMap } from '#iam/bounded-map'
import type { VerifiedToken } from '#iam/tokens'

/** Of each kind: 65 536 sessions at once pay no second signature; one entry takes about half a kilobyte. */
const tokensMax = 65_536

/** Access tokens whose signature was found good, or that were made here, by their hash. Never the tokens themselves. */
export class TokenCache {
  readonly #sizeMax: number
  /** Those that are bound to a key, and the others: of one kind all live equally long, so the oldest end first. */
  readonly #bound: Tokens
  readonly #unbound: Tokens
  /** The hash of the newest of each session. */
  readonly #bySession = new Map<string, string>()

  constructor(sizeMax = tokensMax) {
    this.#sizeMax = sizeMax
    this.#bound = new BoundedMap(sizeMax)
    this.#unbound = new BoundedMap(sizeMax)
  }

  /** Wrapped as it is answered, so that a request makes nothing new. */
  find(hash: string): Found | undefined {
    return this.#bound.get(hash) ?? this.#unbound.get(hash)
  }

  /** `now`: Unix ms. Those that have ended by then leave. */
  remember(token: VerifiedToken, now: number): Found {
    const tokens = token.jkt === undefined ? this.#unbound : this.#bound
    for (;;) {
      const { oldest } = tokens
      if (oldest === undefined) break
      const isEnded = (tokens.get(oldest)?.token.expiresAt ?? 0) <= now
      if (!isEnded && tokens.size < this.#sizeMax) break
      this.#drop(tokens, oldest)
    }
    const found = { token }
    tokens.set(token.hash, found)
    this.#bySession.set(token.session, token.hash)
    return found
  }

  /** It has ended: nobody comes again with its newest token, and older ones end soon. */
  sessionEnded(session: string): void {
    const hash = this.#bySession.get(session)
    if (hash !== undefined) for (const tokens of [this.#bound, this.#unbound]) this.#drop(tokens, hash)
  }

  #drop(tokens: Tokens, hash: string): void {
    const session = tokens.get(hash)?.token.session
    tokens.delete(hash)
    if (session !== undefined && this.#bySession.get(session) === hash) this.#bySession.delete(session)
  }
}

type Found = { readonly token: VerifiedToken }
type Tokens = BoundedMap<string, Found>
