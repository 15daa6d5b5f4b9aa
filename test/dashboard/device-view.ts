import type { DeviceView, PropertyView, ServiceView } from '#client/client'

/** Devices in the form that the state of a client has, with only the fields that a test needs. */

export const modifier = { isReadOnly: false, isActionable: false, isVolatile: false, isError: false, isArray: false }

export function propertyView(
  type: string,
  value?: PropertyView['value'],
  more: Partial<PropertyView> = {},
): PropertyView {
  return { propId: 0x2000, type, tag: 'value', modifier, ...(value !== undefined && { value }), ...more }
}

export function serviceView(...properties: readonly PropertyView[]): ServiceView {
  const map = new Map(properties.map((property) => [property.propId, property]))
  return Object.assign(map, { valueAt: (propId: number) => map.get(propId)?.value })
}

export function deviceView(deviceIdentifier: string, more: Partial<DeviceView> = {}): DeviceView {
  const connection = { status: 'online', lastMessage: 0, lastConnect: 0, numConnects: 0 } as const
  return { deviceIdentifier, ...connection, meta: {}, services: new Map(), ...more }
}
