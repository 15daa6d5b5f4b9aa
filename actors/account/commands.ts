import type { AccessCode, AccountState, StoredCredential } from '#actors/account/state'
import type { BegunSession } from '#actors/session/state'
import type { ActorAddress } from '#runtime/actor'

/** Commands of an account actor. `version` is the version of the credentials that the caller has read. */
export type AccountCommand =
  | Invite
  | OpenAccount
  | RedeemCode
  | SetPassword
  | RenewHash
  | BeginAccountSession
  | EndSessions
  | SessionOver
  | SetTotp
  | RemoveTotp
  | UseTotp
  | UseRecovery
  | AddWebauthn
  | RemoveWebauthn
  | UseWebauthn
  | FactorFailed
  | SwitchAccount

/**
 * A new invitation code; the previous code becomes invalid. Sent by the directory for a new user, and by a request that
 * renews the code of any user.
 */
export interface Invite {
  readonly type: 'invite'
  readonly code: AccessCode
}

/** Sent by the directory for an account that needs no code, because it was created with a password. */
export interface OpenAccount {
  readonly type: 'open'
  readonly passwordHash: string
}

/** Answered with `CredentialsChanged`. */
export interface RedeemCode {
  readonly type: 'redeem_code'
  readonly codeHash: Uint8Array
  readonly passwordHash: string
}

/** Ends all sessions except `keep`. Answered with `CredentialsChanged`. */
export interface SetPassword {
  readonly type: 'set_password'
  readonly version: number
  readonly passwordHash: string
  readonly keep: string | undefined
}

/** A new hash of the unchanged password. */
export interface RenewHash {
  readonly type: 'renew_hash'
  readonly version: number
  readonly passwordHash: string
}

export interface CredentialsChanged {
  readonly version: number
}

/** A user has signed in. An account has at most `sessionsMax` sessions; beyond that the oldest session ends. */
export interface BeginAccountSession {
  readonly type: 'begin_session'
  readonly session: BegunSession
  readonly version: number
}

/** Ends all sessions, all except `keep`, or only the session `only`. Answered with the number of ended sessions. */
export interface EndSessions {
  readonly type: 'end_sessions'
  readonly keep?: string
  readonly only?: string
}

/** Sent by a session that ended by itself. */
export interface SessionOver {
  readonly type: 'session_over'
  readonly session: string
}

/**
 * The user entered a valid code of this secret. Ends all sessions except `keep`. Answered with `CredentialsChanged`.
 */
export interface SetTotp {
  readonly type: 'set_totp'
  readonly version: number
  readonly secret: Uint8Array
  /** Codes of this step and of earlier steps count as used. */
  readonly step: number
  /** The hashes of new recovery codes. */
  readonly recovery: readonly Uint8Array[]
  readonly keep: string | undefined
}

/** Ends all sessions except `keep`. Answered with `CredentialsChanged`. */
export interface RemoveTotp {
  readonly type: 'remove_totp'
  readonly version: number
  readonly keep: string | undefined
  /** The tenant requires a second factor. */
  readonly isRequired: boolean
}

/** The user entered the correct code of this step. */
export interface UseTotp {
  readonly type: 'use_totp'
  readonly step: number
}

export interface UseRecovery {
  readonly type: 'use_recovery'
  readonly hash: Uint8Array
}

/** Ends all sessions except `keep`. Answered with `CredentialsChanged`. */
export interface AddWebauthn {
  readonly type: 'add_webauthn'
  readonly version: number
  readonly credential: StoredCredential
  /** The hashes of new recovery codes. Undefined if the account has another factor already. */
  readonly recovery: readonly Uint8Array[] | undefined
  readonly keep: string | undefined
}

/** Answered with `CredentialsChanged`. */
export interface RemoveWebauthn {
  readonly type: 'remove_webauthn'
  readonly version: number
  readonly id: string
  readonly keep: string | undefined
  readonly isRequired: boolean
}

/** The credential signed the server's challenge. `counter` is its signature counter. */
export interface UseWebauthn {
  readonly type: 'use_webauthn'
  readonly id: string
  readonly counter: number
}

/** The user gave a wrong code or a wrong signature. */
interface FactorFailed {
  readonly type: 'factor_failed'
}

/** Sent by the directory. */
interface SwitchAccount {
  readonly type: 'disable' | 'enable' | 'erase'
}

/** `user` is the bare id, because a name can pass to another user. */
export function accountAddress(tenant: string, user: string): ActorAddress<AccountState, AccountCommand> {
  return { kind: 'account', tenant, id: user }
}
