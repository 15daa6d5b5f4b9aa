import { Constants, defaultMethods } from 'json-logic-engine'
import { ruleBudget } from '#rules/rule-budget'

/**
 * The operators of conditions, in the form of `json-logic-engine`: each returns the source text of its application to
 * its arguments. The text calls functions of this file and the library, and reads values and constants by index: it
 * contains nothing that an author wrote.
 *
 * `if`, `and`, `or`, `!` and `!!` are the library's, which adds the necessary brackets. Its other operators, in version
 * 5.0.7, have errors:
 * - all comparisons of a condition share one variable `prev`, which is written before the right side is evaluated and
 *   read after it: with a comparison inside, as in `{"<":[1,{"if":[{"<":["a","b"]},10,20]}]}`, the left side of the
 *   inner comparison is read instead;
 * - a literal that is not a number makes arithmetic fail at compile time, even in a branch that is never taken;
 * - `==` treats `null` as 0, so that floor 0 would count as no floor;
 * - `min` and `max` reject text that is a number, and allocate an array each time;
 * - `in` fails if its right side is a number, and has no limit.
 */

/** The library's argument to `compile`; its `compile` is a template tag that joins source texts. */
interface BuildState {
  compile(strings: TemplateStringsArray, ...items: unknown[]): Compiled
}
type Compiled = object
type Compile = (args: readonly unknown[], state: BuildState) => Compiled | string
type Apply = (...args: never[]) => unknown

/**
 * Maximum number of character comparisons by `in` in one evaluation. They take a third of a millisecond, and a turn may
 * have a few such evaluations.
 */
export const searchesMax = 1_048_576

/**
 * V8 searches for texts up to this length in time linear in the searched text; for longer texts it takes up to 0.3 ns
 * for each pair of characters.
 */
const linearCharactersMax = 250

/** Texts up to this length are compared as fast as numbers. */
const shortCharacters = 64

/** Longer texts are not parsed as numbers, because every evaluation would parse them again. */
export const numberCharactersMax = 128

/** Thrown if there is no result. Created once: it is only caught and counted, so its stack is not needed. */
const noNumber = new Error('an operand is not a number')
const tooExpensive = new Error(`in takes more than ${searchesMax} comparisons`)

let searches = 0

/** Called before each evaluation. */
export function resetSearches(): void {
  searches = 0
}

/** Truth as defined by JsonLogic. */
export function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

/** The values that compiled source text reads. */
export interface Context {
  /** By slot; null for none. */
  values: readonly unknown[]
  constants: readonly unknown[]
}

/** The constant of a `missing`: the names that it asks for, and their slots. */
export interface RequestedNames {
  readonly slots: readonly number[]
  readonly names: readonly string[]
}

/**
 * The operators of the engine. `compile` turns `var`, literals and `missing` into `value`, `constant` and `lacking`.
 */
export const operators: Readonly<Record<string, unknown>> = {
  if: defaultMethods.if,
  and: defaultMethods.and,
  or: defaultMethods.or,
  '!': defaultMethods['!'],
  '!!': defaultMethods['!!'],
  '==': calling(isEqual),
  '!=': calling((left: unknown, right: unknown) => !isEqual(left, right)),
  '===': calling(isSame),
  '!==': calling((left: unknown, right: unknown) => !isSame(left, right)),
  '<': ordering(isLess),
  '<=': ordering(isLessOrEqual),
  '>': ordering((left, right) => isLess(right, left)),
  '>=': ordering((left, right) => isLessOrEqual(right, left)),
  '+': folding((left, right) => finite(left + right)),
  '*': folding((left, right) => finite(left * right)),
  min: folding(Math.min),
  max: folding(Math.max),
  '-': {
    compile: (args: readonly unknown[], state: BuildState) => call(args.length > 1 ? minus : negative, args, state),
  },
  '/': calling((left: unknown, right: unknown) => finite(numberOf(left) / numberOf(right))),
  '%': calling((left: unknown, right: unknown) => finite(numberOf(left) % numberOf(right))),
  in: calling(isIn),
  /** Arguments: `[slot]`, or `[slot, index of the default]`. */
  value: {
    compile: ([slot, place]: readonly unknown[]) =>
      place === undefined ? `context.values[${slot}]` : `(context.values[${slot}] ?? context.constants[${place}])`,
  },
  /** Arguments: `[index]` of the constant. */
  constant: { compile: ([place]: readonly unknown[]) => `context.constants[${place}]` },
  /** Arguments: `[index]` of the requested names. */
  lacking: {
    compile: ([place]: readonly unknown[], state: BuildState) =>
      state.compile`${synchronous(namesLacking)}(context.values, context.constants[${place}])`,
  },
}

function calling(apply: Apply): { compile: Compile } {
  return { compile: (args, state) => call(apply, args, state) }
}

