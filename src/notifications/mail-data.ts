import type { DeliveryCause } from '#model/delivery'
import { formatPropertyIdHex } from '#model/identifier'
import type { JsonObject, JsonValue } from '#model/json-value'
import { nameOfProperty, type ServiceSchema } from '#model/service-schema'

/** What a run found. */
export interface RunData {
  readonly device: string
  /** Unix ms. */
  readonly at: number
  readonly value: JsonValue
  readonly previous: JsonValue
  readonly cause: DeliveryCause
}

/** What else a template can read, as it is now. */
export interface RunSurroundings {
  readonly functionName: string
  /** Empty for whoever may not read it. */
  readonly meta: JsonObject
  /** Of the service that the cause names. */
  readonly schema?: ServiceSchema
  /** Of the alarm that the cause names. */
  readonly alarmName?: string
}

/**
 * What a template reads: what conditions read (`value previous device time meta`), `deviceIdentifier`, the name of the
 * `function`, `date` (the time as people read it, UTC), and what it was about: `on`, with `service` and `property` or with
 * `alarm`, by their names where they have any. Contract 5.5.
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
  if (cause.on === 'alarm') return { ...data, alarm: of.alarmName ?? cause.alarm }
  if (cause.on === 'status') return data
  const { schema } = of
  const property = schema && nameOfProperty(schema, cause.propId)
  return { ...data, service: schema?.name ?? cause.service, property: property ?? formatPropertyIdHex(cause.propId) }
}
