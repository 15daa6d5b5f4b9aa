import type { SecondFactors } from '#access/sign-in-flows'
import * as api from '#api/second-factors'
import * as webauthn from '#api/webauthn'
import { type Binding, bind, type Call } from '#http/call'
import { signInOriginOf, unstoredReply } from '#routes/sign-in'

/**
 * Routes for one-time codes, recovery codes and WebAuthn. Bodies of WebAuthn contain the data of the browser unchanged,
 * and fields of this API. §5.2.8, contract 2.
 */
export function secondFactorRoutes(factors: SecondFactors): Binding[] {
  return [
    bind(api.useTotp, (call) => unstoredReply(factors.useTotp({ ...call.body, ...senderOf(call) }))),
    bind(api.useRecoveryCode, (call) => unstoredReply(factors.useRecovery({ ...call.body, ...senderOf(call) }))),
    bind(api.enrollTotp, (call) => unstoredReply(factors.enrollTotp({ ...call.body, ...senderOf(call) }))),
    bind(api.activateTotp, (call) => unstoredReply(factors.activateTotp({ ...call.body, ...senderOf(call) }))),
    bind(api.removeTotp, async (call) => {
      await factors.removeTotp({ ...call.body, ...senderOf(call) })
      return { status: 204 }
    }),

    bind(webauthn.startWebauthnRegistration, (call) =>
      unstoredReply(factors.webauthnRegistrationOptions({ ...call.body, ...senderOf(call) })),
    ),
    bind(webauthn.finishWebauthnRegistration, (call) => {
      const { token, name, password, code, ...response } = call.body
      return unstoredReply(factors.registerWebauthn({ token, name, password, code, response, ...senderOf(call) }))
    }),
    bind(webauthn.startWebauthnAuthentication, (call) =>
      unstoredReply(factors.webauthnAuthenticationOptions({ ...call.body, ...senderOf(call) })),
    ),
    bind(webauthn.finishWebauthnAuthentication, (call) => {
      const { token, ...response } = call.body
      return unstoredReply(factors.authenticateWebauthn({ token, response, ...senderOf(call) }))
    }),
    bind(webauthn.listWebauthnCredentials, async (call) => ({
      status: 200,
      json: await factors.webauthnCredentials(senderOf(call)),
    })),
    bind(webauthn.deleteWebauthnCredential, async (call) => {
      await factors.removeWebauthn({ ...call.body, id: call.parameters.id, ...senderOf(call) })
      return { status: 204 }
    }),
  ]
}

function senderOf(call: Call) {
  return { caller: call.caller, origin: signInOriginOf(call) }
}
