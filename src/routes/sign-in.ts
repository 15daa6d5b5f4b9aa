import type { LoginOutcome, SignInOrigin } from '#access/requests'
import type { Logins, SecondFactors } from '#access/sign-in-flows'
import type { TenantRow } from '#actors/directory/state'
import * as factorsApi from '#api/second-factors'
import * as api from '#api/sign-in'
import * as webauthn from '#api/webauthn'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import type { Principal } from '#model/caller'
import { formatCrn } from '#model/crn'

/** The origin of a request to sign in, or to change an account. */
export function signInOriginOf(call: Call): SignInOrigin {
  const { host, address } = call.forwarded
  const identified = (user: Principal) => call.identified(user)
  return { host, address, agent: call.header('user-agent'), signal: call.signal, identified }
}

/** An answer with tokens or secrets, which caches must not store. Contract 1.9. */
async function unstoredReply(json: object | Promise<object>): Promise<Reply> {
  return { status: 200, headers: { 'Cache-Control': 'no-store' }, json: await json }
}

/** Routes for sign-up, sign-in and sign-out. §5, contract 2. */
export function signInRoutes(logins: Logins): Binding[] {
  return [
    bind(api.signUp, async (call) => {
      const { name, code, password } = call.body
      const json = await logins.signUp({ name, code, password, origin: signInOriginOf(call) })
      const headers = { Location: `/api/v1/iam/users/${encodeURIComponent(json.name)}` }
      return { status: 201, headers, json }
    }),

    bind(api.readToken, (call) => {
      const isOffline = call.query.scope ?? false
      const authorization = call.header('authorization')
      return unstoredReply(logins.basicToken({ authorization, isOffline, origin: signInOriginOf(call) }))
    }),

    bind(api.refreshToken, (call) => {
      const { refreshToken } = call.body
      return unstoredReply(logins.refreshBasic({ refreshToken, origin: signInOriginOf(call) }))
    }),

    bind(api.logIn, async (call) => {
      const { jkt } = call.caller
      return replyTo(await logins.logIn({ ...call.body, jkt, origin: signInOriginOf(call) }))
    }),

    bind(api.refreshSession, (call) => {
      const { refreshToken } = call.body
      const { jkt } = call.caller
      return unstoredReply(logins.refresh({ refreshToken, jkt, origin: signInOriginOf(call) }))
    }),

    bind(api.logOut, async (call) => {
      const { caller, query, body } = call
      const isAll = query.all ?? false
      await logins.signOut({ caller, refreshToken: body?.refreshToken, isAll, origin: signInOriginOf(call) })
      return { status: 204 }
    }),
  ]
}

function replyTo(outcome: LoginOutcome): Reply | Promise<Reply> {
  switch (outcome.type) {
    case 'pair': {
      const { accessToken, refreshToken } = outcome
      return unstoredReply({ accessToken, refreshToken })
    }
    case 'conflict':
      return { status: 409, json: { error: 'TENANT_CONFLICT_ERROR', tenants: outcome.tenants.map(candidateOf) } }
    case 'second_factor': {
      const { token, expiresIn, methods, enroll } = outcome
      return unstoredReply({ status: '2fa_required', token, expiresIn, methods, enroll })
    }
  }
}

/** One of several possible tenants. §5.2.7. */
function candidateOf({ tenantIdentifier, name }: TenantRow) {
  return { tenantIdentifier, name, resourceIdentifier: formatCrn({ type: 'tenant', id: tenantIdentifier }) }
}

/**
 * Routes for one-time codes, recovery codes and WebAuthn. Bodies of WebAuthn contain the data of the browser unchanged,
 * and fields of this API. §5.2.8, contract 2.
 */
export function secondFactorRoutes(factors: SecondFactors): Binding[] {
  return [
    bind(factorsApi.useTotp, (call) => unstoredReply(factors.useTotp({ ...call.body, ...senderOf(call) }))),
    bind(factorsApi.useRecoveryCode, (call) => unstoredReply(factors.useRecovery({ ...call.body, ...senderOf(call) }))),
    bind(factorsApi.enrollTotp, (call) => unstoredReply(factors.enrollTotp({ ...call.body, ...senderOf(call) }))),
    bind(factorsApi.activateTotp, (call) => unstoredReply(factors.activateTotp({ ...call.body, ...senderOf(call) }))),
    bind(factorsApi.removeTotp, async (call) => {
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
