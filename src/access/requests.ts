import type { TenantRow } from '#actors/directory/state'
import type { Caller } from '#model/caller'

/** What flows of identity are asked, and what they answer. Whatever is refused is a Problem thrown. */

/** From where somebody signs in, as the server saw it. */
export interface SignInPlace {
  /** With its port if it came with one; lower case. */
  readonly host: string
  readonly address: string
  /** `User-Agent` as it came; kept up to a length. */
  readonly agent: string
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

/** §4.1. `jkt`: of the proof that came with it, which was good. */
export interface LoginRequest {
  /** An e-mail address, or a user's name. */
  readonly email: string
  readonly password: string
  /** Bare. */
  readonly tenantIdentifier?: string | undefined
  readonly jkt: string | undefined
  readonly place: SignInPlace
}

/** Of the DPoP scheme. §4.1. */
export interface Pair {
  readonly accessToken: string
  readonly refreshToken: string
}

export type LoginOutcome =
  | ({ readonly type: 'pair' } & Pair)
  | { readonly type: 'conflict'; readonly tenants: readonly TenantRow[] }
  | {
      readonly type: 'second_factor'
      readonly token: string
      /** Seconds. */
      readonly expiresIn: number
      readonly methods: readonly ('totp' | 'webauthn' | 'recovery')[]
      readonly enroll: boolean
    }

export interface BasicRequest {
  /** The header `Authorization` as it came. */
  readonly authorization: string
  /** Whether a refresh token is asked for. */
  readonly isOffline: boolean
  readonly place: SignInPlace
}

/** Of the Basic scheme. Contract 2. */
export interface TokenAnswer {
  readonly token: string
  readonly refreshToken?: string
}

/** `jkt`: of the proof that came with it, which was good. */
export interface RefreshRequest {
  readonly refreshToken: string
  readonly jkt: string | undefined
  readonly place: SignInPlace
}

export interface BasicRefreshRequest {
  readonly refreshToken: string
  readonly place: SignInPlace
}

/** Who asks has a session, or has shown a proof and shows a refresh token bound to the same key. Contract 2, Sign-out. */
export interface SignOutRequest {
  readonly caller: Caller
  readonly refreshToken?: string | undefined
  readonly isAll: boolean
}

export interface SignUpRequest {
  readonly name: string
  readonly code: string
  readonly password: string
  readonly place: SignInPlace
}

export interface PasswordRequest {
  readonly caller: Caller
  readonly current: string
  readonly password: string
  readonly place: SignInPlace
}

/** One session as it is shown. Times are Unix ms. */
export interface ShownSession {
  readonly id: string
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly address: string
  readonly agent: string
  readonly scheme: 'basic' | 'dpop'
  readonly isCurrent: boolean
}

/** `token`: a 2FA token, which counts before the session that also came. Contract 2, Second factor. */
export interface FactorRequest {
  readonly caller: Caller
  readonly token?: string | undefined
  readonly place: SignInPlace
}

export interface FactorCodeRequest extends FactorRequest {
  readonly code: string
}

/** By what a signed-in person shows that it is still him who sits there. */
export interface Confirmation {
  readonly password?: string | undefined
  readonly code?: string | undefined
}

export type ConfirmedRequest = FactorRequest & Confirmation

/** The pair where it completes a login. Recovery codes where this is the first factor. */
export interface FactorActivated extends Partial<Pair> {
  readonly recoveryCodes?: readonly string[]
}

export interface ShownCredential {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly transports: readonly string[]
}

/** A key that tokens are, or were, signed with. Times are Unix ms. */
export interface ShownSigningKey {
  readonly kid: string
  readonly createdAt: number
  /** Absent: tokens are signed with it. */
  readonly retiresAt?: number
}