/**
 * Compares two arguments, or three: then the second must be between the others. All arguments are evaluated before the
 * comparison.
 */
function ordering(isBefore: (left: unknown, right: unknown) => boolean): { compile: Compile } {
  const isBetween = (low: unknown, value: unknown, high: unknown) => isBefore(low, value) && isBefore(value, high)
  return { compile: (args, state) => call(args.length > 2 ? isBetween : isBefore, args, state) }
}

/** Combines any number of arguments, from left to right. */
function folding(fold: (left: number, right: number) => number): { compile: Compile } {
  const step = (left: unknown, right: unknown) => fold(numberOf(left), numberOf(right))
  return {
    compile: ([first, ...others], state) =>
      others.reduce<Compiled>((left, right) => call(step, [left, right], state), call(numberOf, [first], state)),
  }
}

/** The text of a call, in which commas separate the arguments. */
function call(apply: Apply, args: readonly unknown[], state: BuildState): Compiled {
  const [first, ...others] = args
  let text = state.compile`${synchronous(apply)}(${first}`
  for (const other of others) text = state.compile`${text}, ${other}`
  return state.compile`${text})`
}

/** Marks a function as synchronous; otherwise the library would await it. */
function synchronous(apply: Apply): Apply {
  return Object.assign(apply, { [Constants.Sync]: true })
}

/** Never compares arrays and objects by identity, which would depend on how a condition was compiled. */
function isSame(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string') return isSameText(left, right)
  return left === right && (typeof left !== 'object' || left === null)
}

function isSameText(left: string, right: string): boolean {
  if (left.length !== right.length) return false
  if (left.length > shortCharacters) ruleBudget.spend(left.length)
  return left === right
}

function isTextBefore(left: string, right: string): boolean {
  const characters = Math.min(left.length, right.length)
  if (characters > shortCharacters) ruleBudget.spend(characters)
  return left < right
}

function isEqual(left: unknown, right: unknown): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left === right
  if (left === null || right === null) return left === right
  if (typeof left === 'string' && typeof right === 'string') return isSameText(left, right)
  return numberOf(left) === numberOf(right)
}

function isLess(left: unknown, right: unknown): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left < right
  if (typeof left === 'string' && typeof right === 'string') return isTextBefore(left, right)
  return numberOf(left) < numberOf(right)
}

function isLessOrEqual(left: unknown, right: unknown): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left <= right
  if (typeof left === 'string' && typeof right === 'string') return !isTextBefore(right, left)
  return numberOf(left) <= numberOf(right)
}

function minus(left: unknown, right: unknown): number {
  return finite(numberOf(left) - numberOf(right))
}

function negative(value: unknown): number {
  return -numberOf(value)
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value
  if (value === null) return 0
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value !== 'string' || value.length > numberCharactersMax) throw noNumber
  ruleBudget.spend(numberCharactersMax)
  return finite(Number(value))
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value
  throw noNumber
}

/** Whether a list contains the item, or a text contains the item's text; false for all other types. */
function isIn(item: unknown, whole: unknown): boolean {
  if (Array.isArray(whole)) return isListed(item, whole)
  if (typeof whole !== 'string' || (typeof item === 'object' && item !== null)) return false
  const text = String(item)
  const comparisons = text.length * whole.length
  const isLinear = text.length <= linearCharactersMax
  spend(comparisons, isLinear ? Math.min(comparisons / 2, searchUnitsOf(text) * whole.length) : comparisons / 2)
  return whole.includes(text)
}

function isListed(item: unknown, list: readonly unknown[]): boolean {
  const { length } = typeof item === 'string' ? item : ''
  for (let index = 0; index < list.length; index++) {
    const other = list[index]
    // Texts of different lengths differ without comparing characters.
    const comparisons = length > 0 && typeof other === 'string' && other.length === length ? length : 1
    spend(comparisons, comparisons / 2)
    if (isSame(other, item)) return true
  }
  return false
}

/**
 * The cost of each searched character, in units of at most 4 ns: V8 takes at most 6 ns for short texts, and 4 ns for
 * others.
 */
function searchUnitsOf(text: string): number {
  return text.length < 7 ? 2 : 1
}

function spend(comparisons: number, units: number): void {
  ruleBudget.spend(Math.ceil(units))
  searches += comparisons
  if (searches > searchesMax) throw tooExpensive
}

const nothing: readonly string[] = Object.freeze([])

function namesLacking(values: readonly unknown[], { slots, names }: RequestedNames): readonly string[] {
  let lacking: string[] | undefined
  for (let index = 0; index < slots.length; index++) {
    if (values[slots[index] as number] !== null) continue
    lacking ??= []
    lacking.push(names[index] as string)
  }
  return lacking ?? nothing
}
