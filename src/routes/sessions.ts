import type { Identity } from '#access/identity'
import * as api from '#api/sessions'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { signInOriginOf } from '#routes/sign-in'
import { bindForTenant } from '#routes/target-tenant'
import { existingUser, userToEdit } from '#routes/users'

/** Routes for sessions: one's own and, for administrators, those of other users. Contract 2. */
export function sessionRoutes(context: RouteContext, { sessions, logins }: Identity): Binding[] {
  return [
    bind(api.listSessions, async ({ caller }) => ({
      status: 200,
      json: await sessions.list(caller.tenant, userIdOf(caller), caller.session?.id),
    })),

    bind(api.endSession, async ({ caller, parameters: { id } }) => {
      await sessions.end(caller.tenant, userIdOf(caller), id)
      return { status: 204 }
    }),

    bind(api.changePassword, async (call) => {
      const { current, password } = call.body
      await logins.changePassword({ caller: call.caller, current, password, origin: signInOriginOf(call) })
      return { status: 204 }
    }),

    bind(api.changeEmail, async (call) => {
      const { current, email } = call.body
      await logins.changeEmail({ caller: call.caller, current, email, origin: signInOriginOf(call) })
      return { status: 204 }
    }),

    bindForTenant(context, api.listUserSessions, async ({ caller, parameters: { name } }, tenant) => {
      const { id } = existingUser(context, tenant, name)
      return { status: 200, json: await sessions.list(tenant, id, caller.session?.id) }
    }),

    bindForTenant(context, api.endUserSessions, async ({ caller, parameters: { name } }, tenant) => {
      await sessions.endAll(tenant, userToEdit(context, caller, tenant, name).id)
      return { status: 204 }
    }),

    bindForTenant(context, api.endUserSession, async ({ caller, parameters: { name, id } }, tenant) => {
      await sessions.end(tenant, userToEdit(context, caller, tenant, name).id, id)
      return { status: 204 }
    }),
  ]
}

/** The bare id of a signed-in person. Other callers have no sessions. */
function userIdOf({ user }: Caller): string {
  const id = idOfCrn(user, 'user')
  if (id === undefined) throw new Problem('forbidden')
  return id
}
