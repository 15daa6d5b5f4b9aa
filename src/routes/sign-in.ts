import type { LoginOutcome, SignInOrigin } from '#access/requests'
import type { Logins } from '#access/sign-in-flows'
import type { TenantRow } from '#actors/directory/state'
import * as api from '#api/sign-in'
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
export async function unstoredReply(json: object | Promise<object>): Promise<Reply> {
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
