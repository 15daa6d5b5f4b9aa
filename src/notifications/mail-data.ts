import type { Acknowledgement, Severity } from '#model/alarm'
import { formatCrn } from '#model/crn'
import { type DeliveryCause, plainValue, readableValue } from '#model/delivery'
import { formatPropertyIdHex } from '#model/identifier'
import type { JsonObject, JsonValue } from '#model/json-value'
import { nameOfProperty, type ServiceSchema } from '#model/service-schema'

/** The result of a function run. */
export interface RunData {
  readonly device: string
  /** Unix ms. */
  readonly at: number
  readonly value: JsonValue
  readonly previous: JsonValue
  readonly cause: DeliveryCause
}

/** Further data for mails and webhooks, as it is now. */
export interface RunContext {
  readonly functionName: string
  /** The metadata of the device. Empty if the reader may not read metadata. */
  readonly meta: JsonObject
  /** The definition of the service that the cause names. */
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
