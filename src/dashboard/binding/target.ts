import type { Item, ServiceView } from '#client/client'
import { type Binding, coversAllDevices, type GroupOption, groupOf } from '#dashboard/binding/binding'
import { hexOf, nameOf, valueText, withUnit } from '#dashboard/values/format-value'
import type { ServiceSchema } from '#model/service-schema'

/** The scope of an alarm or a trigger: a service, perhaps one of its properties, and the devices. */
export interface Target {
  readonly service: string
  readonly propId?: number | undefined
  /** Undefined: all devices. */
  readonly devices: readonly string[] | undefined
}

export interface TargetMatch {
  /** The chosen service on one device that matches the target. Lists of properties show the values of this service. */
  readonly sample?: ServiceView | undefined
  /** Shown before saving, if no device has the target. */
  readonly warning?: string | undefined
}

/** Finds the first device that matches a filter: among these devices, or among all if `among` is undefined. */
type FindDevice = (filter: string, among: readonly string[] | undefined) => Promise<Item<'GET /devices'> | undefined>

/** This number of identifiers fits into a URL. */
export const namedMax = 100

/**
 * Finds a device that has the service and the property; if none has the property, one that has the service. Warns about
 * the service or the property that no device has.
 */
export async function findTarget(
  find: FindDevice,
  { service, propId, devices }: Target,
): Promise<{ readonly device?: string; readonly warning?: string }> {
  if (service === '' || devices?.length === 0) return {}
  const among = devices?.slice(0, namedMax)
  // With more devices than the request contains, nothing is known about the others.
  const mayWarn = among?.length === devices?.length
  const whose = devices ? 'None of the chosen devices has' : 'No device has'
  const path = `services.${service}`
  const first = await find(JSON.stringify({ var: path }), among)
  if (!first) return mayWarn ? { warning: `${whose} this service.` } : {}
  const properties = first.services?.find(({ serviceIdentifier }) => serviceIdentifier === service)?.properties
  if (propId === undefined || (properties && propId in properties)) return { device: first.deviceIdentifier }
  const match = await find(JSON.stringify({ '!': { missing: [`${path}.${hexOf(propId)}`] } }), among)
  if (match) return { device: match.deviceIdentifier }
  return { device: first.deviceIdentifier, ...(mayWarn && { warning: `${whose} this property.` }) }
}

/** The devices of a binding. Undefined: all devices, or unknown because a group is not visible. */
export function boundDevices(binding: Binding, groups: readonly GroupOption[]): readonly string[] | undefined {
  if (coversAllDevices(binding)) return undefined
  const chosen = binding.groups?.map((id) => groupOf(id, groups)) ?? []
  if (chosen.includes(undefined)) return undefined
  return [...(binding.devices ?? []), ...chosen.flatMap((group) => group?.devices ?? [])]
}

/** `21.5 °C`: the value of a property now; undefined without a value. */
export function valueNow(
  sample: ServiceView | undefined,
  propId: number,
  schema: ServiceSchema | undefined,
): string | undefined {
  const property = sample?.get(propId)
  const about = schema?.properties[hexOf(propId)]
  return property?.value === undefined ? undefined : withUnit(valueText(property, about), about?.unit)
}

/** Options for a property of a service, by id: those of the schema, and those that only the sample has. */
export function propertyOptions(schema: ServiceSchema | undefined, sample: ServiceView | undefined) {
  const ids = new Set([...Object.keys(schema?.properties ?? {}).map(Number), ...(sample?.keys() ?? [])])
  return [...ids]
    .sort((one, other) => one - other)
    .map((propId) => {
      const about = schema?.properties[hexOf(propId)]
      const more = valueNow(sample, propId, schema) ?? about?.unit
      const name = nameOf(propId, about)
      return { value: hexOf(propId), label: more ? `${name} · ${more}` : name }
    })
}
