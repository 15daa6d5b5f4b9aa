import type { StoredAlarm } from '#model/alarm'
import { readableValue, storedValue } from '#model/delivery'
import { isPropertyError, type PropertyState } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { CompiledCondition } from '#rules/compiled-condition'
import { indexIn, type PropertyReference, readPropertyName } from '#rules/property-name'
import { ruleBudget } from '#rules/rule-budget'

/** The property values of a service, by their position in its shape. */
export interface ValueSource {
  at(place: number): PropertyState
}

/**
 * Whether a condition holds. Undefined if there is no result: a property that the condition reads without a default has
 * no value, or the evaluation failed. `skipped` if the author has used up their share of the turn, or the turn has
 * compiled too much. Failures and `skipped` count as errors.
 */
type Verdict = boolean | undefined | 'skipped'

/** Counted since the start, for all tenants. */
export interface EvaluationCounts {
  evaluated: number
  errors: number
}

/**
 * Values by slot for the current evaluation. Evaluations are synchronous, so no other evaluation needs them at the same
 * time.
 */
const values: unknown[] = []

/**
 * The rule of an alarm under a schema. An alarm keeps its rule object until the alarm is edited or its names get
 * another meaning, so that a device can compare rules by identity.
 */
export class AlarmRule {
  readonly id: string
  readonly service: string
  /** How long the condition has to hold, in ms. */
  readonly forMs: number
  /**
   * Since when the alarm has this condition, Unix ms; 0: always. The time for which an earlier condition held does not
   * count.
   */
  readonly conditionAt: number
  /** The resource name of the last editor. */
  readonly author: string
  /** A unique number that is never reused, by which rule lists are found. */
  readonly serial: number
  /** The meaning of the names in the condition. Equal conditions with equal meanings have equal results. */
  readonly resolved: ResolvedNames
  readonly #counts: EvaluationCounts
  /**
   * The rule for the shape and author position that were requested last. The shaped rule stays usable after an edit of
   * another alarm: the new list of a device then shares it.
   */
  #shaped: ShapedRule | undefined

  constructor(
    { serviceIdentifier, forSeconds, conditionAt = 0, updatedBy }: StoredAlarm,
    parts: {
      readonly id: string
      readonly serial: number
      readonly resolved: ResolvedNames
      readonly counts: EvaluationCounts
    },
  ) {
    this.id = parts.id
    this.service = serviceIdentifier
    this.forMs = forSeconds * 1_000
    this.conditionAt = conditionAt
    this.author = updatedBy
    this.serial = parts.serial
    this.resolved = parts.resolved
    this.#counts = parts.counts
  }

  /** `author`: position among the authors of the rule's list. */
  shaped(shape: Shape, author: number): ShapedRule {
    const known = this.#shaped
    if (known?.shape === shape && known.author === author) return known
    const places = this.resolved.places.map((place) => indexIn(shape, place))
    this.#shaped = new ShapedRule(this, { shape, places, author, counts: this.#counts })
    return this.#shaped
  }
}

/** A rule with the positions of its properties in a shape. */
export class ShapedRule {
  readonly rule: AlarmRule
  readonly shape: Shape
  /** Positions in the shape, by slot; −1 for a missing property. */
  readonly places: readonly number[]
  readonly author: number
  readonly #counts: EvaluationCounts
  readonly #condition: CompiledCondition

  constructor(
    rule: AlarmRule,
    parts: Pick<ShapedRule, 'shape' | 'places' | 'author'> & { readonly counts: EvaluationCounts },
  ) {
    this.rule = rule
    this.#condition = rule.resolved.condition
    this.shape = parts.shape
    this.places = parts.places
    this.author = parts.author
    this.#counts = parts.counts
  }

  /**
   * The value of the first property that the condition reads without a default. If all have a default, the value of the
   * first property. Null if this property has no value.
   */
  valueIn(source: ValueSource): JsonValue {
    const [place = -1] = this.places
    return place < 0 ? null : readableValue(storedValue(source.at(place)))
  }

  /** Allocates nothing, except when the condition is compiled. */
  evaluate(source: ValueSource): Verdict {
    const condition = this.#condition
    if (!ruleBudget.turnTo(this.author) || (condition.isCold && !ruleBudget.mayCompile)) {
      this.#counts.errors++
      return 'skipped'
    }
    const { neededCount } = condition
    const places = this.places
    for (let slot = 0; slot < places.length; slot++) {
      const place = places[slot] as number
      const state = place < 0 ? null : source.at(place)
      const value = state !== null && isPropertyError(state) ? null : state
      if (value === null && slot < neededCount) return undefined
      values[slot] = value
    }
    this.#counts.evaluated++
    try {
      return condition.evaluate(values)
    } catch {
      this.#counts.errors++
      return ruleBudget.isOver ? 'skipped' : undefined
    }
  }
}

/** The meaning of a condition's names under a schema. */
export interface ResolvedNames {
  readonly condition: CompiledCondition
  readonly places: readonly (PropertyReference | undefined)[]
  /** Equal if the places are equal. */
  readonly text: string
}

export function resolveNames(condition: CompiledCondition, schema: ServiceSchema | undefined): ResolvedNames {
  const places = condition.names.map((name) => readPropertyName(name, schema))
  const text = places.map((place) => (place ? `${place.propId}.${place.type?.name ?? ''}` : '')).join()
  return { condition, places, text }
}
