import type { Permission, RouteAccess } from '#api/entry'
import type { Caller } from '#model/caller'
import { nobody } from '#model/caller'
import { Problem } from '#model/problem'
import { type Action, holds, type Reach, type Resource } from '#model/scope'

/**
 * Whether a known caller may enter a route: the one place where access becomes 403 or 404. Contract 1.4.
 *
 * What a path names must lie inside one and the same grant. What only a body or a list names is the answerer's to check.
 *
 * @param parameters of the path, parsed; undefined when they are malformed, which is told only to who may act here at all
 * @throws Problem `forbidden` when no grant gives the action on the resource, `not_found` for what lies outside of those
 * that do, or is malformed
 */
export function permit(access: RouteAccess, caller: Caller, parameters: unknown): void {
  const permission = permissionOf(access, caller)
  const reaches = permission && reachesOf(permission, caller)
  if (reaches?.length === 0) throw new Problem('forbidden')
  if (parameters === undefined) throw new Problem('not_found')
  if (!permission || !reaches) return
  const { deviceIdentifier, serviceIdentifier } = parameters as PathNames
  const { within } = permission
  const isDeviceNamed = within === 'device' || within === 'service of device'
  const isServiceNamed = within === 'service' || within === 'service of device'
  if (!isDeviceNamed && !isServiceNamed) return
  const isInside = reaches.some(
    (reach) =>
      (!isDeviceNamed || isHeld(reach.devices, deviceIdentifier)) &&
      (!isServiceNamed || isHeld(reach.services, serviceIdentifier)),
  )
  if (!isInside) throw new Problem('not_found')
}

/**
 * The rest of a PUT that may make something, for what belongs to the tenant: what happens decides which right is needed.
 * @throws Problem `forbidden`
 */
export function mayPut(caller: Caller, resource: Resource, isThere: boolean): void {
  permit({ resource, action: putAction(isThere), within: 'tenant' }, caller, {})
}

/** What putting is: contract 2, Resources. */
export function putAction(isThere: boolean): Action {
  return isThere ? 'update' : 'create'
}

/** Of the update hook. Contract 6. */
const hookPermission: Permission = { resource: 'updates', action: 'update', within: 'tenant' }

/** Whoever signed a call of the hook is nobody here: only the answerer has the body that the signature is of. */
function permissionOf(access: RouteAccess, caller: Caller): Permission | undefined {
  if (access === 'hook') return caller === nobody ? undefined : hookPermission
  return typeof access === 'object' ? access : undefined
}

interface PathNames {
  readonly deviceIdentifier?: string
  readonly serviceIdentifier?: string
}

function reachesOf({ resource, action, mayCreate }: Permission, { scope }: Caller): readonly Reach[] {
  const reaches = scope.reaches(resource, action)
  return mayCreate ? [...reaches, ...scope.reaches(resource, 'create')] : reaches
}

/** A name that the entry promised and the path lacks lies inside nothing. */
function isHeld(names: Reach['devices'], name: string | undefined): boolean {
  return name !== undefined && holds(names, name)
}
