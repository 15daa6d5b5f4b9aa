import type { SignInCounts } from '#access/auth-counts'
import { basicToken } from '#access/basic-login'
import { logIn } from '#access/login'
import { changeEmail, changePassword } from '#access/password-change'
import type {
  BasicRefreshRequest,
  BasicRequest,
  EmailRequest,
  LoginRequest,
  PasswordRequest,
  RefreshRequest,
  SignOutRequest,
  SignUpRequest,
} from '#access/requests'
import { refresh, refreshBasic } from '#access/session-refresh'
import type { SignInParts } from '#access/sign-in'
import { signOut } from '#access/sign-out'
import { signUp } from '#access/sign-up'
import type { TotpFlows } from '#access/totp-flows'
import type { WebauthnFlows } from '#access/webauthn-flows'

export type Logins = ReturnType<typeof loginsOf>
export type SecondFactors = ReturnType<typeof secondFactorsOf>

/**
 * The flows of passwords and tokens. Sign-ins, sign-ups and refreshes are counted. A synchronous error also becomes a
 * rejection. Contract 2.
 */
export function loginsOf(parts: SignInParts, counts: SignInCounts) {
  return {
    logIn: counts.countOutcomes(
      'login',
      async (request: LoginRequest) => logIn(parts, request),
      ({ type }) => (type === 'pair' ? 'ok' : type),
    ),
    basicToken: counts.countOutcomes('basic', async (request: BasicRequest) => basicToken(parts, request)),
    refresh: counts.countOutcomes('refresh', async (request: RefreshRequest) => refresh(parts, request)),
    refreshBasic: counts.countOutcomes('basic_refresh', async (request: BasicRefreshRequest) =>
      refreshBasic(parts, request),
    ),
    signUp: counts.countOutcomes('sign_up', async (request: SignUpRequest) => signUp(parts, request)),
    signOut: async (request: SignOutRequest) => signOut(parts, request),
    changePassword: async (request: PasswordRequest) => changePassword(parts, request),
    changeEmail: async (request: EmailRequest) => changeEmail(parts, request),
  }
}

/** The flows of second factors. Each use of a factor is counted. Contract 2, Second factor. */
export function secondFactorsOf(totp: TotpFlows, webauthn: WebauthnFlows, counts: SignInCounts) {
  return {
    useTotp: counts.countOutcomes('totp', totp.use.bind(totp)),
    useRecovery: counts.countOutcomes('recovery', totp.recover.bind(totp)),
    enrollTotp: totp.enroll.bind(totp),
    activateTotp: totp.activate.bind(totp),
    removeTotp: totp.remove.bind(totp),
    webauthnRegistrationOptions: webauthn.registrationOptions.bind(webauthn),
    registerWebauthn: webauthn.register.bind(webauthn),
    webauthnAuthenticationOptions: webauthn.authenticationOptions.bind(webauthn),
    authenticateWebauthn: counts.countOutcomes('webauthn', webauthn.authenticate.bind(webauthn)),
    webauthnCredentials: webauthn.credentials.bind(webauthn),
    removeWebauthn: webauthn.remove.bind(webauthn),
  }
}
