import { claimsOf, isEnding } from '#client/access-token'
import type { Authority } from '#client/authority'
import { MemoryStore } from '#client/memory-store'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import type { Platform } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'
import { isTokenPair, type TokenPair } from '#client/token-pair'
import type { Credential, RawAnswer, Request, Transport } from '#client/transport'

/**
 * When a refresh is tried again whose answer was lost: within ten seconds the same token gives the same successor, later
 * it is taken for stolen. Contract 2, Refresh.
 */
const refreshPausesMs = [0, 300, 600]
const refreshSilenceMs = 3_000

/**
 * A session of the DPoP scheme: its tokens in a store that others may share, renewed by one at a time. §5.2
 *
 * It is one user's for good: what somebody else left in the store is neither taken up nor touched.
 */
export class DpopSession implements Authority {
  readonly #transport: Transport
  readonly #platform: Platform
  #store: SessionStore
  #session: StoredSession
  #renewal: Promise<boolean> | undefined

  private constructor(transport: Transport, platform: Platform, store: SessionStore, session: StoredSession) {
    this.#transport = transport
    this.#platform = platform
    this.#store = store
    this.#session = session
  }

  /** The one that the store holds, if any. */
  static async kept(transport: Transport, platform: Platform, store: SessionStore): Promise<DpopSession | undefined> {
    const session = await store.read()
    return session && new DpopSession(transport, platform, store, session)
  }

  /** One that has just begun. */
  static async begun(
    transport: Transport,
    platform: Platform,
    store: SessionStore,
    keys: KeyPair,
    { accessToken, refreshToken }: TokenPair,
  ): Promise<DpopSession> {
    const session = { keys, accessToken, refreshToken }
    await store.exclusively(() => store.write(session))
    return new DpopSession(transport, platform, store, session)
  }

  get subject(): unknown {
    return claimsOf(this.#session.accessToken).sub
  }

  async credentialFor(): Promise<Credential> {
    const now = credentialOf(this.#session)
    // One that fails is found out by the request itself, which may find the old token still good.
    if (isEnding(this.#session.accessToken, this.#transport.now())) await this.renew(now).catch(() => false)
    return credentialOf(this.#session)
  }

  renew(refused: Credential): Promise<boolean> {
    if (refused.proof?.accessToken !== this.#session.accessToken) return Promise.resolve(true)
    this.#renewal ??= this.#store
      .exclusively(() => this.#renew())
      .finally(() => {
        this.#renewal = undefined
      })
    return this.#renewal
  }

  /** It is over here, and in the store unless somebody has signed in anew there. */
  async forget(): Promise<void> {
    await this.#store.exclusively(async () => {
      const kept = await this.#store.read()
      // Another tab may have renewed it: the tokens are others then.
      if (kept && claimsOf(kept.accessToken).sid === claimsOf(this.#session.accessToken).sid) await this.#store.remove()
    })
  }

  /** Another tab that shares the store may have been first: its pair is the newer one. */
  async #renew(): Promise<boolean> {
    const kept = await this.#kept()
    if (!kept) return false
    const isNewer = kept.accessToken !== this.#session.accessToken
    this.#session = kept
    if (isNewer && !isEnding(kept.accessToken, this.#transport.now())) return true
    const { status, headers, body } = await this.#refresh(kept)
    if (status === 200) {
      if (!isTokenPair(body)) throw new ConnectionLost('no tokens came')
      this.#session = { keys: kept.keys, accessToken: body.accessToken, refreshToken: body.refreshToken }
      await this.#store.write(this.#session)
      return true
    }
    if (status !== 401) throw new Problem(status, body, headers)
    await this.#store.remove()
    return false
  }

  /** What the store holds of this user. Where somebody else has signed in, he goes on by himself, for as long as that lasts. */
  async #kept(): Promise<StoredSession | undefined> {
    const kept = await this.#store.read()
    if (!kept || claimsOf(kept.accessToken).sub === this.subject) return kept
    this.#store = new MemoryStore()
    await this.#store.write(this.#session)
    return this.#session
  }

  async #refresh({ keys, refreshToken }: StoredSession): Promise<RawAnswer> {
    const body = { refreshToken }
    const request: Request = { method: 'POST', path: '/auth/token', body, silenceMs: refreshSilenceMs }
    let lost: unknown
    for (const pauseMs of refreshPausesMs) {
      await this.#platform.sleep(pauseMs)
      try {
        return await this.#transport.send(request, { proof: { keys } })
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        lost = error
      }
    }
    throw lost
  }
}

function credentialOf({ keys, accessToken }: StoredSession): Credential {
  return { authorization: `DPoP ${accessToken}`, proof: { keys, accessToken } }
}
