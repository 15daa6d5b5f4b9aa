import type { Permission, RouteAccess } from '#api/entry'
import type { Caller } from '#model/caller'
import { unauthenticated } from '#model/caller'
import { Problem } from '#model/problem'
import { type Action, holds, type Reach, type Resource } from '#model/scope'

/**
 * Decides whether an authenticated caller may use a route: the one place where access becomes 403 or 404. Contract 1.4.
 *
 * All names in the path must be in one and the same grant. Names in a body or a list are checked by the handler.
 *
 * @param parameters of the path, parsed; undefined if they are malformed, which only callers with the permission learn
 * @throws Problem `forbidden` if no grant gives the action on the resource, `not_found` for names outside of those
 * grants, or malformed ones
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
 * The check of a PUT that may create a resource of the tenant: the required permission depends on whether it exists.
 * @throws Problem `forbidden`
 */
export function mayPut(caller: Caller, resource: Resource, isThere: boolean): void {
  permit({ resource, action: putAction(isThere), within: 'tenant' }, caller, {})
}

/** The action of a PUT: contract 2, Resources. */
export function putAction(isThere: boolean): Action {
  return isThere ? 'update' : 'create'
}

/** Of the update hook. Contract 6. */
const hookPermission: Permission = { resource: 'updates', action: 'update', within: 'tenant' }

/** A signed call of the hook has no caller: only the handler has the body to check its signature. */
function permissionOf(access: RouteAccess, caller: Caller): Permission | undefined {
  if (access === 'hook') return caller === unauthenticated ? undefined : hookPermission
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

/** If the entry requires a name and the path has none, the check fails. */
function isHeld(names: Reach['devices'], name: string | undefined): boolean {
  return name !== undefined && holds(names, name)
}
