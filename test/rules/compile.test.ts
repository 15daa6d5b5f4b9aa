import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Condition } from '#model/condition'
import type { JsonValue } from '#model/json-value'
import { type CompiledCondition, compile } from '#rules/compile'
import { numberCharactersMax, searchesMax } from '#rules/operators'
import { condition, names, value } from '#test/rules/condition-arbitrary'
import { evaluatePlainly, NoOutcome, truth } from '#test/rules/reference-logic'

type Values = Readonly<Record<string, JsonValue>>

/** What comes out: true, false, or 'none'. The values are frozen: evaluating changes nothing. */
function outcomeOf(compiled: CompiledCondition, values: Values): boolean | 'none' {
  const bySlot = compiled.names.map((name) => (Object.hasOwn(values, name) ? (values[name] as JsonValue) : null))
  try {
    return compiled.evaluate(Object.freeze(bySlot))
  } catch {
    return 'none'
  }
}

function plainOutcomeOf(logic: JsonValue, values: Values): boolean | 'none' {
  try {
    return truth(evaluatePlainly(logic, (name) => (Object.hasOwn(values, name) ? (values[name] as JsonValue) : null)))
  } catch (error) {
    if (error instanceof NoOutcome) return 'none'
    throw error
  }
}

function judged(logic: JsonValue, values: Values = {}): boolean | 'none' {
  return outcomeOf(compile(Condition.parse(logic)), values)
}

test('what is compiled says the same as plain reading', () => {
  const outcomes = { true: 0, false: 0, none: 0 }
  const values = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name })
  fc.assert(
    fc.property(condition, fc.array(values, { minLength: 1, maxLength: 4 }), (logic, worlds) => {
      const result = Condition.safeParse(logic)
      fc.pre(result.success)
      const compiled = compile(logic)
      for (const world of worlds) {
        const inWorld = Object.fromEntries(world)
        const outcome = outcomeOf(compiled, inWorld)
        outcomes[`${outcome}`]++
        expect(outcome).toBe(plainOutcomeOf(logic, inWorld))
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 5_000) },
  )
  // A generator that only made failing conditions would find nothing.
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(500)
}, 200_000)
