import type { JsonValue } from '#model/json-value'

/** Thrown for a condition without an outcome. */
export class NoOutcome extends Error {}

/** A reference for the compiled conditions: plain recursion over the text, without shared code. */
export function evaluatePlainly(condition: JsonValue, read: (name: string) => JsonValue): JsonValue {
  if (typeof condition !== 'object' || condition === null) return condition
  const go = (inner: JsonValue) => evaluatePlainly(inner, read)
  if (Array.isArray(condition)) return condition.map(go)
  const [[operator, operand] = ['', null]] = Object.entries(condition)
  const args: readonly JsonValue[] = Array.isArray(operand) ? operand : [operand]
  switch (operator) {
    case 'var':
      return read(args[0] as string) ?? args[1] ?? null
    case 'missing':
      return args.filter((name) => read(name as string) === null)
    case 'if':
      for (let place = 0; place + 1 < args.length; place += 2) {
        if (truth(go(args[place] as JsonValue))) return go(args[place + 1] as JsonValue)
      }
      return args.length % 2 === 1 ? go(args.at(-1) as JsonValue) : null
    case 'and':
    case 'or': {
      let last: JsonValue = null
      for (const arg of args) {
        last = go(arg)
        if (truth(last) === (operator === 'or')) return last
      }
      return last
    }
    default: {
      const apply = eager[operator]
      if (!apply) throw new Error(`there is no operator ${operator}`)
      return apply(...args.map(go))
    }
  }
}

export function truth(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length !== 0
  return value !== null && value !== false && value !== 0 && value !== ''
}

const eager: Record<string, (...args: JsonValue[]) => JsonValue> = {
  '!': (a = null) => !truth(a),
  '!!': (a = null) => truth(a),
  '==': (a = null, b = null) => same(a, b),
  '!=': (a = null, b = null) => !same(a, b),
  '===': (a = null, b = null) => alike(a, b),
  '!==': (a = null, b = null) => !alike(a, b),
  '<': (...args) => ordered(args, (difference) => difference < 0),
  '<=': (...args) => ordered(args, (difference) => difference <= 0),
  '>': (...args) => ordered(args, (difference) => difference > 0),
  '>=': (...args) => ordered(args, (difference) => difference >= 0),
  '+': (...args) => args.map(number).reduce((a, b) => real(a + b)),
  '*': (...args) => args.map(number).reduce((a, b) => real(a * b)),
  '-': (a = null, b) => (b === undefined ? -number(a) : real(number(a) - number(b))),
  '/': (a = null, b = null) => real(number(a) / number(b)),
  '%': (a = null, b = null) => real(number(a) % number(b)),
  min: (...args) => args.map(number).reduce((a, b) => (b < a ? b : a)),
  max: (...args) => args.map(number).reduce((a, b) => (b > a ? b : a)),
  in: (a = null, b = null) => {
    if (Array.isArray(b)) return b.some((one) => alike(one, a))
    if (typeof b !== 'string' || (typeof a === 'object' && a !== null)) return false
    return b.split(String(a)).length > 1 || a === ''
  },
}

/** Arrays and objects never equal anything, not even themselves. */
function alike(a: JsonValue, b: JsonValue): boolean {
  return a === b && (a === null || typeof a !== 'object')
}

function same(a: JsonValue, b: JsonValue): boolean {
  if (a === null || b === null) return a === b
  return typeof a === 'string' && typeof b === 'string' ? a === b : number(a) === number(b)
}

/** Whether `holds` is true for each pair of neighbours; stops at the first pair for which it is not. */
function ordered(args: readonly JsonValue[], holds: (difference: number) => boolean): boolean {
  return args.slice(1).every((right, place) => {
    const left = args[place] as JsonValue
    if (typeof left === 'string' && typeof right === 'string') return holds(left < right ? -1 : left === right ? 0 : 1)
    const [a, b] = [number(left), number(right)]
    return holds(a < b ? -1 : a === b ? 0 : 1)
  })
}

function number(value: JsonValue): number {
  if (typeof value === 'object' && value !== null) throw new NoOutcome()
  if (typeof value === 'string' && value.length > 128) throw new NoOutcome()
  return real(Number(value))
}

function real(value: number): number {
  if (!Number.isFinite(value)) throw new NoOutcome()
  return value
}
