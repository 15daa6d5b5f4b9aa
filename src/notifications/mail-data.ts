import type { DeliveryCause } from '#model/delivery'
import { formatPropertyIdHex } from '#model/identifier'
import type { JsonObject, JsonValue } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'

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
  readonly meta: JsonObject
  readonly schema?: ServiceSchema
  readonly alarmName?: string
}

/** What a template reads. Contract 5.5. */
export function dataOf(run: RunData, of: RunSurroundings): JsonObject {
  const { device, at, value, previous, cause } = run
  const data = {
    value,
    previous,
    device,
    deviceIdentifier: device,
    time: at,
    meta: of.meta,
    function: of.functionName,
    on: cause.on,
  }
  if (cause.on === 'alarm') return { ...data, alarm: of.alarmName ?? cause.alarm }
  if (cause.on === 'status') return data
  const propId = formatPropertyIdHex(cause.propId)
  const property = of.schema?.properties[propId]?.name ?? propId
  return { ...data, service: of.schema?.name ?? cause.service, property }
}
