import { isRoleUsed } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { grantsOfRole, grantsOfRoles } from '#actors/tenant/roles'
import * as api from '#api/roles'
import { checkPut } from '#http/authentication'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { formatCrn } from '#model/crn'
import { covers } from '#model/grant-coverage'
import { Problem } from '#model/problem'
import { builtInRoles, isBuiltIn, type RoleEntry } from '#model/role'
import type { Grant } from '#model/scope'
import { authorOf } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { listReply, mustMatch, resourceReply } from '#routes/replies'
import { bindForTenant } from '#routes/target-tenant'
import { namesOf } from '#runtime/storage'

/** Routes for roles. Contract 2. */
export function roleRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    // Sent in pieces: there may be a thousand roles of a quarter of a megabyte each.
    bindForTenant(context, api.listRoles, (call, tenant) => {
      const { roles } = context.system.wake(tenantAddress(tenant))
      const names = namesOf([...Object.keys(builtInRoles), ...roles.keys()].sort())
      return listReply(context, call, {
        names,
        isShown: () => true,
        textOf: (role) => {
          const grants = grantsOfRole({ roles }, role)
          return grants && textOf(tenant, role, grants)
        },
      })
    }),

    bindForTenant(context, api.readRole, (call, tenant) => {
      const { role } = call.parameters
      return resourceReply(context, call, textOf(tenant, role, existingGrants(context, tenant, role)))
    }),

    // A change may also remove grants, so the caller must hold the old grants as well as the new ones.
    bindForTenant(context, api.putRole, async (call, tenant) => {
      const { caller, bodyBytes } = call
      const { role } = call.parameters
      const { grants } = call.body
      await system.askAtOnce(() => {
        const before = grantsOfRole(context.system.wake(tenantAddress(tenant)), role)
        checkPut(caller, 'roles', before !== undefined)
        mustCover(caller, [...(before ?? []), ...grants])
        mustMatch(call, () => before && textOf(tenant, role, before))
        const put: TenantCommand = { type: 'put_role', role, grants, ...authorOf(caller, 'roles') }
        return { to: tenantAddress(tenant), command: put, bytes: bodyBytes.byteLength }
      })
      return { status: 200, json: entryOf(tenant, role, grants) }
    }),

    bindForTenant(context, api.deleteRole, async (call, tenant) => {
      const { role } = call.parameters
      await system.askAtOnce(() => {
        const grants = existingGrants(context, tenant, role)
        mustCover(call.caller, grants)
        mustMatch(call, () => textOf(tenant, role, grants))
        if (!isBuiltIn(role) && isRoleUsed(context.system.wake(directoryAddress), tenant, role)) {
          throw new Problem('conflict', 'the role is in use')
        }
        return { to: tenantAddress(tenant), command: { type: 'delete_role', role } }
      })
      return { status: 204 }
    }),
  ]
}

/** @throws Problem `not_found` */
function existingGrants(context: RouteContext, tenant: string, role: string): readonly Grant[] {
  const grants = grantsOfRole(context.system.wake(tenantAddress(tenant)), role)
  if (!grants) throw new Problem('not_found')
  return grants
}

function entryOf(tenant: string, name: string, grants: readonly Grant[]): RoleEntry {
  const resourceIdentifier = formatCrn({ type: 'role', tenant, name })
  return { name, grants: [...grants], builtIn: isBuiltIn(name), resourceIdentifier }
}

function textOf(tenant: string, name: string, grants: readonly Grant[]): string {
  return JSON.stringify(entryOf(tenant, name, grants))
}

/**
 * Checks whether the caller may give these roles to a user or a key.
 *
 * @throws Problem `invalid` that names each missing role, `forbidden` for more rights than the caller's own
 */
export function checkMayGive(context: RouteContext, caller: Caller, tenant: string, roles: readonly string[]): void {
  const state = context.system.wake(tenantAddress(tenant))
  const details = roles.flatMap((role, index) =>
    grantsOfRole(state, role) ? [] : [{ path: `roles.${index}`, message: 'the role does not exist' }],
  )
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
  mustCover(caller, grantsOfRoles(state, roles))
}

/** Callers may not give or change more than their own grants. Contract 2. @throws Problem `forbidden` */
export function mustCover({ scope }: Caller, grants: readonly Grant[]): void {
  if (!covers(scope, grants)) throw new Problem('forbidden')
}
