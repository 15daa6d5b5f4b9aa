import type { Condition } from '#model/condition'
import { isPropertyError } from '#model/entry'
import { ReadCondition } from '#rules/alarm-rule'
import type { CompiledCondition } from '#rules/compile'
import type { Happened, Happening } from '#rules/function-run'
import { valueIn } from '#rules/meta-value'
import { work } from '#rules/rule-work'

/** `no value`: something that is read without a default has none. `error`: there is no outcome. */
export type Verdict = 'true' | 'false' | 'no value' | 'error'

/**
 * Values by slot, of the judgement that is going on: it is synchronous and there is never a second one. Not only numbers
 * from the beginning: V8 would keep those unboxed and box each again when it is read.
 */
const values: unknown[] = [null]

const metaStart = 'meta.'

/** A condition of a graph, over one happening. Allocates nothing of its own, but where it reads deep into `meta`. */
export class GraphCondition {
  readonly #condition: ReadCondition
  /** By slot: what is behind `meta.`, undefined for everything else. */
  readonly #paths: readonly (string | undefined)[]
  #compiled: CompiledCondition | undefined
  /** Of the last judgement that came to `no value`: the first name that has none. */
  lacking = ''

  constructor(condition: Condition) {
    this.#condition = new ReadCondition(condition)
    this.#paths = this.#condition.names.map((name) =>
      name.startsWith(metaStart) ? name.slice(metaStart.length) : undefined,
    )
  }

  judge(happening: Happening): Verdict {
    if ((!this.#compiled || this.#compiled.isCold) && !work.mayCompile) return 'error'
    this.#compiled ??= this.#condition.compiled
    const { names, neededCount } = this.#compiled
    try {
      for (let slot = 0; slot < names.length; slot++) {
        const value = this.#read(slot, happening)
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

  #read(slot: number, happening: Happening): unknown {
    const path = this.#paths[slot]
    if (path !== undefined) return valueIn(happening.meta(), path)
    switch (this.#condition.names[slot]) {
      case 'value':
        return stateOf(happening.value)
      case 'previous':
        return stateOf(happening.previous)
      case 'device':
        return happening.device
      case 'time':
        return happening.time
      default:
        return happening.meta()
    }
  }
}

/** An error is no value. */
function stateOf(happened: Happened): unknown {
  return typeof happened === 'object' && isPropertyError(happened) ? null : happened
}
