import type { TenantState } from '#actors/tenant/state'
import type { Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { type BindingDevices, bindingLists, type DeviceBinding, type MembersOf } from '#model/group'
import { Problem } from '#model/problem'
import { type Action, type Resource, reachesEvery, type Scope, servicesWithin } from '#model/scope'

/**
 * Access to objects that are bound to devices. Invisible objects read as not found, even if only the body of a request
 * names them. Contract 1.4, 5.1.
 */

/** Whether the scope permits the action on all devices to which an object is bound. Services do not matter. */
export function isBindingWithin(scope: Scope, resource: Resource, action: Action, bound: BindingDevices): boolean {
  return reachesEvery(scope, resource, action, bound)
}

/** Whether the scope permits the action on all devices of these lists and groups. Services do not matter. */
export function isVisible(
  scope: Scope,
  resource: Resource,
  action: Action,
  bound: DeviceBinding,
  membersOf: MembersOf,
): boolean {
  return allOf(bound, membersOf, (devices) => isBindingWithin(scope, resource, action, devices))
}

/**
 * Whether the caller may bind an object to these devices: only callers that may read devices may create objects that
 * send their data. Devices that do not exist yet count like others.
 *
 * @param service the service whose values the object sends; without one, the device itself must be readable
 */
export function mayBind(
  scope: Scope,
  resource: Resource,
  action: Action,
  bound: BindingDevices,
  service?: string,
): boolean {
  return isBindingWithin(scope, resource, action, bound) && reachesEvery(scope, 'service', 'read', bound, service)
}

/**
 * @throws Problem `not_found` if the caller may not bind an object to all these devices, with values of all these
 * services
 */
export function checkBindings(
  scope: Scope,
  resource: Resource,
  action: Action,
  bound: DeviceBinding,
  membersOf: MembersOf,
  services: readonly string[],
): void {
  const servicesOrNone = services.length === 0 ? [undefined] : services
  const may = (devices: BindingDevices) =>
    servicesOrNone.every((service) => mayBind(scope, resource, action, devices, service))
  if (!allOf(bound, membersOf, may)) throw new Problem('not_found')
}

/** Checks `*` first, because an object may name a million devices. */
function allOf(bound: DeviceBinding, membersOf: MembersOf, isIncluded: (devices: BindingDevices) => boolean): boolean {
  if (isIncluded('*')) return true
  const lists = bindingLists(bound, membersOf)
  return lists !== '*' && lists.every(isIncluded)
}

/** Schemas as far as the caller may read them: other schemas resolve no names of properties or values. */
export function schemasFor(
  { scope }: Pick<Caller, 'scope'>,
  { schemas }: Pick<TenantState, 'schemas'>,
): Pick<TenantState['schemas'], 'get'> {
  const mayRead = servicesWithin(scope, 'schemas', 'read')
  return { get: (service) => (mayRead(service) ? schemas.get(service) : undefined) }
}

/**
 * The answer to a change: the object itself if the caller may read it, otherwise its identifier. A right to change does
 * not include a right to read.
 */
export function replyToChange<Entry extends object>(mayRead: boolean, entry: Entry, name: keyof Entry): Reply {
  return { status: 200, json: mayRead ? entry : { [name]: entry[name] } }
}

/** The author of a new object, for the quotas. `isNarrow`: the author may not create it for all devices. */
export function authorOf(
  { user, scope }: Caller,
  resource: Resource,
): { readonly author: string; readonly isNarrow: boolean } {
  return { author: user, isNarrow: !reachesEvery(scope, resource, 'create', '*') }
}

/** The members of a tenant's groups, read at each call. */
export function membersIn({ groups }: TenantState): MembersOf {
  return (group) => groups.get(group)?.devices
}
