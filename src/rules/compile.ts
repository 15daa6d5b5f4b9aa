import { LogicEngine } from 'json-logic-engine'
import { argumentsOf, type Condition, namesIn } from '#model/condition'
import type { JsonValue } from '#model/json-value'
import { type Asked, type Context, isTrue, operators, resetSearches } from '#rules/operators'
import {
  coldNodeUnits,
  coldRuns,
  judgementUnits,
  knownNodeUnits,
  newNodeUnits,
  nodeUnits,
  work,
} from '#rules/rule-work'

/**
 * Inlining is the library's working out of constant parts while it compiles: what fails there would fail the compiling,
 * though it may stand in a branch that is never taken.
 */
const logic = new LogicEngine(operators, { disableInline: true, disableInterpretedOptimization: true })
logic.truthy = isTrue

/**
 * Functions of the conditions met lately, by their form: what is left without names and literals. Most alarms of a fleet
 * differ in nothing else, and code that is met once in a thousand alarms is never made fast (measured: 120–500 ns a
 * judgement each with its own function, 10–40 with one for all; and 70 µs for making it).
 */
const forms = new Map<string, Form>()

type Apply = (context: Context) => unknown

interface Form {
  readonly apply: Apply
  coldRunsLeft: number
}

/** Forms that people think of; a few KB each. */
const formsMax = 1_024

const nothing: readonly unknown[] = Object.freeze([])

/** One for all: to evaluate is synchronous, and no condition evaluates another. */
const context: Context = { values: nothing, constants: nothing }

/** Takes conditions that `Condition` has checked. */
export function compile(condition: Condition): CompiledCondition {
  const { needed, optional, nodes } = namesIn(condition)
  const names = [...needed, ...optional]
  const constants: unknown[] = []
  const form = formOf(rewrite(condition, new Map(names.map((name, slot) => [name, slot])), constants), nodes)
  return new CompiledCondition(names, needed.length, form, constants, nodes)
}

/**
 * A condition made into a function. Its parts lie side by side: among a thousand alarms each step to another object costs more
 * than to compare.
 */
export class CompiledCondition {
  /** What it reads. The place of a name is its slot. */
  readonly names: readonly string[]
  /** How many of the first slots must have a value before it may be evaluated: those read without a default. */
  readonly neededCount: number
  readonly #form: Form
  readonly #constants: readonly unknown[]
  readonly #nodes: number

  constructor(names: readonly string[], neededCount: number, form: Form, constants: readonly unknown[], nodes: number) {
    this.names = names
    this.neededCount = neededCount
    this.#form = form
    this.#constants = constants
    this.#nodes = nodes
  }

  /** Its next evaluation may make V8 compile it, and then costs as much as `compile`. */
  get isCold(): boolean {
    return this.#form.coldRunsLeft > 0
  }

  /**
   * Whether it holds, over values by slot, null where there is none. Changes nothing in them and keeps none of them.
   *
   * @throws when there is no outcome: no number where one is needed, `in` over its limit, or the work of the turn over its
   * limit. What is thrown says nothing to anybody: whoever judges counts it and leaves things as they were.
   */
  evaluate(values: readonly unknown[]): boolean {
    const form = this.#form
    work.spend(judgementUnits + this.#nodes * nodeUnits)
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
        work.chargeCode(this.#nodes * coldNodeUnits)
      }
    }
  }
}

function formOf(rewritten: unknown, nodes: number): Form {
  const text = JSON.stringify(rewritten)
  const known = forms.get(text)
  work.chargeCode(nodes * (known ? knownNodeUnits : newNodeUnits))
  if (known) return known
  const made: Form = { apply: logic.build(rewritten) as Apply, coldRunsLeft: coldRuns }
  if (forms.size >= formsMax) forms.clear()
  forms.set(text, made)
  return made
}

/** Slots in place of names, places in place of literals. */
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
    const asked: Asked = { slots: args.map(slotOf), names: args as readonly string[] }
    return { lacking: [place(asked)] }
  }
  const rewritten = args.map((arg) => rewrite(arg, slots, constants))
  return operator === 'if' ? choice(rewritten) : { [operator]: rewritten }
}

/** With an else at the end: without one the library does not compile it but interprets. */
function choice(args: readonly unknown[]): unknown {
  if (args.length === 1) return args[0]
  return { if: args.length % 2 === 1 ? args : [...args, null] }
}
