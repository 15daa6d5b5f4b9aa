import type { DeviceEntry } from '#bench/dashboard/folded-state'
import { actions, type Grant } from '#model/scope'

/** A plain reference implementation of §6.2 and contract 4.8: answers and events are compared with it. */

type Named = 'device' | 'service'

/** By event type: the resource to read, and the parts of the event that the same grant must hold. */
const concerns: Readonly<Record<string, readonly [resource: string, ...named: Named[]]>> = {
  OBJECT_UPDATED: ['service', 'device', 'service'],
  DESIRED_UPDATED: ['service', 'device', 'service'],
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
  ALARM_STATUS_ACKNOWLEDGED: ['alarms', 'device'],
  // The grants must also reach every device of the alarm, which is checked separately.
  ALARM_CONFIG_UPDATE: ['alarms'],
  // Only the owner of the subscription may receive these events, which is checked separately.
  NOTIFICATION_SUBSCRIBE: ['notifications'],
  NOTIFICATION_SUBSCRIPTION_UPDATE: ['notifications'],
  NOTIFICATION_UNSUBSCRIBE: ['notifications'],
}

/** The resources with events: a client that may read one of them may receive something. */
const eventResources = ['service', 'device', 'updates', 'meta', 'schemas', 'alarms', 'notifications']

export function mayReceive(grants: readonly Grant[], event: Readonly<Record<string, unknown>>): boolean {
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

export function mayReceiveAnything(grants: readonly Grant[]): boolean {
  for (const grant of grants) for (const resource of eventResources) if (givesRead(grant, resource)) return true
  return false
}

/**
 * Whether any of these actions is permitted on some part of a resource; with a device, on that device; with a service,
 * on that service of it.
 */
export function mayDo(
  grants: readonly Grant[],
  resource: string,
  actions: readonly string[],
  device?: string,
  service?: string,
): boolean {
  for (const grant of grants) {
    if (!actions.some((action) => gives(grant, resource, action))) continue
    if (device !== undefined && !lists(grant.devices, device)) continue
    if (service === undefined || lists(grant.services, service)) return true
  }
  return false
}

export function mayRead(grants: readonly Grant[], resource: string, device?: string, service?: string): boolean {
  return mayDo(grants, resource, ['read'], device, service)
}

/** A full read, reduced to these grants. */
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

/** Whether one list of grants includes another, for each resource, action, device and service separately. */
export function givesAll(mine: readonly Grant[], theirs: readonly Grant[]): boolean {
  return theirs.every(({ permissions, devices, services }) =>
    Object.entries(permissions).every(([resource, given = []]) =>
      actions
        .filter((action) => given.includes(action) || given.includes('*'))
        .every((action) =>
          devices.every((device) => services.every((service) => mayDo(mine, resource, [action], device, service))),
        ),
    ),
  )
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
  const isNamed = (given: string) =>
    given === name || (given.endsWith('*') && typeof name === 'string' && name.startsWith(given.slice(0, -1)))
  for (const given of names) if (given === '*' || isNamed(given)) return true
  return false
}
