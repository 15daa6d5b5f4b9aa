import type { Condition } from '#model/condition'
import { isPropertyError } from '#model/entry'
import { isJsonObject, type JsonValue } from '#model/json-value'
import { ReadCondition } from '#rules/alarm-rule'
import type { CompiledCondition } from '#rules/compiled-condition'
import type { RunInput, TriggerValue } from '#rules/function-graph'
import { work } from '#rules/rule-work'

/** `no value`: a name that is read without a default has none. `error`: there is no result. */
export type Verdict = 'true' | 'false' | 'no value' | 'error'

/**
 * Values by slot for the current judgement: it is synchronous, so there is never a second one at the same time. Begins
 * with null, because V8 would store only numbers unboxed and box each at every read.
 */
const values: unknown[] = [null]

const metaStart = 'meta.'

/** A condition of a graph, evaluated over one event. Allocates only when it reads nested fields of `meta`. */
export class GraphCondition {
  readonly #condition: ReadCondition
  /** By slot: the path after `meta.`, undefined for all other names. */
  readonly #paths: readonly (string | undefined)[]
  #compiled: CompiledCondition | undefined
  /** The first name without a value, after a result of `no value`. */
  lacking = ''

  constructor(condition: Condition) {
    this.#condition = new ReadCondition(condition)
    this.#paths = this.#condition.names.map((name) =>
      name.startsWith(metaStart) ? name.slice(metaStart.length) : undefined,
    )
  }

  judge(input: RunInput): Verdict {
    if ((!this.#compiled || this.#compiled.isCold) && !work.mayCompile) return 'error'
    this.#compiled ??= this.#condition.compiled
    const { names, neededCount } = this.#compiled
    try {
      for (let slot = 0; slot < names.length; slot++) {
        const value = this.#read(slot, input)
        if (value === null && slot < neededCount) {
          this.lacking = names[slot] as string
          return 'no value'
        }
        values[slot] = value
      }
      return this.#compiled.evaluate(values) ? 'true' : 'false'
    } catch {
      return 'error'
    }
  }

  #read(slot: number, input: RunInput): unknown {
    const path = this.#paths[slot]
    if (path !== undefined) return valueIn(input.meta(), path)
    switch (this.#condition.names[slot]) {
      case 'value':
        return stateOf(input.value)
      case 'previous':
        return stateOf(input.previous)
      case 'device':
        return input.device
      case 'time':
        return input.time
      default:
        return input.meta()
    }
  }
}

/** An error counts as no value. */
function stateOf(happened: TriggerValue): unknown {
  return typeof happened === 'object' && isPropertyError(happened) ? null : happened
}

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
