import { LogicEngine } from 'json-logic-engine'
import { argumentsOf, type Condition, namesIn } from '#model/condition'
import type { JsonValue } from '#model/json-value'
import { type Context, isTrue, operators, type RequestedNames, resetSearches } from '#rules/operators'
import {
  coldNodeUnits,
  coldRuns,
  evaluationUnits,
  knownNodeUnits,
  newNodeUnits,
  nodeUnits,
  ruleBudget,
} from '#rules/rule-budget'

/**
 * Inlining is off, because it evaluates constant parts during compilation: an error would fail the compilation, even in
 * a branch that is never taken.
 */
const logic = new LogicEngine(operators, { disableInline: true, disableInterpretedOptimization: true })
logic.truthy = isTrue

/**
 * Compiled functions of recent conditions, by their form: the condition without names and literals. Most alarms of a
 * fleet differ only in names and literals, and V8 does not optimize code that runs once per thousand alarms (measured:
 * 120–500 ns per evaluation with one function for each alarm, 10–40 ns with a shared one; compiling takes 70 µs).
 */
const forms = new Map<string, Form>()

type Apply = (context: Context) => unknown

interface Form {
  readonly apply: Apply
  coldRunsLeft: number
}

/** Maximum number of cached forms: more than people write. A form takes a few KB. */
const formsMax = 1_024

const nothing: readonly unknown[] = Object.freeze([])

/** Shared by all evaluations: they are synchronous, and no condition evaluates another one. */
const context: Context = { values: nothing, constants: nothing }

/**
 * A condition, which is compiled at its first evaluation, so that a starting server with ten thousand alarms compiles
 * none. Its fields are in one object: with a thousand alarms, each further memory access costs more than a comparison.
 */
export class CompiledCondition {
  /** The names that the condition reads; the index of a name is its slot. */
  readonly names: readonly string[]
  /** The number of slots, from the first on, that must have a value: their names are read without a default. */
  readonly neededCount: number
  readonly #condition: Condition
  #constants: readonly unknown[] = nothing
  readonly #nodes: number
  #form: Form | undefined

  /** Expects a condition that `Condition` has validated. */
  constructor(condition: Condition) {
    const { needed, optional, nodes } = namesIn(condition)
    this.names = [...needed, ...optional]
    this.neededCount = needed.length
    this.#condition = condition
    this.#nodes = nodes
  }

  /**
   * Whether the next evaluation compiles the condition, or V8 may still have to compile the form. The evaluation then
   * costs much more (`newNodeUnits`, `coldNodeUnits`).
   */
  get isCold(): boolean {
    return this.#form === undefined || this.#form.coldRunsLeft > 0
  }

  /** Compiles the condition now, so that the first evaluation does not. */
  compile(): Form {
    if (this.#form) return this.#form
    const slots = new Map(this.names.map((name, slot) => [name, slot]))
    const constants: unknown[] = []
    const form = formOf(rewrite(this.#condition, slots, constants), this.#nodes)
    this.#constants = constants
    this.#form = form
    return form
  }

  /**
   * Whether the condition holds for these values, which are given by slot, null for none. The list is not modified or
   * retained.
   *
   * @throws if there is no result: an operand is not a number, `in` exceeds its limit, or the turn exceeds its work
   * limit. The error has no details: the caller only counts it and keeps the previous result.
   */
  evaluate(values: readonly unknown[]): boolean {
    const form = this.#form ?? this.compile()
    ruleBudget.spend(evaluationUnits + this.#nodes * nodeUnits)
    resetSearches()
    context.values = values
    context.constants = this.#constants
    try {
      return isTrue(form.apply(context))
    } finally {
      context.values = nothing
      context.constants = nothing
      if (form.coldRunsLeft > 0) {
        form.coldRunsLeft--
        ruleBudget.chargeCode(this.#nodes * coldNodeUnits)
      }
    }
  }
}

function formOf(rewritten: unknown, nodes: number): Form {
  const text = JSON.stringify(rewritten)
  const known = forms.get(text)
  ruleBudget.chargeCode(nodes * (known ? knownNodeUnits : newNodeUnits))
  if (known) return known
  const form: Form = { apply: logic.build(rewritten) as Apply, coldRunsLeft: coldRuns }
  if (forms.size >= formsMax) forms.clear()
  forms.set(text, form)
  return form
}

/** Replaces names by slots, and literals by their indexes. */
function rewrite(value: JsonValue, slots: ReadonlyMap<string, number>, constants: unknown[]): unknown {
  const place = (constant: unknown) => constants.push(constant) - 1
  if (typeof value !== 'object' || value === null) return { constant: [place(value)] }
  if (Array.isArray(value)) {
    const isLiteral = value.every((element) => typeof element !== 'object' || element === null)
    return isLiteral ? { constant: [place(value)] } : value.map((element) => rewrite(element, slots, constants))
  }
  const [[operator, operand] = ['', null]] = Object.entries(value)
  const args = argumentsOf(operand)
  const slotOf = (name: JsonValue | undefined) => slots.get(name as string) as number
  if (operator === 'var') return { value: [slotOf(args[0]), ...args.slice(1).map(place)] }
  if (operator === 'missing') {
    const asked: RequestedNames = { slots: args.map(slotOf), names: args as readonly string[] }
    return { lacking: [place(asked)] }
  }
  const rewritten = args.map((arg) => rewrite(arg, slots, constants))
  return operator === 'if' ? choice(rewritten) : { [operator]: rewritten }
}

/** Adds a final default branch: without one the library interprets the condition and does not compile it. */
function choice(args: readonly unknown[]): unknown {
  if (args.length === 1) return args[0]
  return { if: args.length % 2 === 1 ? args : [...args, null] }
}
