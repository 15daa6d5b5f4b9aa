import { tenantAddress } from '#actors/tenant/address'
import { grantsOfRole, grantsOfRoles } from '#actors/tenant/roles'
import type { Caller } from '#model/caller'
import { covers } from '#model/grant-coverage'
import { Problem } from '#model/problem'
import type { Grant } from '#model/scope'
import type { RouteContext } from '#routes/context'

/**
 * Whether somebody, or a key, may be given these roles.
 *
 * @throws Problem `invalid` that names each role that is not there, `forbidden` for more than the caller himself may
 */
export function mayGive(context: RouteContext, caller: Caller, tenant: string, roles: readonly string[]): void {
  const state = context.system.wake(tenantAddress(tenant))
  const details = roles.flatMap((role, index) =>
    grantsOfRole(state, role) ? [] : [{ path: `roles.${index}`, message: 'there is no such role' }],
  )
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
  mustCover(caller, grantsOfRoles(state, roles))
}

/** Nobody may give, edit or reset beyond his own grants. Contract 2. @throws Problem `forbidden` */
export function mustCover({ scope }: Caller, grants: readonly Grant[]): void {
  if (!covers(scope, grants)) throw new Problem('forbidden')
}
