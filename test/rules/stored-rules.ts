import type { StoredAlarm } from '#model/alarm'
import type { StoredGroup } from '#model/group'
import { ServiceSchema } from '#model/service-schema'

export const author = 'crn#user:2Vb7qYx9Kd'

export const edits = { createdBy: author, createdAt: 1, updatedBy: author, updatedAt: 1, edit: 1 }

export function storedAlarm(more: Partial<StoredAlarm> = {}): StoredAlarm {
  return {
    ...{ name: 'Too hot', severity: 'warning', serviceIdentifier: 'Climate', forSeconds: 0 },
    ...{ condition: { '>': [{ var: 'Temperature' }, 80] }, devices: null, groups: null },
    ...edits,
    ...more,
  }
}

export function storedGroup(devices: readonly string[], edit = 1): StoredGroup {
  return { name: 'Kitchen', devices, ...edits, edit }
}

export function isBound(
  groups: ReadonlyMap<string, StoredGroup>,
  bound: Pick<StoredAlarm, 'devices' | 'groups'>,
  device: string,
): boolean {
  if (bound.devices === null && bound.groups === null) return true
  const members = (bound.groups ?? []).flatMap((group) => groups.get(group)?.devices ?? [])
  return [...(bound.devices ?? []), ...members].includes(device)
}

/** A schema with the given names: `{Temperature: 0x2000}`. */
export function schema(propIds: Readonly<Record<string, number>>): ServiceSchema {
  const properties = Object.entries(propIds).map(([name, propId]) => [`0x${propId.toString(16)}`, { name }])
  return ServiceSchema.parse({ name: 'A service', properties: Object.fromEntries(properties) })
}
