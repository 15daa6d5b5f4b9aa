import type { TenantState } from '#actors/tenant/state'
import type { Reply } from '#http/call'
import { type BindingDevices, type Bound, bindingLists, type MembersOf } from '#model/bound'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { type Action, type Resource, reachesEvery, type Scope, servicesWithin } from '#model/scope'

/**
 * Who sees, makes and edits what is bound to devices. What somebody does not, is to him as if it were not there, also where
 * only the body of his request names it. Contract 1.4, 5.1.
 */

/** Whether all that it is bound to lies within the reach of what is to be done. Services do not narrow it. */
export function boundWithin(scope: Scope, resource: Resource, action: Action, bound: BindingDevices): boolean {
  return reachesEvery(scope, resource, action, bound)
}

/** The same of what names devices and groups, list by list as they stand. */
export function isSeen(scope: Scope, resource: Resource, action: Action, bound: Bound, membersOf: MembersOf): boolean {
  return allOf(bound, membersOf, (devices) => boundWithin(scope, resource, action, devices))
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
  bound: BindingDevices,
  service?: string,
): boolean {
  return boundWithin(scope, resource, action, bound) && reachesEvery(scope, 'service', 'read', bound, service)
}

/** @throws Problem `not_found` for who may not bind something to all that is named, with values of each of these services */
export function mustBindAll(
  scope: Scope,
  resource: Resource,
  action: Action,
  bound: Bound,
  membersOf: MembersOf,
  services: readonly string[],
): void {
  const told = services.length === 0 ? [undefined] : services
  const may = (devices: BindingDevices) => told.every((service) => mayBind(scope, resource, action, devices, service))
  if (!allOf(bound, membersOf, may)) throw new Problem('not_found')
}

/** First whether it is so of any device: something may name a million of them. */
function allOf(bound: Bound, membersOf: MembersOf, isSo: (devices: BindingDevices) => boolean): boolean {
  if (isSo('*')) return true
  const lists = bindingLists(bound, membersOf)
  return lists !== '*' && lists.every(isSo)
}

/** Schemas as far as a caller may read them: no name of a property or a value is resolved by any other. */
export function schemasFor(
  { scope }: Pick<Caller, 'scope'>,
  { schemas }: Pick<TenantState, 'schemas'>,
): Pick<TenantState['schemas'], 'get'> {
  const mayRead = servicesWithin(scope, 'schemas', 'read')
  return { get: (service) => (mayRead(service) ? schemas.get(service) : undefined) }
}

/**
 * The answer to a change. It is the thing itself for a caller who may read it, and for others what identifies it: a right to
 * change is no right to read.
 */
export function changedReply<Entry extends object>(mayRead: boolean, entry: Entry, name: keyof Entry): Reply {
  return { status: 200, json: mayRead ? entry : { [name]: entry[name] } }
}

/** The author of something new, as far as quotas of the tenant go. */
export function authorOf(
  { user, scope }: Caller,
  resource: Resource,
): { readonly author: string; readonly isNarrow: boolean } {
  return { author: user, isNarrow: !reachesEvery(scope, resource, 'create', '*') }
}

/** Who is in the groups of a tenant, at the moment of each question. */
export function membersIn({ groups }: TenantState): MembersOf {
  return (group) => groups.get(group)?.devices
}
