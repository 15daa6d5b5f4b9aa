import { z } from 'zod'
import { type JsonFault, type JsonValue, jsonBytesOf } from '#model/json-value'

/**
 * Conditions over values: JsonLogic (jsonlogic.com), a small and bounded part of it. Contract 5.2.
 *
 * A condition is a literal, an array of conditions, or an object of one key, the operator, with its arguments. `var`
 * reads a value by its name: `"name"`, `["name"]` or `["name", default]`. The name is a literal. It is not split at
 * dots: the code that supplies the values gets the whole name. A condition is not evaluated until every value that it
 * reads without a default is present. `missing` returns the names that have no value.
 *
 * Truth is JsonLogic's: `0`, `""`, `null`, `false` and empty arrays are false. `==`, `<`, `<=`, `>` and `>=` compare
 * two texts as texts and any other values as numbers, where `null` is 0, except that `null == x` is true only for
 * `null`. If an operand or a result is not a number (`"abc"`, an array, an object, 1 divided by 0), the condition
 * fails: it has no outcome. Arrays and objects are not compared by content: for `===` and `in` each is different from
 * every other.
 */

/** Validated by the schema `Condition`. */
export type Condition = JsonValue

/**
 * Maximum number of operators, literals, arrays and names in `missing` of one condition. Lists of arguments and
 * defaults of `var` do not count. Contract 5.2.
 */
export const conditionNodesMax = 256

/** Maximum nesting of operators and arrays. Contract 5.2. */
export const conditionDepthMax = 16

/**
 * Maximum size of a condition as JSON: 256 nodes with ordinary names and texts need half of it. Conditions are stored,
 * and sent in events.
 */
export const conditionBytesMax = 16_384

/** Maximum size as JSON of a condition in a query string: the length of URLs is limited too. */
export const filterBytesMax = 8_192

/** Maximum length of a name: as long as the name of a property in a schema may be. */
export const conditionNameCharactersMax = 256

/** The number of arguments of an operator. */
export interface Arity {
  readonly min: number
  readonly max: number
}

const unary: Arity = { min: 1, max: 1 }
const binary: Arity = { min: 2, max: 2 }
const between: Arity = { min: 2, max: 3 }
const any: Arity = { min: 1, max: conditionNodesMax }

/**
 * All operators. `<`, `<=`, `>` and `>=` may have a third argument: `{"<":[0, x, 10]}` means that x is between 0 and
 * 10. Contract 5.2.
 */
export const conditionOperators: ReadonlyMap<string, Arity> = new Map([
  ['==', binary],
  ['===', binary],
  ['!=', binary],
  ['!==', binary],
  ['<', between],
  ['<=', between],
  ['>', between],
  ['>=', between],
  ['+', any],
  ['-', { min: 1, max: 2 }],
  ['*', any],
  ['/', binary],
  ['%', binary],
  ['min', any],
  ['max', any],
  ['and', any],
  ['or', any],
  ['!', unary],
  ['!!', unary],
  ['in', binary],
  ['if', any],
  ['var', { min: 1, max: 2 }],
  ['missing', any],
])

/** A name that a condition reads, and its position. `needed`: read by `var` without a default. */
export interface Variable {
  readonly name: string
  readonly use: 'needed' | 'defaulted' | 'missing'
  readonly path: readonly (string | number)[]
}

/** A condition of at most 16 KiB as JSON. Faults contain their path. */
export const Condition = conditionWithin(conditionBytesMax)

/** A condition over devices in a query string. Contract 3.7. */
export const FilterCondition = conditionWithin(filterBytesMax)

/** A condition that reads at least one property: without one it would never be evaluated. Contract 5.3. */
export const AlarmCondition = Condition.refine(
  (condition) => variablesIn(condition).some(({ use }) => use !== 'missing'),
  'must read at least one property by var',
)

/** All names that a valid condition reads, in the order of its text, with duplicates. */
export function variablesIn(condition: Condition): readonly Variable[] {
  return walk(condition).variables
}

/**
 * The names that a valid condition needs, and the optional ones, without duplicates, in the order of its text. `nodes`:
 * the number of nodes.
 */
export function namesIn(condition: Condition): {
  readonly needed: readonly string[]
  readonly optional: readonly string[]
  readonly nodes: number
} {
  const { variables, nodes } = walk(condition)
  const needed = new Set(variables.filter(({ use }) => use === 'needed').map(({ name }) => name))
  const names = new Set(variables.map(({ name }) => name))
  return { needed: [...needed], optional: [...names].filter((name) => !needed.has(name)), nodes }
}

/** The arguments of an operator: a single argument may stand without its array. */
export function argumentsOf(operand: JsonValue): readonly JsonValue[] {
  return Array.isArray(operand) ? operand : [operand]
}

