import type { Principal } from '#model/caller'
import type { SecondFactor } from '#model/user'

/** What belongs to one user alone and nobody else must compare. Of one that does not exist there is an actor too. */
export interface AccountState {
  readonly tenant: string
  readonly user: string
  /** Undefined: there is no such account. */
  credentials: Credentials | undefined
  factors: Factors
  /** In the order in which they began. */
  sessions: readonly AccountSession[]
}

export interface Credentials {
  /** What the password engine made of the password; null before the first. */
  readonly hash: string | null
  /**
   * Raised with whatever decides who may sign in: password, factors turned on or off, the account itself. Who compared
   * with what stood then (that takes long) names it, and is refused when it moved.
   */
  readonly version: number
  readonly code: AccessCode | null
  readonly isDisabled: boolean
}

/** What somebody may take the account with, once. Contract 2, Sign-up. */
export interface AccessCode {
  /** SHA-256 of its text. */
  readonly hash: Uint8Array
  /** Unix ms. */
  readonly expiresAt: number
  /** The second factors go when it is used; until then they and the old password hold. */
  readonly resetsFactors: boolean
  /** The code gives no more than its maker may give when it is used. Absent in codes that were stored before makers were. */
  readonly createdBy?: Principal
}

export interface Factors {
  readonly totp: Totp | null
  /** SHA-256 of the recovery codes that are left. */
  readonly recovery: readonly Uint8Array[]
  readonly webauthn: readonly StoredCredential[]
  readonly wrong: WrongFactors | null
}

interface Totp {
  /** Sealed. */
  readonly secret: Uint8Array
  /** The last step a code was taken of: that code and all before are used. RFC 6238 §5.2. */
  readonly step: number
}

/** https://www.w3.org/TR/webauthn-3/#credential-record, as far as we look at it. */
export interface StoredCredential {
  /** Base64url, as the browser says it. */
  readonly id: string
  /** COSE_Key. */
  readonly publicKey: Uint8Array
  /** 0 of authenticators that don't count. */
  readonly counter: number
  readonly transports: readonly string[]
  readonly name: string
  /** Unix ms. */
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** Wrong factors since the first of a day, Unix ms. */
export interface WrongFactors {
  readonly since: number
  readonly count: number
  readonly last: number
}

export type AccountSession = readonly [session: string, createdAt: number]

/** Names of its records. */
export const credentialsRecord = 'credentials'
export const factorsRecord = 'factors'
export const sessionsRecord = 'sessions'

export const noFactors: Factors = Object.freeze({ totp: null, recovery: [], webauthn: [], wrong: null })
export const noSessions: readonly AccountSession[] = Object.freeze([])

/** Second factors that are on. Recovery codes are none of their own: they stand in for one that was lost. */
export function factorNames({ totp, webauthn }: Factors): readonly SecondFactor[] {
  const names: SecondFactor[] = []
  if (totp) names.push('totp')
  if (webauthn.length > 0) names.push('webauthn')
  return names
}
