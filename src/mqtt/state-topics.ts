import type { DeviceState } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import type { Caller } from '#model/caller'
import { type Entry, isPropertyError } from '#model/entry'
import { formatPropertyIdHex } from '#model/identifier'
import type { PropertyValue } from '#model/property-type'
import { devicesWithin, servicesOfDevicesWithin, servicesWithin } from '#model/scope'
import { nameOfProperty } from '#model/service-schema'
import { levelOf, mayMatchBelow } from '#mqtt/reader-filter'
import { isMatchingLevels } from '#mqtt/topic'
import type { System } from '#runtime/system'

/** A message on a topic of a value or a status. */
export interface StateMessage {
  readonly levels: readonly string[]
  /** Empty if the property has no value any more, or the device was deleted. */
  readonly payload: string
}

/** The present status and values of a device that match one of the filters, and that the caller may read. */
export function* stateMessages(
  system: System<Entry>,
  caller: Caller,
  state: DeviceState,
  filters: readonly (readonly string[])[],
): Generator<StateMessage> {
  const { scope } = caller
  const device = levelOf(state.device)
  const isWanted = (levels: readonly string[]) => filters.some((filter) => isMatchingLevels(filter, levels))
  const meta = ['v1', 'meta', device]
  if (devicesWithin(scope, 'meta', 'read')(state.device) && isWanted(meta)) {
    yield { levels: meta, payload: statusText(state) }
  }
  const mayRead = servicesOfDevicesWithin(scope, 'service', 'read')
  for (const service of state.services) {
    const { shape } = service
    const above = ['v1', 'state', device, levelOf(shape.serviceIdentifier)]
    if (!mayRead(state.device, shape.serviceIdentifier)) continue
    if (!filters.some((filter) => mayMatchBelow(filter, ...above))) continue
    const nameOf = namesFor(system, caller, shape.serviceIdentifier)
    for (const [place, { propId }] of shape.properties.entries()) {
      const value = service.stateOf(place)
      if (value === null || isPropertyError(value)) continue
      const levels = [...above, levelOf(nameOf(propId))]
      if (isWanted(levels)) yield { levels, payload: valueText(value) }
    }
  }
}

/** The fields of an event of `src/events/wire-format` that topics need. */
export interface StateEvent {
  readonly type: string
  readonly offset?: number
  readonly deviceIdentifier?: string
  readonly serviceIdentifier?: string
  readonly status?: string
  readonly updates?: readonly {
    readonly propId: number
    readonly value?: PropertyValue
  }[]
}

/** The messages for the changes of an event. A property that is removed or in error has no value any more. */
export function* changeMessages(system: System<Entry>, caller: Caller, event: StateEvent): Generator<StateMessage> {
  const { type, deviceIdentifier = '', serviceIdentifier = '' } = event
  const device = levelOf(deviceIdentifier)
  if (type === 'META_STATUS_CHANGE') yield { levels: ['v1', 'meta', device], payload: statusText(event) }
  if (type === 'DEVICE_DELETE') yield { levels: ['v1', 'meta', device], payload: '' }
  if (type !== 'OBJECT_UPDATED') return
  const above = ['v1', 'state', device, levelOf(serviceIdentifier)]
  const nameOf = namesFor(system, caller, serviceIdentifier)
  for (const { propId, value } of event.updates ?? []) {
    yield { levels: [...above, levelOf(nameOf(propId))], payload: value === undefined ? '' : valueText(value) }
  }
}

/**
 * Names properties by the schema. A property gets its hexadecimal id as its name if the schema does not name it, if
 * there is no schema, or if the caller may not read the schema.
 */
function namesFor(system: System<Entry>, { tenant, scope }: Caller, service: string): (propId: number) => string {
  const mayRead = servicesWithin(scope, 'schemas', 'read')(service)
  const schema = mayRead ? system.wake(tenantAddress(tenant)).schemas.get(service) : undefined
  return (propId) => (schema && nameOfProperty(schema, propId)) ?? formatPropertyIdHex(propId)
}

function statusText({ status }: { readonly status?: string }): string {
  return JSON.stringify({ status })
}

function valueText(value: PropertyValue): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
