import type { StoredAlarm } from '#model/alarm'
import { namesIn } from '#model/condition'
import { isPropertyError, type PropertyState } from '#model/entry'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import { type CompiledCondition, compile } from '#rules/compile'
import { indexIn, type PropertyPlace, readPropertyName } from '#rules/property-name'
import { work } from '#rules/rule-work'

/** What the properties of a service stand at, by their place in its shape. */
export interface ValueSource {
  at(place: number): PropertyState
}

/**
 * Whether a condition holds. Undefined when that cannot be said: a property it names has no value, or it failed. `skipped`:
 * its author's rules have used up their share of the turn. Both are counted as errors.
 */
type Verdict = boolean | undefined | 'skipped'

/** Counted since the start, for all tenants. */
export interface JudgingCounts {
  judged: number
  errors: number
}

/** Values by slot, of the judgement that is going on: it is synchronous and there is never a second one. */
const values: unknown[] = []

/** The rule of an alarm under a schema: one object for one meaning, so that a device with the same object has nothing new. */
export class AlarmRule {
  readonly id: string
  readonly service: string
  /** How long it has to hold, in ms. */
  readonly forMs: number
  /** Since when it has this condition, Unix ms; 0: always. What another one held before does not count. */
  readonly conditionAt: number
  /** The resource name of whoever put it last. */
  readonly author: string
  /** Unlike any other rule's, now and later: lists of rules are found by these. */
  readonly serial: number
  /** What its names mean. */
  readonly #meant: Meant
  readonly #counts: JudgingCounts
  /** For the shape and the author's place asked for last. After an edit, the next list of a device is of the same rules but one. */
  #shaped: ShapedRule | undefined

  constructor(
    id: string,
    serial: number,
    { serviceIdentifier, forSeconds, conditionAt = 0, updatedBy }: StoredAlarm,
    meant: Meant,
    counts: JudgingCounts,
  ) {
    this.id = id
    this.service = serviceIdentifier
    this.forMs = forSeconds * 1_000
    this.conditionAt = conditionAt
    this.author = updatedBy
    this.serial = serial
    this.#meant = meant
    this.#counts = counts
  }

  /** What its condition reads; two rules of one condition judge alike when these mean the same. */
  get meant(): Meant {
    return this.#meant
  }

  /** `author`: its place among the authors of the list that the rule is in. */
  shaped(shape: Shape, author: number): ShapedRule {
    const known = this.#shaped
    if (known?.shape === shape && known.author === author) return known
    const places = this.#meant.places.map((place) => indexIn(shape, place))
    this.#shaped = new ShapedRule(this, shape, places, author, this.#counts)
    return this.#shaped
  }

  get compiled(): CompiledCondition {
    return this.#meant.condition.compiled
  }
}

/** A rule that knows where in a shape its properties are. */
export class ShapedRule {
  readonly rule: AlarmRule
  readonly shape: Shape
  /** The places in the shape that it reads, by slot; −1 for a property that is not there. */
  readonly places: readonly number[]
  readonly author: number
  readonly #counts: JudgingCounts
  #compiled: CompiledCondition | undefined

  constructor(rule: AlarmRule, shape: Shape, places: readonly number[], author: number, counts: JudgingCounts) {
    this.rule = rule
    this.shape = shape
    this.places = places
    this.author = author
    this.#counts = counts
    this.#compiled = undefined
  }

  /** Allocates nothing of its own. */
  judge(source: ValueSource): Verdict {
    const known = this.#compiled
    if (!work.turnTo(this.author) || ((!known || known.isCold) && !work.mayCompile)) {
      this.#counts.errors++
      return 'skipped'
    }
    const compiled = known ?? this.rule.compiled
    this.#compiled = compiled
    const { neededCount } = compiled
    const places = this.places
    for (let slot = 0; slot < places.length; slot++) {
      const place = places[slot] as number
      const state = place < 0 ? null : source.at(place)
      const value = state !== null && isPropertyError(state) ? null : state
      if (value === null && slot < neededCount) return undefined
      values[slot] = value
    }
    this.#counts.judged++
    try {
      return compiled.evaluate(values)
    } catch {
      this.#counts.errors++
      return work.isOver ? 'skipped' : undefined
    }
  }
}

/** A condition, whatever a schema makes of its names. Read once and compiled once: it may have hundreds of nodes. */
export class ReadCondition {
  /** By slot; in the order in which `compile` gives slots. */
  readonly names: readonly string[]
  readonly #condition: StoredAlarm['condition']
  #compiled: CompiledCondition | undefined

  constructor(condition: StoredAlarm['condition']) {
    const { needed, optional } = namesIn(condition)
    this.names = [...needed, ...optional]
    this.#condition = condition
  }

  /** Made when it is first judged: a start with ten thousand compiles none. */
  get compiled(): CompiledCondition {
    this.#compiled ??= compile(this.#condition)
    return this.#compiled
  }
}

/** What a condition reads under a schema. */
export interface Meant {
  readonly condition: ReadCondition
  /** By slot. */
  readonly places: readonly (PropertyPlace | undefined)[]
  /** Equal where the places are. */
  readonly text: string
}

export function meantUnder(condition: ReadCondition, schema: ServiceSchema | undefined): Meant {
  const places = condition.names.map((name) => readPropertyName(name, schema))
  const text = places.map((place) => (place ? `${place.propId}.${place.type?.name ?? ''}` : '')).join()
  return { condition, places, text }
}
