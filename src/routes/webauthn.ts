import type { SecondFactors } from '#access/sign-in-flows'
import * as api from '#api/webauthn'
import { type Binding, bind } from '#http/call'
import { notStored, signInOriginOf } from '#routes/sign-in'

/** Routes for WebAuthn. Bodies contain the data of the browser unchanged, and fields of this API. Contract 2. */
export function webauthnRoutes(factors: SecondFactors): Binding[] {
  return [
    bind(api.startWebauthnRegistration, async (call) => {
      const request = { ...call.body, caller: call.caller, origin: signInOriginOf(call) }
      return { status: 200, headers: notStored, json: await factors.webauthnRegistrationOptions(request) }
    }),

    bind(api.finishWebauthnRegistration, async (call) => {
      const { token, name, password, code, ...response } = call.body
      const request = { token, name, password, code, response, caller: call.caller, origin: signInOriginOf(call) }
      return { status: 200, headers: notStored, json: await factors.registerWebauthn(request) }
    }),

    bind(api.startWebauthnAuthentication, async (call) => {
      const request = { ...call.body, caller: call.caller, origin: signInOriginOf(call) }
      return { status: 200, headers: notStored, json: await factors.webauthnAuthenticationOptions(request) }
    }),

    bind(api.finishWebauthnAuthentication, async (call) => {
      const { token, ...response } = call.body
      const request = { token, response, caller: call.caller, origin: signInOriginOf(call) }
      return { status: 200, headers: notStored, json: await factors.authenticateWebauthn(request) }
    }),

    bind(api.listWebauthnCredentials, async (call) => ({
      status: 200,
      json: await factors.webauthnCredentials({ caller: call.caller, origin: signInOriginOf(call) }),
    })),

    bind(api.deleteWebauthnCredential, async (call) => {
      const { id } = call.parameters
      await factors.removeWebauthn({ ...call.body, id, caller: call.caller, origin: signInOriginOf(call) })
      return { status: 204 }
    }),
  ]
}
