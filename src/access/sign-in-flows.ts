import type { SignInCounts } from '#access/auth-counts'
import { basicToken } from '#access/basic-login'
import { FactorConfirmations } from '#access/factor-confirmation'
import { logIn } from '#access/login'
import { changeEmail, changePassword } from '#access/password-change'
import { refresh, refreshBasic } from '#access/session-refresh'
import type { SignInParts } from '#access/sign-in'
import { signOut } from '#access/sign-out'
import { signUp } from '#access/sign-up'
import { totpFlowsOf } from '#access/totp-flows'
import type { Webauthn } from '#access/webauthn'
import { webauthnFlowsOf } from '#access/webauthn-flows'

export type Logins = ReturnType<typeof loginsOf>
export type SecondFactors = ReturnType<typeof secondFactorsOf>

/**
 * The flows of passwords and tokens. Sign-ins, sign-ups and refreshes are counted. A synchronous error also becomes a
 * rejection. Contract 2.
 */
export function loginsOf(parts: SignInParts, counts: SignInCounts) {
  const flow =
    <R, A>(run: (parts: SignInParts, request: R) => Promise<A>) =>
    async (request: R) =>
      run(parts, request)
  return {
    logIn: counts.countOutcomes('login', flow(logIn), ({ type }) => (type === 'pair' ? 'ok' : type)),
    basicToken: counts.countOutcomes('basic', flow(basicToken)),
    refresh: counts.countOutcomes('refresh', flow(refresh)),
    refreshBasic: counts.countOutcomes('basic_refresh', flow(refreshBasic)),
    signUp: counts.countOutcomes('sign_up', flow(signUp)),
    signOut: flow(signOut),
    changePassword: flow(changePassword),
    changeEmail: flow(changeEmail),
  }
}

/** The flows of second factors. Each use of a factor is counted. Contract 2, Second factor. */
export function secondFactorsOf(parts: SignInParts, webauthn: Webauthn, counts: SignInCounts) {
  const confirmations = new FactorConfirmations(parts)
  const { useTotp, useRecovery, ...totpFlows } = totpFlowsOf(parts, confirmations)
  const { authenticateWebauthn, ...webauthnFlows } = webauthnFlowsOf(parts, confirmations, webauthn)
  return {
    ...totpFlows,
    ...webauthnFlows,
    useTotp: counts.countOutcomes('totp', useTotp),
    useRecovery: counts.countOutcomes('recovery', useRecovery),
    authenticateWebauthn: counts.countOutcomes('webauthn', authenticateWebauthn),
  }
}