function conditionWithin(bytesMax: number) {
  return z.unknown().transform((value, context): Condition => {
    const { faults } = walk(value)
    // Measuring a value that is too deep could overflow the stack.
    if (faults.length === 0 && jsonBytesOf(value as JsonValue) > bytesMax) {
      faults.push({ path: [], message: `must be at most ${bytesMax} bytes as JSON` })
    }
    for (const { path, message } of faults) context.addIssue({ code: 'custom', path: [...path], message })
    return faults.length === 0 ? (value as JsonValue) : z.NEVER
  })
}

type Path = readonly (string | number)[]

interface Walk {
  nodes: number
  readonly faults: JsonFault[]
  readonly variables: Variable[]
}

/** Visits every node once, and no node beyond the limits, so invalid input takes no longer than a valid condition. */
function walk(condition: unknown): Walk {
  const seen: Walk = { nodes: 0, faults: [], variables: [] }
  walkNode(condition, conditionDepthMax, [], seen)
  return seen
}

function walkNode(value: unknown, depthMax: number, path: Path, seen: Walk): void {
  if (++seen.nodes > conditionNodesMax) {
    if (seen.nodes === conditionNodesMax + 1) fault(seen, [], `must have at most ${conditionNodesMax} nodes`)
  } else if (typeof value !== 'object' || value === null) {
    walkLiteral(value, path, seen)
  } else if (depthMax < 1) {
    fault(seen, path, `must not be deeper than ${conditionDepthMax} operators and arrays`)
  } else if (Array.isArray(value)) {
    walkEach(value, depthMax - 1, path, seen)
  } else {
    walkOperator(value as Readonly<Record<string, unknown>>, depthMax, path, seen)
  }
}

function walkEach(values: readonly unknown[], depthMax: number, path: Path, seen: Walk): void {
  for (let index = 0; index < values.length && seen.nodes <= conditionNodesMax; index++) {
    walkNode(values[index], depthMax, [...path, index], seen)
  }
}

function walkOperator(value: Readonly<Record<string, unknown>>, depthMax: number, path: Path, seen: Walk): void {
  const [operator, another] = Object.keys(value)
  const arity = operator === undefined || another !== undefined ? undefined : conditionOperators.get(operator)
  if (operator === undefined || !arity) {
    fault(seen, path, `must have one key, one of ${[...conditionOperators.keys()].join(' ')}`)
    return
  }
  const operand = value[operator]
  const inner = [...path, operator]
  const { length } = argumentsOf(operand as JsonValue)
  if (length < arity.min || length > arity.max) {
    fault(seen, inner, `must have ${arity.min === arity.max ? arity.min : `${arity.min} to ${arity.max}`} arguments`)
  } else if (operator === 'var') walkVariable(operand, inner, seen)
  else if (operator === 'missing') walkMissing(operand, inner, seen)
  else if (Array.isArray(operand)) walkEach(operand, depthMax - 1, inner, seen)
  else walkNode(operand, depthMax - 1, inner, seen)
}

function walkVariable(operand: unknown, path: Path, seen: Walk): void {
  if (!Array.isArray(operand)) {
    walkName(operand, 'needed', path, seen)
  } else {
    walkName(operand[0], operand.length > 1 ? 'defaulted' : 'needed', [...path, 0], seen)
    if (operand.length > 1) walkLiteral(operand[1], [...path, 1], seen)
  }
}

function walkMissing(operand: unknown, path: Path, seen: Walk): void {
  const names = argumentsOf(operand as JsonValue)
  seen.nodes += names.length
  if (seen.nodes > conditionNodesMax) {
    fault(seen, [], `must have at most ${conditionNodesMax} nodes`)
  } else {
    for (const [index, name] of names.entries()) {
      walkName(name, 'missing', Array.isArray(operand) ? [...path, index] : path, seen)
    }
  }
}

function walkName(name: unknown, use: Variable['use'], path: Path, seen: Walk): void {
  if (typeof name !== 'string' || name.length < 1 || name.length > conditionNameCharactersMax || !name.isWellFormed()) {
    fault(seen, path, `must be a name of 1 to ${conditionNameCharactersMax} characters`)
  } else {
    seen.variables.push({ name, use, path })
  }
}

function walkLiteral(value: unknown, path: Path, seen: Walk): void {
  if (typeof value === 'number' ? !Number.isFinite(value) : typeof value !== 'boolean' && value !== null) {
    if (typeof value !== 'string') fault(seen, path, 'must be a finite number, a text, true, false or null')
    else if (!value.isWellFormed()) fault(seen, path, 'must be well-formed Unicode')
  }
}

function fault(seen: Walk, path: Path, message: string): void {
  seen.faults.push({ path, message })
}
