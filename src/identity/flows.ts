import { basicToken } from '#identity/basic-login'
import { logIn } from '#identity/login'
import { changePassword } from '#identity/password-change'
import { refresh, refreshBasic } from '#identity/refreshing'
import type { Logins, SecondFactors } from '#identity/requests'
import type { SignInParts } from '#identity/sign-in'
import { signOut } from '#identity/signing-out'
import { signUp } from '#identity/signing-up'
import type { TotpFlows } from '#identity/totp-flows'
import type { WebauthnFlows } from '#identity/webauthn-flows'

/** The flows, as whoever answers a request asks for them. What one throws at once is refused like what it throws later. */
export function loginsOf(parts: SignInParts): Logins {
  return {
    logIn: async (request) => logIn(parts, request),
    basicToken: async (request) => basicToken(parts, request),
    refresh: async (request) => refresh(parts, request),
    refreshBasic: async (request) => refreshBasic(parts, request),
    signOut: async (request) => signOut(parts, request),
    signUp: async (request) => signUp(parts, request),
    changePassword: async (request) => changePassword(parts, request),
  }
}

export function secondFactorsOf(totp: TotpFlows, webauthn: WebauthnFlows): SecondFactors {
  return {
    useTotp: (request) => totp.use(request),
    useRecovery: (request) => totp.recover(request),
    enrollTotp: (request) => totp.enroll(request),
    activateTotp: (request) => totp.activate(request),
    removeTotp: (request) => totp.remove(request),
    webauthnRegistrationOptions: (request) => webauthn.registrationOptions(request),
    registerWebauthn: (request) => webauthn.register(request),
    webauthnAuthenticationOptions: (request) => webauthn.authenticationOptions(request),
    authenticateWebauthn: (request) => webauthn.authenticate(request),
    webauthnCredentials: (request) => webauthn.credentials(request),
    removeWebauthn: (request) => webauthn.remove(request),
  }
}
