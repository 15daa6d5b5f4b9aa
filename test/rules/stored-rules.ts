import type { StoredAlarm } from '#model/alarm'
import type { StoredGroup } from '#model/group'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import { ServiceSchema } from '#model/service-schema'
import { type Shape, shapeOf } from '#model/shape'

export const author = 'crn#user:2Vb7qYx9Kd'

const who = { createdBy: author, createdAt: 1, updatedBy: author, updatedAt: 1, edit: 1 }

export function storedAlarm(more: Partial<StoredAlarm> = {}): StoredAlarm {
  return {
    name: 'Too hot',
    severity: 'warning',
    serviceIdentifier: 'Climate',
    condition: { '>': [{ var: 'Temperature' }, 80] },
    forSeconds: 0,
    devices: null,
    groups: null,
    ...who,
    ...more,
  }
}

export function storedGroup(devices: readonly string[], edit = 1): StoredGroup {
  return { name: 'Kitchen', devices, ...who, edit }
}

/** A shape of these properties: [id, type]. */
export function shape(
  serviceIdentifier: string,
  properties: readonly (readonly [propId: number, type: string])[],
): Shape {
  const declared = properties.map(([propId, type]) => ({
    propId,
    type: propertyTypeOf(type) as PropertyType,
    modifier: 0,
  }))
  return shapeOf(`${serviceIdentifier} ${properties.join()}`, serviceIdentifier, declared)
}

/** A schema of these names: `{Temperature: 0x2000}`. */
export function schema(propIds: Readonly<Record<string, number>>): ServiceSchema {
  const properties = Object.entries(propIds).map(([name, propId]) => [`0x${propId.toString(16)}`, { name }])
  return ServiceSchema.parse({ name: 'A service', properties: Object.fromEntries(properties) })
}
