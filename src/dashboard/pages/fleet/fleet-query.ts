import { type Condition, type FleetView, operators } from '#dashboard/pages/fleet/view'
import type { EventOf, StreamEvent } from '#model/event'
import type { JsonValue } from '#model/json-value'
import type { PropertyValue } from '#model/property-type'

/** The server finds the devices of a view. Contract 3.7, 12. */

/** The query fields of `GET /devices` for a view. */
export interface FleetQuery {
  readonly search?: string
  readonly filter?: string
}

/** The value of the view's condition, parsed. */
type Wanted = number | string | undefined

export function fleetQueryOf({ search, status, service, condition }: FleetView, wanted: Wanted): FleetQuery {
  const parts: JsonValue[] = []
  if (status !== 'any') parts.push({ '==': [{ var: 'status' }, status] })
  if (service !== '') parts.push({ var: `services.${service}` })
  if (condition && wanted !== undefined) {
    const path = { var: `services.${condition.serviceIdentifier}.0x${condition.propId.toString(16)}` }
    parts.push({ [operators[condition.operator].logic]: [path, wanted] })
  }
  return {
    ...(search.trim() !== '' && { search: search.trim() }),
    ...(parts.length > 0 && { filter: JSON.stringify({ and: parts }) }),
  }
}

interface ShownDevices {
  isShown(device: string): boolean
  /** Whether the user receives DEVICE_ADD. */
  readonly receivesAdded: boolean
}

/** The device that this event may have added to the view, or removed from it. */
export function deviceToCheck(
  event: StreamEvent,
  { search, status, service, condition }: FleetView,
  wanted: Wanted,
  { isShown, receivesAdded }: ShownDevices,
): string | undefined {
  const { deviceIdentifier: device } = event as EventOf<'DEVICE_ADD'>
  switch (event.type) {
    case 'DEVICE_ADD':
    case 'DEVICE_DELETE':
      return device
    case 'META_STATUS_CHANGE':
      return status === 'any' ? undefined : device
    case 'META_SET':
    case 'META_DELETE':
    case 'DEVICE_DISCOVERY':
      return search === '' ? undefined : device
    case 'OBJECT_UPDATED': {
      const { serviceIdentifier, updates } = event as EventOf<'OBJECT_UPDATED'>
      const shown = isShown(device)
      // A caller who may not receive DEVICE_DELETE receives only this event after a deletion.
      if (updates.some(({ tag }) => tag === 'removed')) return shown ? device : undefined
      if (condition?.serviceIdentifier === serviceIdentifier) {
        const update = updates.find(({ propId }) => propId === condition.propId)
        return update && isMet(update.value, condition, wanted) !== shown ? device : undefined
      }
      // The device may be new, or may have a new service.
      const isAll = service === '' && search === '' && status === 'any'
      const isNew = isAll ? !receivesAdded : service === serviceIdentifier
      return isNew && !condition && !shown ? device : undefined
    }
    default:
      return undefined
  }
}

function isMet(value: PropertyValue | undefined, { operator }: Condition, wanted: Wanted): boolean {
  if (value === undefined || wanted === undefined || typeof value === 'object') return false
  return operators[operator].isMet(typeof wanted === 'number' ? Number(value) : String(value), wanted)
}
