import type { z } from 'zod'
import type { TenantRow } from '#actors/directory/state'
import type { RouteBody } from '#api/route-entry'
import type { confirmationFields, useTotp } from '#api/second-factors'
import type * as sessions from '#api/sessions'
import type * as api from '#api/sign-in'
import type { Caller, Principal } from '#model/caller'

/**
 * Requests and answers of sign-in and account operations. A request has the fields of the body of its route. A refusal
 * is a thrown Problem.
 */

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

type BodyOf<Route> = Route extends { readonly body?: RouteBody<infer Body> } ? Readonly<z.output<Body>> : never

interface FromOrigin {
  readonly origin: SignInOrigin
}

interface Proven extends FromOrigin {
  /** The thumbprint of the key in the request's proof, which was valid. Undefined: no proof. */
  readonly jkt: string | undefined
}

interface FromCaller extends FromOrigin {
  readonly caller: Caller
}

/** §4.1. */
export type LoginRequest = BodyOf<typeof api.logIn> & Proven
export type RefreshRequest = BodyOf<typeof api.refreshSession> & Proven
export type BasicRefreshRequest = BodyOf<typeof api.refreshToken> & FromOrigin
export type SignUpRequest = BodyOf<typeof api.signUp> & FromOrigin
export type EmailRequest = BodyOf<typeof sessions.changeEmail> & FromCaller
export type PasswordRequest = BodyOf<typeof sessions.changePassword> & FromCaller

export type LoginOutcome =
  | ({ readonly type: 'pair' } & api.TokenPair)
  | { readonly type: 'conflict'; readonly tenants: readonly TenantRow[] }
  | ({ readonly type: 'second_factor' } & Omit<z.output<typeof api.SecondFactorNeeded>, 'status'>)

export interface BasicRequest extends FromOrigin {
  /** The `Authorization` header as received. */
  readonly authorization: string
  /** Whether a refresh token is requested. */
  readonly isOffline: boolean
}

/** The tokens of the Basic scheme. Contract 2. */
export interface BasicTokens {
  readonly token: string
  readonly refreshToken?: string
}

/** The caller has a session, or sends a proof and a refresh token bound to the same key. Contract 2, Sign-out. */
export interface SignOutRequest extends FromCaller {
  readonly refreshToken?: string | undefined
  readonly isAll: boolean
}

/** Contract 2, Second factor. */
export interface FactorRequest extends FromCaller {
  /** A 2FA token, which takes precedence over a session. */
  readonly token?: string | undefined
}

export type FactorCodeRequest = FactorRequest & Pick<BodyOf<typeof useTotp>, 'code'>

/** A password or a code, which confirms that the signed-in person is still present. */
export type Confirmation = Readonly<z.output<z.ZodObject<typeof confirmationFields>>>

export type ConfirmedRequest = FactorRequest & Confirmation

/** Has the token pair if this completes a sign-in, and recovery codes for a first factor or an activation of TOTP. */
export interface FactorActivated extends Partial<api.TokenPair> {
  readonly recoveryCodes?: readonly string[]
}
