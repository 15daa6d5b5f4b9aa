import { deviceAddress } from '#actors/device/device'
import { rowById } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/commands'
import type { Acknowledgement, Severity } from '#model/alarm'
import { formatCrn, idOfCrn } from '#model/crn'
import { plainValue, type RunData, readableValue } from '#model/delivery'
import type { Entry } from '#model/entry'
import type { MembersOf } from '#model/group'
import { formatPropertyIdHex } from '#model/identifier'
import type { JsonObject } from '#model/json-value'
import { isPermitted, reachesDevice, type Scope, servicesWithin } from '#model/scope'
import { nameOfProperty, type ServiceSchema } from '#model/service-schema'
import { mayReadAll } from '#model/subscription'
import type { System } from '#runtime/system'

/** Further data for mails and webhooks, as it is now. */
export interface RunContext {
  readonly functionName: string
  /** The metadata of the device. Empty if the reader may not read metadata. */
  readonly meta: JsonObject
  /** Of the service that the cause names. */
  readonly schema?: ServiceSchema
  /** The alarm that the cause names. */
  readonly alarm?: { readonly name: string; readonly severity: Severity }
  /** The alarm's acknowledgement on the device. `name`: of the user or key; `by` if the reader may not read names. */
  readonly acknowledged?: Acknowledgement & { readonly name: string }
}

/**
 * The variables of a template: those of conditions (`value previous device time meta`), `deviceIdentifier`, the name of
 * the `function`, `date` (the time in readable form, UTC), and the cause `on`. The cause has a `service` and a
 * `property`, or an `alarm` and the user that acknowledged it; all by name if they have one. Contract 5.5, 12.
 */
export function dataOf({ device, at, value, previous, cause }: RunData, of: RunContext): JsonObject {
  const data = {
    value: readableValue(value),
    previous: readableValue(previous),
    device,
    deviceIdentifier: device,
    time: at,
    date: new Date(at).toISOString(),
    meta: of.meta,
    function: of.functionName,
    on: cause.on,
  }
  if (cause.on === 'alarm') {
    const { alarm, acknowledged: { name: by, at: time, comment } = {} } = of
    const acknowledged = time === undefined ? {} : { acknowledged: { by, date: new Date(time).toISOString(), comment } }
    return { ...data, alarm: alarm?.name ?? cause.alarm, ...acknowledged } as JsonObject
  }
  if (cause.on === 'status') return data
  return { ...data, service: of.schema?.name ?? cause.service, property: propertyNameOf(cause, of) }
}

/**
 * The data of a webhook: the identifiers of device, service and alarm, and the names of function, alarm and property.
 * `truncated` lists the values that are not complete. Contract 12.
 */
export function webhookDataOf({ device, value, previous, cause }: RunData, of: RunContext): JsonObject {
  const plain = { value: plainValue(value), previous: plainValue(previous) }
  const truncated = Object.entries(plain).flatMap(([name, { isCut }]) => (isCut ? [name] : []))
  const data = {
    function: of.functionName,
    device,
    ...(value !== null && { value: plain.value.value }),
    ...(previous !== null && { previous: plain.previous.value }),
    ...(truncated.length > 0 && { truncated }),
    meta: of.meta,
  }
  if (cause.on === 'status') return data
  if (cause.on === 'alarm') {
    const { alarm, acknowledged = null } = of
    return {
      ...data,
      alarm: { resourceIdentifier: formatCrn({ type: 'alarm', id: cause.alarm }), ...alarm, acknowledged },
    }
  }
  return { ...data, service: cause.service, property: propertyNameOf(cause, of) }
}

function propertyNameOf({ propId }: { readonly propId: number }, { schema }: RunContext): string {
  return (schema && nameOfProperty(schema, propId)) ?? formatPropertyIdHex(propId)
}

/** The reader of a mail or webhook. */
export interface Reader {
  readonly tenant: string
  readonly scope: Scope
  readonly membersOf: MembersOf
}

/** Names and metadata, as far as the reader may read them. @throws Problem `storage` */
export function runContextOf(
  system: System<Entry>,
  { tenant, scope, membersOf }: Reader,
  functionName: string,
  { device, cause }: Pick<RunData, 'device' | 'cause'>,
): RunContext {
  const { alarms, schemas } = system.wake(tenantAddress(tenant))
  const schema =
    cause.on === 'property' && servicesWithin(scope, 'schemas', 'read')(cause.service)
      ? schemas.get(cause.service)
      : undefined
  const alarm = cause.on === 'alarm' ? alarms.get(cause.alarm) : undefined
  // The reader needs access to all devices of the alarm, not only to this device.
  const mayReadAlarm = alarm && mayReadAll(scope, 'alarms', alarm, membersOf)
  const state = system.peek(deviceAddress(tenant, device))
  // Needs no check, because nothing is sent without permission to read the alarm on this device.
  const acknowledged = cause.on === 'alarm' ? state?.alarms.get(cause.alarm)?.acknowledged : undefined
  const mayReadUsers = isPermitted(scope, 'users', 'read')
  const mayReadMeta = reachesDevice(scope, 'meta', 'read', device)
  return {
    functionName,
    meta: (mayReadMeta && state?.meta) || {},
    ...(schema && { schema }),
    ...(mayReadAlarm && { alarm: { name: alarm.name, severity: alarm.severity } }),
    ...(acknowledged && {
      acknowledged: {
        ...acknowledged,
        name: mayReadUsers ? nameOf(system, tenant, acknowledged.by) : acknowledged.by,
      },
    }),
  }
}

/** The name of a user or an API key; its resource name if it is deleted. */
function nameOf(system: System<Entry>, tenant: string, principal: string): string {
  const [user, key] = [idOfCrn(principal, 'user'), idOfCrn(principal, 'key')]
  const row = user !== undefined ? rowById(system.peek(directoryAddress), user) : undefined
  const apiKey = key !== undefined ? system.wake(tenantAddress(tenant)).apiKeys.get(key) : undefined
  return row?.name ?? apiKey?.name ?? principal
}
