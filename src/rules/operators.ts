import { Constants, defaultMethods } from 'json-logic-engine'
import { work } from '#rules/rule-work'

/**
 * The operators that conditions are compiled from, as `json-logic-engine` takes them: each makes the text of its own
 * application out of its arguments'. The text calls functions of this file and the library, and reads values and constants
 * by their places: nothing that an author wrote is in it.
 *
 * `if`, `and`, `or`, `!` and `!!` are the library's, which brackets what it has to. Its others, of 5.0.7, would not do:
 * - all comparisons of a condition share one variable `prev`, which is written before the right side is worked out and
 *   read after: with a comparison inside it, `{"<":[1,{"if":[{"<":["a","b"]},10,20]}]}`, that one's left side is read;
 * - a literal that is no number makes arithmetic fail while it is compiled, also in a branch that is never taken;
 * - `==` takes `null` for 0, so that a floor 0 would be no floor;
 * - `min` and `max` take no text that is a number, and an array is made for them each time;
 * - `in` fails where its right side is a number, and has no limit.
 */

/** What the library hands to `compile`: `compile` is a template tag that puts texts together. */
interface BuildState {
  compile(strings: TemplateStringsArray, ...items: unknown[]): Compiled
}
type Compiled = object
type Compile = (args: readonly unknown[], state: BuildState) => Compiled | string
type Apply = (...args: never[]) => unknown

/** Character comparisons that `in` may cost in one judgement: a third of a millisecond, a few times in a turn. */
export const searchesMax = 1_048_576

/** V8 searches texts up to here in time linear in the searched text; longer ones at up to 0.3 ns for each pair of characters. */
const linearCharactersMax = 250

/** Texts up to here are compared as fast as numbers. */
const shortCharacters = 64

/** A text longer than this is no number; its digits would be read again at every judgement. */
export const numberCharactersMax = 128

/** Thrown where there is no outcome. Made once: it is caught and counted, and nobody looks where it came from. */
const noNumber = new Error('what should be a number is none')
const tooDear = new Error(`in takes more than ${searchesMax} comparisons`)

let searches = 0

/** Called before each judgement. */
export function resetSearches(): void {
  searches = 0
}

/** JsonLogic's truth. */
export function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

/** What evaluated text reads. */
export interface Context {
  /** By slot; null where there is none. */
  values: readonly unknown[]
  constants: readonly unknown[]
}

/** A constant of `missing`. */
export interface Asked {
  readonly slots: readonly number[]
  readonly names: readonly string[]
}

/** What the engine knows. `value`, `constant` and `lacking` are what `compile` makes of `var`, literals and `missing`. */
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
  /** `[slot]`, or `[slot, place of the default]`. */
  value: {
    compile: ([slot, place]: readonly unknown[]) =>
      place === undefined ? `context.values[${slot}]` : `(context.values[${slot}] ?? context.constants[${place}])`,
  },
  /** `[place]`. */
  constant: { compile: ([place]: readonly unknown[]) => `context.constants[${place}]` },
  /** `[place]`, of what is asked for. */
  lacking: {
    compile: ([place]: readonly unknown[], state: BuildState) =>
      state.compile`${synchronous(namesLacking)}(context.values, context.constants[${place}])`,
  },
}

function calling(apply: Apply): { compile: Compile } {
  return { compile: (args, state) => call(apply, args, state) }
}

/** Two arguments, or three: the second between the others. All are worked out before they are compared. */
function ordering(isBefore: (left: unknown, right: unknown) => boolean): { compile: Compile } {
  const isBetween = (low: unknown, value: unknown, high: unknown) => isBefore(low, value) && isBefore(value, high)
  return { compile: (args, state) => call(args.length > 2 ? isBetween : isBefore, args, state) }
}

/** Any number of arguments, from the left. */
function folding(fold: (left: number, right: number) => number): { compile: Compile } {
  const step = (left: unknown, right: unknown) => fold(numberOf(left), numberOf(right))
  return {
    compile: ([first, ...others], state) =>
      others.reduce<Compiled>((left, right) => call(step, [left, right], state), call(numberOf, [first], state)),
  }
}

/** The text of a call: its arguments are bracketed by its commas. */
function call(apply: Apply, args: readonly unknown[], state: BuildState): Compiled {
  const [first, ...others] = args
  let text = state.compile`${synchronous(apply)}(${first}`
  for (const other of others) text = state.compile`${text}, ${other}`
  return state.compile`${text})`
}

/** Else the library would take the function for one to be awaited. */
function synchronous(apply: Apply): Apply {
  return Object.assign(apply, { [Constants.Sync]: true })
}

/** Without telling arrays and objects apart by where they lie: that would depend on how a condition was compiled. */
function isSame(left: unknown, right: unknown): boolean {
  if (typeof left === 'string' && typeof right === 'string') return isSameText(left, right)
  return left === right && (typeof left !== 'object' || left === null)
}

function isSameText(left: string, right: string): boolean {
  if (left.length !== right.length) return false
  if (left.length > shortCharacters) work.spend(left.length)
  return left === right
}

function isTextBefore(left: string, right: string): boolean {
  const characters = Math.min(left.length, right.length)
  if (characters > shortCharacters) work.spend(characters)
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
  work.spend(numberCharactersMax)
  return finite(Number(value))
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value
  throw noNumber
}

/** Whether a list has the item, or a text has the text of it. Neither: false. */
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
    // Texts of different lengths are told apart by those.
    const comparisons = length > 0 && typeof other === 'string' && other.length === length ? length : 1
    spend(comparisons, comparisons / 2)
    if (isSame(other, item)) return true
  }
  return false
}

/** For each character that is searched, at most 4 ns a unit: V8 takes 6 ns at most for short texts, 4 ns for others. */
function searchUnitsOf(text: string): number {
  return text.length < 7 ? 2 : 1
}

function spend(comparisons: number, units: number): void {
  work.spend(Math.ceil(units))
  searches += comparisons
  if (searches > searchesMax) throw tooDear
}

const nothing: readonly string[] = Object.freeze([])

function namesLacking(values: readonly unknown[], { slots, names }: Asked): readonly string[] {
  let lacking: string[] | undefined
  for (let index = 0; index < slots.length; index++) {
    if (values[slots[index] as number] !== null) continue
    lacking ??= []
    lacking.push(names[index] as string)
  }
  return lacking ?? nothing
}
