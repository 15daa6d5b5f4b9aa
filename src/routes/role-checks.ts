import { tenantAddress } from '#actors/tenant/address'
import { grantsOfRole, grantsOfRoles } from '#actors/tenant/roles'
import type { Caller } from '#model/caller'
import { covers } from '#model/grant-coverage'
import { Problem } from '#model/problem'
import type { Grant } from '#model/scope'
import type { RouteContext } from '#routes/context'

/**
 * Checks whether the caller may give these roles to a user or a key.
 *
 * @throws Problem `invalid` that names each missing role, `forbidden` for more rights than the caller's own
 */
export function mayGive(context: RouteContext, caller: Caller, tenant: string, roles: readonly string[]): void {
  const state = context.system.wake(tenantAddress(tenant))
  const details = roles.flatMap((role, index) =>
    grantsOfRole(state, role) ? [] : [{ path: `roles.${index}`, message: 'the role does not exist' }],
  )
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
  mustCover(caller, grantsOfRoles(state, roles))
}

/** Callers may not give, edit or reset beyond their own grants. Contract 2. @throws Problem `forbidden` */
export function mustCover({ scope }: Caller, grants: readonly Grant[]): void {
  if (!covers(scope, grants)) throw new Problem('forbidden')
}
