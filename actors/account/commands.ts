import type { AccessCode, StoredCredential } from '#actors/account/state'
import type { BegunSession } from '#actors/session/commands'

/** What an account actor can be asked or told. `version`: that of the credentials as the asker saw them. */
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
  | ChangeAccount

/** A fresh code; the one before is void. Told by the directory for a new user, asked for one who has a password. */
export interface Invite {
  readonly type: 'invite'
  readonly code: AccessCode
}

/** Told by the directory: an account that needs no code, because its password was given at the start. */
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

/** Ends all sessions but `keep`. Answered with `CredentialsChanged`. */
export interface SetPassword {
  readonly type: 'set_password'
  readonly version: number
  readonly passwordHash: string
  readonly keep: string | undefined
}

/** The same password, hashed anew: another hash, and nothing else. */
export interface RenewHash {
  readonly type: 'renew_hash'
  readonly version: number
  readonly passwordHash: string
}

export interface CredentialsChanged {
  readonly version: number
}

/** Somebody was found to be this user. At most `sessionsMax`: the oldest ends. */
export interface BeginAccountSession {
  readonly type: 'begin_session'
  readonly session: BegunSession
  readonly version: number
}

/** All of them, all but one, or one alone. Answered with how many. */
export interface EndSessions {
  readonly type: 'end_sessions'
  readonly keep?: string
  readonly only?: string
}

/** Told by a session that ended by itself. */
export interface SessionOver {
  readonly type: 'session_over'
  readonly session: string
}

/**
 * The code of this secret was shown. `step`: the last that counts as used. The recovery codes are fresh. Ends all sessions
 * but `keep`. Answered with `CredentialsChanged`.
 */
export interface SetTotp {
  readonly type: 'set_totp'
  readonly version: number
  readonly secret: Uint8Array
  readonly step: number
  readonly recovery: readonly Uint8Array[]
  readonly keep: string | undefined
}

/** `isRequired`: the tenant wants a second factor of everybody. Answered with `CredentialsChanged`. */
export interface RemoveTotp {
  readonly type: 'remove_totp'
  readonly version: number
  readonly keep: string | undefined
  readonly isRequired: boolean
}

/** The code of this step was shown, and is the right one. */
export interface UseTotp {
  readonly type: 'use_totp'
  readonly step: number
}

export interface UseRecovery {
  readonly type: 'use_recovery'
  readonly hash: Uint8Array
}

/** `recovery`: undefined when it is not the first factor. Answered with `CredentialsChanged`. */
export interface AddWebauthn {
  readonly type: 'add_webauthn'
  readonly version: number
  readonly credential: StoredCredential
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

/** The credential answered a challenge of ours, well signed. `counter`: as it says. */
export interface UseWebauthn {
  readonly type: 'use_webauthn'
  readonly id: string
  readonly counter: number
}

/** A code or an answer was shown that was not right. */
interface FactorFailed {
  readonly type: 'factor_failed'
}

/** Told by the directory. */
interface ChangeAccount {
  readonly type: 'disable' | 'enable' | 'erase'
}
