import type { IdentityNotices } from '#actors/notices'
import type { Accesses } from '#iam/accesses'
import type { Caller, SessionKey } from '#iam/caller'
import type { LinkCaller } from '#identity/link-credentials'
import type { Logins, SecondFactors, Sessions, SigningKeyRing } from '#identity/requests'
import type { SessionSockets } from '#identity/session-sockets'
import type { Authenticate } from '#server/authenticate'

/** Everything about who is signed in, put together. */
export interface Identity {
  /**
   * Judges every request and upgrade. For `link` the caller has the credential's tenant and nothing else: who needs the
   * device or the key asks `linkCaller`.
   */
  readonly authenticate: Authenticate
  /** The published view: what is committed, and only that. */
  readonly accesses: Accesses
  readonly sockets: SessionSockets
  readonly notices: IdentityNotices
  readonly logins: Logins
  readonly sessions: Sessions
  readonly secondFactors: SecondFactors
  readonly keys: SigningKeyRing
  /** By the header `Authorization` of the device link. @throws Problem `unauthorized` */
  linkCaller(authorization: string): LinkCaller
  /** Who that is now; undefined once the session is over. */
  callerOf(session: SessionKey): Caller | undefined
  /** Before the server listens. `printed`: the first administrator's random password, to be shown once. */
  open(): Promise<{ readonly printed?: { readonly name: string; readonly password: string } }>
  /** The store was read again after a failed write. */
  reloaded(): void
  stop(): void
}
