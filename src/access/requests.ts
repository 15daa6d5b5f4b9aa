import type { TenantRow } from '#actors/directory/state'
import type { Caller, Principal } from '#model/caller'

/** Requests and answers of sign-in and account operations. A refusal is a thrown Problem. */

/** Where a sign-in comes from, as the server saw it. */
export interface SignInOrigin {
  /** The host of the request in lower case, with the port if the client sent one. */
  readonly host: string
  readonly address: string
  /** `User-Agent` as received; stored up to a length. */
  readonly agent: string
  /** Aborts when no client waits for the answer any more. */
  readonly signal?: AbortSignal
  /** Called with the user that the sign-in is about, even if it fails. */
  readonly identified?: (user: Principal) => void
}

/** §4.1. */
export interface LoginRequest {
  /** An e-mail address, or a user's name. */
  readonly email: string
  readonly password: string
  /** Without `crn#tenant:`. */
  readonly tenantIdentifier?: string | undefined
  /** The thumbprint of the key in the request's proof, which was valid. Undefined: no proof. */
  readonly jkt: string | undefined
  readonly origin: SignInOrigin
}

/** The tokens of the DPoP scheme. §4.1. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
}

export type LoginOutcome =
  | ({ readonly type: 'pair' } & TokenPair)
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
  /** The `Authorization` header as received. */
  readonly authorization: string
  /** Whether a refresh token is requested. */
  readonly isOffline: boolean
  readonly origin: SignInOrigin
}

/** The tokens of the Basic scheme. Contract 2. */
export interface BasicTokens {
  readonly token: string
  readonly refreshToken?: string
}

export interface RefreshRequest {
  readonly refreshToken: string
  /** The thumbprint of the key in the request's proof, which was valid. Undefined: no proof. */
  readonly jkt: string | undefined
  readonly origin: SignInOrigin
}

export interface BasicRefreshRequest {
  readonly refreshToken: string
  readonly origin: SignInOrigin
}

/** The caller has a session, or sends a proof and a refresh token bound to the same key. Contract 2, Sign-out. */
export interface SignOutRequest {
  readonly caller: Caller
  readonly refreshToken?: string | undefined
  readonly isAll: boolean
  readonly origin: SignInOrigin
}

export interface SignUpRequest {
  readonly name: string
  readonly code: string
  readonly password: string
  readonly origin: SignInOrigin
}

export interface EmailRequest {
  readonly caller: Caller
  readonly current: string
  /** The new address. Null: no address. */
  readonly email: string | null
  readonly origin: SignInOrigin
}

export interface PasswordRequest {
  readonly caller: Caller
  readonly current: string
  readonly password: string
  readonly origin: SignInOrigin
}

/** Contract 2, Second factor. */
export interface FactorRequest {
  readonly caller: Caller
  /** A 2FA token, which takes precedence over a session. */
  readonly token?: string | undefined
  readonly origin: SignInOrigin
}

export interface FactorCodeRequest extends FactorRequest {
  readonly code: string
}

/** A password or a code, which confirms that the signed-in person is still present. */
export interface Confirmation {
  readonly password?: string | undefined
  readonly code?: string | undefined
}

export type ConfirmedRequest = FactorRequest & Confirmation

/** Has the token pair if this completes a sign-in, and recovery codes for a first factor or an activation of TOTP. */
export interface FactorActivated extends Partial<TokenPair> {
  readonly recoveryCodes?: readonly string[]
}
