import { isJsonObject, type JsonValue } from '#model/json-value'
import { work } from '#rules/rule-work'

/** For looking up one key in an object. */
const keyUnits = 100

/**
 * The value at a path of keys joined by dots, null for none. Keys may contain dots: at every level the whole rest is
 * tried as a key first, then the longest key that is followed by a dot. Contract 3.7.
 *
 * @throws if the turn exceeds its work limit.
 */
export function valueIn(value: JsonValue, path: string): JsonValue {
  if (!isJsonObject(value)) return null
  work.spend(keyUnits)
  if (Object.hasOwn(value, path)) return value[path] as JsonValue
  for (let dot = path.lastIndexOf('.'); dot >= 0; dot = path.lastIndexOf('.', dot - 1)) {
    const key = path.slice(0, dot)
    work.spend(keyUnits)
    if (Object.hasOwn(value, key)) return valueIn(value[key] as JsonValue, path.slice(dot + 1))
    if (dot === 0) break
  }
  return null
}
