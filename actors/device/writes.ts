import type { DeviceCommands, WriteOrder } from '#actors/device/commands'
import { type DeviceState, serviceOf } from '#actors/device/state'
import type { Entry } from '#model/entry'
import { Problem, type ProblemDetail } from '#model/problem'
import { type CheckedValue, checkWrittenValue, parseWriteKey, placeOf } from '#model/property-write'
import type { ShapeProperty } from '#model/shape'
import { answer, type Decision, refuse } from '#runtime/actor'

/** A body may contain thousands of errors; more details would not help the caller. */
const detailsMax = 100
/** An unknown key in an error is cut to this length, the longest possible name. */
const keyCharactersMax = 256

/**
 * Checks a whole write before any of it is sent. Unknown services and properties are answered with 404. If all keys are
 * known, invalid values are answered together, each with its key. Contract 3.5, 1.3.
 *
 * Causes no entry, and so no event: the property changes when the device reports it. A value equal to the current one
 * is sent too, because a write may be a trigger (`modifier.isActionable`).
 */
export function decideWrite(state: DeviceState, { service, values, schema }: DeviceCommands['write']): Decision<Entry> {
  const shape = state.exists ? serviceOf(state, service)?.shape : undefined
  if (!shape) return refuse(new Problem('not_found'))
  const named = Object.keys(values).map((key) => ({ key, place: placeOf(parseWriteKey(key), shape, schema) }))
  const unknown = named.find(({ place }) => place === undefined)
  if (unknown) {
    return refuse(new Problem('property_unknown', `there is no property ${unknown.key.slice(0, keyCharactersMax)}`))
  }
  const updates: WriteOrder['updates'][number][] = []
  const details: ProblemDetail[] = []
  const keys = new Map<number, string>()
  for (const { key, place } of named) {
    const property = shape.properties[place as number] as ShapeProperty
    const { propId, type } = property
    const other = keys.get(propId)
    const written: CheckedValue =
      other === undefined ? checkWrittenValue(property, schema, values[key]) : { fault: `means the same as ${other}` }
    keys.set(propId, other ?? key)
    if ('value' in written) updates.push({ propId, type, value: written.value })
    else details.push({ path: key, message: written.fault })
  }
  if (details.length > 0) return refuse(new Problem('invalid', undefined, { details: details.slice(0, detailsMax) }))
  const order: WriteOrder = { flakeAddress: state.flakeAddress, service, updates }
  return answer(order)
}
