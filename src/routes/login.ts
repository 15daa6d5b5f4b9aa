import type { LoginOutcome } from '#access/requests'
import type { Logins } from '#access/sign-in-flows'
import type { TenantRow } from '#actors/directory/state'
import * as api from '#api/sign-in'
import { type Binding, bind, type Reply } from '#http/call'
import { formatCrn } from '#model/crn'
import { notStored, signInOriginOf } from '#routes/sign-in-origin'

/** Routes for login and logout by the DPoP scheme. §5.2, contract 2. */
export function loginRoutes(logins: Logins): Binding[] {
  return [
    bind(api.logIn, async (call) => {
      const { jkt } = call.caller
      return replyTo(await logins.logIn({ ...call.body, jkt, place: signInOriginOf(call) }))
    }),

    bind(api.refreshSession, async (call) => {
      const { refreshToken } = call.body
      const { jkt } = call.caller
      const json = await logins.refresh({ refreshToken, jkt, place: signInOriginOf(call) })
      return { status: 200, headers: notStored, json }
    }),

    bind(api.logOut, async (call) => {
      const { caller, query, body } = call
      const isAll = query.all ?? false
      await logins.signOut({ caller, refreshToken: body?.refreshToken, isAll, place: signInOriginOf(call) })
      return { status: 204 }
    }),
  ]
}

function replyTo(outcome: LoginOutcome): Reply {
  switch (outcome.type) {
    case 'pair': {
      const { accessToken, refreshToken } = outcome
      return { status: 200, headers: notStored, json: { accessToken, refreshToken } }
    }
    case 'conflict':
      return { status: 409, json: { error: 'TENANT_CONFLICT_ERROR', tenants: outcome.tenants.map(candidateOf) } }
    case 'second_factor': {
      const { token, expiresIn, methods, enroll } = outcome
      return { status: 200, headers: notStored, json: { status: '2fa_required', token, expiresIn, methods, enroll } }
    }
  }
}

/** One of several possible tenants. §5.2.7. */
function candidateOf({ tenantIdentifier, name }: TenantRow) {
  return { tenantIdentifier, name, resourceIdentifier: formatCrn({ type: 'tenant', id: tenantIdentifier }) }
}
