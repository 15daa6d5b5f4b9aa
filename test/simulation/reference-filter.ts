import type { DeviceEntry } from '#bench/dashboard/folded-state'
import { actions, type Grant } from '#model/scope'

/** §6.2 and contract 4.8 once more, written as plainly as can be: what the server answers and tells is held against this. */

type Named = 'device' | 'service'

/** By type of event: the resource that must be readable, and what of the event must lie inside of the same grant. */
const concerns: Readonly<Record<string, readonly [resource: string, ...named: Named[]]>> = {
  OBJECT_UPDATED: ['service', 'device', 'service'],
  DEVICE_ADD: ['device', 'device'],
  DEVICE_DELETE: ['device', 'device'],
  DEVICE_DISCOVERY: ['updates', 'device'],
  UPDATE_STATUS: ['updates', 'device'],
  META_STATUS_CHANGE: ['meta', 'device'],
  META_SET: ['meta', 'device'],
  META_DELETE: ['meta', 'device'],
  SCHEMA_ADD: ['schemas', 'service'],
  SCHEMA_UPDATE: ['schemas', 'service'],
  SCHEMA_DELETE: ['schemas', 'service'],
  ALARM_STATUS_ACTIVE: ['alarms', 'device'],
  ALARM_STATUS_INACTIVE: ['alarms', 'device'],
  // And every device that it is bound to, which is judged apart.
  ALARM_CONFIG_UPDATE: ['alarms'],
  // And nobody but whose subscription it is, which is judged apart too.
  NOTIFICATION_SUBSCRIBE: ['notifications'],
  NOTIFICATION_SUBSCRIPTION_UPDATE: ['notifications'],
  NOTIFICATION_UNSUBSCRIBE: ['notifications'],
}

/** What nothing makes events of yet counts too for whether anything can be heard at all. */
const heardResources = ['service', 'device', 'updates', 'meta', 'schemas', 'alarms', 'notifications']

export function mayHear(grants: readonly Grant[], event: Readonly<Record<string, unknown>>): boolean {
  const concern = concerns[String(event.type)]
  if (!concern) return false
  const [resource, ...named] = concern
  for (const grant of grants) {
    if (!givesRead(grant, resource)) continue
    const isDeviceInside = !named.includes('device') || lists(grant.devices, event.deviceIdentifier)
    const isServiceInside = !named.includes('service') || lists(grant.services, event.serviceIdentifier)
    if (isDeviceInside && isServiceInside) return true
  }
  return false
}

export function mayHearAnything(grants: readonly Grant[]): boolean {
  for (const grant of grants) for (const resource of heardResources) if (givesRead(grant, resource)) return true
  return false
}

/** Whether anything of a resource may be read; with a device, of that; with a service, of that service of that device. */
export function mayRead(grants: readonly Grant[], resource: string, device?: string, service?: string): boolean {
  for (const grant of grants) {
    if (!givesRead(grant, resource)) continue
    if (device !== undefined && !lists(grant.devices, device)) continue
    if (service === undefined || lists(grant.services, service)) return true
  }
  return false
}

/** What is left of a full read for somebody with these grants. */
export function readable(grants: readonly Grant[], entries: readonly DeviceEntry[]): readonly DeviceEntry[] {
  const left: DeviceEntry[] = []
  for (const entry of entries) {
    const { deviceIdentifier: device, services = [] } = entry
    if (!mayRead(grants, 'service', device)) continue
    const seen = services.filter((service) => mayRead(grants, 'service', device, service.serviceIdentifier))
    left.push({ ...entry, services: seen })
  }
  return left
}

/** Whether any of these actions is given on something of a device; with a service, on that. */
export function mayDo(
  grants: readonly Grant[],
  resource: string,
  actions: readonly string[],
  device: string,
  service?: string,
): boolean {
  return grants.some(
    (grant) =>
      lists(grant.devices, device) &&
      (service === undefined || lists(grant.services, service)) &&
      actions.some((action) => gives(grant, resource, action)),
  )
}

/** Of what lies on no device. */
export function mayDoAnywhere(grants: readonly Grant[], resource: string, action: string): boolean {
  return grants.some((grant) => gives(grant, resource, action))
}

/** Whether one list of grants allows all that another one allows, on each resource, action, device and service by itself. */
export function givesAll(mine: readonly Grant[], theirs: readonly Grant[]): boolean {
  return theirs.every(({ permissions, devices, services }) =>
    Object.entries(permissions).every(([resource, given = []]) =>
      actions
        .filter((action) => given.includes(action) || given.includes('*'))
        .every((action) =>
          devices.every((device) => services.every((service) => isGiven(resource, action, device, service))),
        ),
    ),
  )
  function isGiven(resource: string, action: string, device: string, service: string): boolean {
    return mine.some(
      (grant) => gives(grant, resource, action) && lists(grant.devices, device) && lists(grant.services, service),
    )
  }
}

function givesRead(grant: Grant, resource: string): boolean {
  return gives(grant, resource, 'read')
}

function gives(grant: Grant, resource: string, wanted: string): boolean {
  const permissions: Readonly<Record<string, readonly string[] | undefined>> = grant.permissions
  for (const actions of [permissions[resource], permissions['*']]) {
    for (const action of actions ?? []) if (action === wanted || action === '*') return true
  }
  return false
}

function lists(names: readonly string[], name: unknown): boolean {
  for (const given of names) if (given === '*' || given === name) return true
  return false
}
