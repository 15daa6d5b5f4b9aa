import type { BegunSession } from '#actors/session/state'
import type { Principal } from '#model/caller'
import type { SecondFactor } from '#model/user'
import type { ActorAddress, CommandOf, NoFields } from '#runtime/actor'

/**
 * The data of one user that is never compared with the data of other users. An account that does not exist has an actor
 * too.
 */
export interface AccountState {
  readonly tenant: string
  readonly user: string
  /** Undefined: the account does not exist. */
  credentials: Credentials | undefined
  factors: Factors
  /** Oldest first. */
  sessions: readonly AccountSession[]
}

export interface Credentials {
  /** The password hash; null before the first password. */
  readonly hash: string | null
  /**
   * Raised when the password changes, when a factor is added, replaced or removed, and when the account is disabled.
   * Comparing a password takes long and runs before the turn, so the caller sends the version whose hash it compared.
   * The command is refused if the version has changed.
   */
  readonly version: number
  readonly code: AccessCode | null
  readonly isDisabled: boolean
}

/** A one-time code with which a user takes over the account. Contract 2, Sign-up. */
export interface AccessCode {
  /** SHA-256 of the code's text. */
  readonly hash: Uint8Array
  /** Unix ms. */
  readonly expiresAt: number
  /** Whether using the code removes the second factors. Until then the factors and the old password stay valid. */
  readonly resetsFactors: boolean
  /**
   * The code grants no more than its creator may grant at the time of use. Absent in codes stored by older versions.
   */
  readonly createdBy?: Principal
}

export interface Factors {
  readonly totp: Totp | null
  /** SHA-256 of the unused recovery codes. */
  readonly recovery: readonly Uint8Array[]
  readonly webauthn: readonly StoredCredential[]
  readonly wrong: WrongFactors | null
}

interface Totp {
  /** The secret, sealed with the key file. */
  readonly secret: Uint8Array
  /** The step of the last accepted code. Codes of this step and of earlier steps count as used. RFC 6238 §5.2. */
  readonly step: number
}

/** The fields of https://www.w3.org/TR/webauthn-3/#credential-record that the server uses. Times are Unix ms. */
export interface StoredCredential {
  /** Base64url, as sent by the browser. */
  readonly id: string
  /** COSE_Key. */
  readonly publicKey: Uint8Array
  /** 0 for authenticators without a counter. */
  readonly counter: number
  readonly transports: readonly string[]
  readonly name: string
  readonly createdAt: number
  /** Null: the credential was never used. */
  readonly lastUsedAt: number | null
}

/**
 * The wrong factors of one day. `since`: the time of the first wrong factor, with which the day begins; `last`: the
 * time of the latest wrong factor. Times are Unix ms.
 */
export interface WrongFactors {
  readonly since: number
  readonly count: number
  readonly last: number
}

export type AccountSession = readonly [session: string, createdAt: number]

// Record names.
export const credentialsRecord = 'credentials'
export const factorsRecord = 'factors'
export const sessionsRecord = 'sessions'

export const noFactors: Factors = Object.freeze({ totp: null, recovery: [], webauthn: [], wrong: null })
export const noSessions: readonly AccountSession[] = Object.freeze([])

/** The second factors that are on. Recovery codes are not listed: they only replace a lost factor. */
export function factorNames({ totp, webauthn }: Factors): readonly SecondFactor[] {
  const names: SecondFactor[] = []
  if (totp) names.push('totp')
  if (webauthn.length > 0) names.push('webauthn')
  return names
}

/** Commands of an account actor. `version` is the version of the credentials that the caller has read. */
export interface AccountCommands {
  /**
   * A new invitation code; the previous code becomes invalid. Sent by the directory for a new user, and by a request that
   * renews the code of any user.
   */
  invite: { readonly code: AccessCode }
  /** Sent by the directory for an account that needs no code, because it was created with a password. */
  open: { readonly passwordHash: string }
  /** Answered with `CredentialsChanged`. */
  redeem_code: {
    readonly codeHash: Uint8Array
    readonly passwordHash: string
  }
  /** Ends all sessions except `keep`. Answered with `CredentialsChanged`. */
  set_password: {
    readonly version: number
    readonly passwordHash: string
    readonly keep: string | undefined
  }
  /** A new hash of the unchanged password. */
  renew_hash: {
    readonly version: number
    readonly passwordHash: string
  }
  /** A user has signed in. An account has at most `sessionsMax` sessions; beyond that the oldest session ends. */
  begin_session: {
    readonly session: BegunSession
    readonly version: number
  }
  /** Ends all sessions, all except `keep`, or only the session `only`. Answered with the number of ended sessions. */
  end_sessions: {
    readonly keep?: string
    readonly only?: string
  }
  /** Sent by a session that ended by itself. */
  session_over: { readonly session: string }
  /**
   * The user entered a valid code of this secret. Ends all sessions except `keep`. Answered with `CredentialsChanged`.
   */
  set_totp: {
    readonly version: number
    readonly secret: Uint8Array
    /** Codes of this step and of earlier steps count as used. */
    readonly step: number
    /** The hashes of new recovery codes. */
    readonly recovery: readonly Uint8Array[]
    readonly keep: string | undefined
  }
  /** Ends all sessions except `keep`. Answered with `CredentialsChanged`. */
  remove_totp: {
    readonly version: number
    readonly keep: string | undefined
    /** The tenant requires a second factor. */
    readonly isRequired: boolean
  }
  /** The user entered the correct code of this step. */
  use_totp: { readonly step: number }
  use_recovery: { readonly hash: Uint8Array }
  /** Ends all sessions except `keep`. Answered with `CredentialsChanged`. */
  add_webauthn: {
    readonly version: number
    readonly credential: StoredCredential
    /** The hashes of new recovery codes. Undefined if the account has another factor already. */
    readonly recovery: readonly Uint8Array[] | undefined
    readonly keep: string | undefined
  }
  /** Answered with `CredentialsChanged`. */
  remove_webauthn: {
    readonly version: number
    readonly id: string
    readonly keep: string | undefined
    readonly isRequired: boolean
  }
  /** The credential signed the server's challenge. `counter` is its signature counter. */
  use_webauthn: {
    readonly id: string
    readonly counter: number
  }
  /** The user gave a wrong code or a wrong signature. */
  factor_failed: NoFields
  /** Sent by the directory. */
  disable: NoFields
  enable: NoFields
  erase: NoFields
}

export type AccountCommand = CommandOf<AccountCommands>

export interface CredentialsChanged {
  readonly version: number
}

/** `user` is the bare id, because a name can pass to another user. */
export function accountAddress(tenant: string, user: string): ActorAddress<AccountState, AccountCommand> {
  return { kind: 'account', tenant, id: user }
}
