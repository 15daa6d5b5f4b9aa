import type { Logins } from '#access/sign-in-flows'
import { accountAddress } from '#actors/account/state'
import { rowByName } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { isOver, sessionAddress } from '#actors/session/state'
import * as api from '#api/sessions'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'
import type { Grant, Reach } from '#model/scope'
import type { RouteContext } from '#routes/context'
import { signInOriginOf } from '#routes/sign-in'
import { bindForTenant } from '#routes/target-tenant'
import { existingUser, userToEdit } from '#routes/users'

/** Routes for the caller's own identity. */
export function identityRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.readMe, async ({ caller }) => {
      const { name, tenant, roles, scope, session } = caller
      const person = session?.kind === 'session' ? rowByName(context.system.wake(directoryAddress), name) : undefined
      const own = person && { ...(person.email !== null && { email: person.email }), twoFactor: [...person.factors] }
      const grants: (Grant & { readonly deviceCount: number })[] = []
      for (const [place, grant] of scope.grants.entries()) {
        const { devices } = scope.reachOfGrants[place] as Reach
        grants.push({ ...grant, deviceCount: await context.devices.search.countOf(caller, devices) })
      }
      return { status: 200, json: { name, tenant, roles, grants, ...own } }
    }),
  ]
}

/** Routes for sessions: one's own and, for administrators, those of other users. Contract 2. */
export function sessionRoutes(context: RouteContext, logins: Logins): Binding[] {
  const { system } = context
  return [
    bind(api.listSessions, async ({ caller }) => ({
      status: 200,
      json: await sessionsOf(context, caller.tenant, userIdOf(caller), caller.session?.id),
    })),

    bind(api.endSession, async ({ caller, parameters: { id: only } }) => {
      await system.ask(accountAddress(caller.tenant, userIdOf(caller)), { type: 'end_sessions', only })
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
      return { status: 200, json: await sessionsOf(context, tenant, id, caller.session?.id) }
    }),

    bindForTenant(context, api.endUserSessions, async ({ caller, parameters: { name } }, tenant) => {
      const { id } = userToEdit(context, caller, tenant, name)
      await system.ask(accountAddress(tenant, id), { type: 'end_sessions' })
      return { status: 204 }
    }),

    bindForTenant(context, api.endUserSession, async ({ caller, parameters: { name, id: only } }, tenant) => {
      const { id } = userToEdit(context, caller, tenant, name)
      await system.ask(accountAddress(tenant, id), { type: 'end_sessions', only })
      return { status: 204 }
    }),
  ]
}

/** The newest session is first. `current`: id of the session that sends the request. Contract 2, Sessions. */
export async function sessionsOf({ system }: RouteContext, tenant: string, user: string, current?: string) {
  const shown = system.peek(accountAddress(tenant, user)).sessions.flatMap(([id]) => {
    const stored = system.peek(sessionAddress(tenant, id)).session
    if (!stored || isOver(stored, system.world.now())) return []
    const { createdAt, lastUsedAt, address, agent, scheme } = stored
    return [{ id, createdAt, lastUsedAt, address, agent, scheme, isCurrent: id === current }]
  })
  await system.gate.whenStored()
  return shown.reverse()
}

/** The bare id of a signed-in person. Other callers have no sessions. */
function userIdOf({ user }: Caller): string {
  const id = idOfCrn(user, 'user')
  if (id === undefined) throw new Problem('forbidden')
  return id
}

/** The error for routes of identity and access management while authentication is off. Contract 2. */
export function identityOffProblem(path: string): Problem | undefined {
  return /^\/api\/v1\/(auth|iam)(\/|$)/.test(path) ? new Problem('not_found', 'IAM is off') : undefined
}
