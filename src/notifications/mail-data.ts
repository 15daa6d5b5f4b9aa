import type { Acknowledgement } from '#model/alarm'
import type { DeliveryCause } from '#model/delivery'
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

/** Further data for templates, as it is now. */
export interface RunSurroundings {
  readonly functionName: string
  /** Empty if the subscriber may not read it. */
  readonly meta: JsonObject
  /** The definition of the service that the cause names. */
  readonly schema?: ServiceSchema
  /** The alarm that the cause names. */
  readonly alarmName?: string
  /** Its acknowledgement on the device. `by`: a name. */
  readonly acknowledged?: Acknowledgement
}

/**
 * The variables of a template: those of conditions (`value previous device time meta`), `deviceIdentifier`, the name of
 * the `function`, `date` (the time in readable form, UTC), and the cause `on`, with `service` and `property` or with
 * `alarm`, by name if they have one, and the user that acknowledged it. Contract 5.5, 12.
 */
export function dataOf({ device, at, value, previous, cause }: RunData, of: RunSurroundings): JsonObject {
  const data = {
    value,
    previous,
    device,
    deviceIdentifier: device,
    time: at,
    date: new Date(at).toISOString(),
    meta: of.meta,
    function: of.functionName,
    on: cause.on,
  }
  if (cause.on === 'alarm') {
    const { alarmName, acknowledged: { by, at: time, comment } = {} } = of
    const acknowledged = time === undefined ? {} : { acknowledged: { by, date: new Date(time).toISOString(), comment } }
    return { ...data, alarm: alarmName ?? cause.alarm, ...acknowledged } as JsonObject
  }
  if (cause.on === 'status') return data
  const { schema } = of
  const property = schema && nameOfProperty(schema, cause.propId)
  return { ...data, service: schema?.name ?? cause.service, property: property ?? formatPropertyIdHex(cause.propId) }
}
