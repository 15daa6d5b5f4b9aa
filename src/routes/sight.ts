import type { TenantState } from '#actors/tenant/state'
import type { MeantDevices, MembersOf } from '#model/bound'
import { type Action, type Resource, reachesEvery, type Scope } from '#model/scope'

/**
 * Who sees, makes and edits what is bound to devices. What somebody does not, is to him as if it were not there, also where
 * only the body of his request names it. Contract 1.4, 5.1.
 */

/** Whether all that it is bound to lies within the reach of what is to be done. Services do not narrow it. */
export function boundWithin(scope: Scope, resource: Resource, action: Action, bound: MeantDevices): boolean {
  return reachesEvery(scope, resource, action, bound)
}

/**
 * Whether somebody may bind something to it: what tells of devices may be made only by who may read them himself. Devices
 * that are not there yet are bound like others.
 *
 * @param service whose values it tells; without one, that the device may be read at all
 */
export function mayBind(
  scope: Scope,
  resource: Resource,
  action: Action,
  bound: MeantDevices,
  service?: string,
): boolean {
  return boundWithin(scope, resource, action, bound) && reachesEvery(scope, 'service', 'read', bound, service)
}

/** Who is in the groups of a tenant, at the moment of each question. */
export function membersIn({ groups }: TenantState): MembersOf {
  return (group) => groups.get(group)?.devices
}
