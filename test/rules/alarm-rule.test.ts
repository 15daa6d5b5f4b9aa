import { describe, expect, test } from 'vitest'
import type { StoredAlarm } from '#model/alarm'
import { Condition } from '#model/condition'
import type { PropertyState } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'
import { AlarmRule, type EvaluationCounts, resolveNames } from '#rules/alarm-rule'
import { CompiledCondition } from '#rules/compiled-condition'
import { unknownNamesIn } from '#rules/property-name'
import { InternedLists, RuleList, type ServiceRules } from '#rules/rule-list'
import { shapeOf } from '#test/actors/acting-device'
import { schema, storedAlarm } from '#test/rules/stored-rules'

const climate = shapeOf('Climate', { 8192: 'float', 8193: 'uint8', 8194: 'string', 8195: 'int64-array' })
const named = schema({ Temperature: 0x2000, Mode: 0x2001, 'Set.Point': 0x2002, __proto: 0x2003, Gone: 0x2fff })

type Names = ServiceSchema | undefined

function ruleOf(id: string, stored: StoredAlarm, names: Names = named, counts = newCounts()): AlarmRule {
  const resolved = resolveNames(new CompiledCondition(stored.condition), names)
  return new AlarmRule(stored, { id, serial: Number(id), resolved, counts })
}

function newCounts(): EvaluationCounts {
  return { evaluated: 0, errors: 0 }
}

function listed(condition: JsonValue, names: ServiceSchema | undefined) {
  const counts = newCounts()
  const rule = ruleOf('1', storedAlarm({ condition: Condition.parse(condition) }), names, counts)
  return { rule, counts, service: new RuleList([rule]).of(climate) as ServiceRules }
}

/** The verdict and counts for the given states of the properties, by index. */
function evaluated(condition: JsonValue, states: readonly PropertyState[], names: ServiceSchema | undefined = named) {
  const { counts, service } = listed(condition, names)
  return [service.rules[0]?.evaluate({ at: (place) => states[place] ?? null }), counts] as const
}

describe('a property is named', () => {
  test.each<[name: string, index: number]>([
    ['Temperature', 0],
    ['Mode', 1],
    ['Set.Point', 2],
    ['0x2000', 0],
    ['0X2000', 0],
    ['0x00002000', 0],
    ['0x2000.FLOAT', 0],
    ['0x2000.float', 0],
    ['0x2003.INT64-ARRAY', 3],
    ...['0x2000.UINT8', '0x3000', 'Gone', '8192', 'temperature', 'Set', 'toString', '__proto__'].map(
      (name): [string, number] => [name, -1],
    ),
  ])('%s: index %i (-1: not found)', (name, index) => {
    const { rule, service } = listed({ '!': { var: name } }, named)
    expect(rule.shaped(climate, 0).places).toEqual([index])
    expect(service.readers.findIndex((readers) => readers !== undefined)).toBe(index)
  })

  test('only by its id if the schema has no names', () => {
    const { rule } = listed({ '==': [{ var: 'Temperature' }, { var: '0x2000' }] }, schema({}))
    expect(rule.shaped(climate, 0).places).toEqual([-1, 0])
    expect(evaluated({ '!': { var: '0x2000' } }, [0], undefined)[0]).toBe(true)
  })

  test('wrongly if the schema lacks the name, and the error has its path', () => {
    const condition = { and: [{ var: 'Mode' }, { missing: ['0x9999', 'Nowhere'] }, { '<': [{ var: ['x.y', 1] }, 2] }] }
    expect(unknownNamesIn(condition, named, 'condition').map(({ path }) => path)).toEqual([
      'condition.and.1.missing.1',
      'condition.and.2.<.0.var.0',
    ])
  })
})

describe('a rule', () => {
  const counts = {
    evaluated: { evaluated: 1, errors: 0 },
    waits: { evaluated: 0, errors: 0 },
    fails: { evaluated: 1, errors: 1 },
  }
  const hot = { '>': [{ var: 'Temperature' }, 80] }

  type Outcome = keyof typeof counts
  const isLarge = { '>': [{ var: ['Temperature', 99] }, 80] }
  const isMissing = { and: [{ var: ['Mode', 1] }, { missing: ['Temperature'] }] }
  const isListed = { in: ['9007199254740993', { var: '0x2003' }] }

  test.each<[what: string, condition: JsonValue, PropertyState[], verdict: boolean | undefined, outcome: Outcome]>([
    ['is true', hot, [81], true, 'evaluated'],
    ['is false', hot, [80], false, 'evaluated'],
    ['waits for a first value', hot, [null], undefined, 'waits'],
    ['waits while in error', hot, [{ error: 'E' }], undefined, 'waits'],
    ['waits for an undeclared property', { '>': [{ var: 'Gone' }, 1] }, [1], undefined, 'waits'],
    ['waits for all its properties', { or: [true, { var: 'Mode' }, { var: 'Temperature' }] }, [1], undefined, 'waits'],
    ['does not wait for a property with a default', isLarge, [null], true, 'evaluated'],
    ['uses the default on error', isLarge, [{ error: 'E' }], true, 'evaluated'],
    ['tests for missing properties', isMissing, [{ error: 'E' }], true, 'evaluated'],
    ['fails', { '>': [{ var: 'Set.Point' }, 1] }, [1, 1, 'warm'], undefined, 'fails'],
    ['searches arrays', isListed, [1, 1, '', [1, '9007199254740993']], true, 'evaluated'],
  ])('%s', (_, condition, states, verdict, outcome) => {
    expect(evaluated(condition, states)).toEqual([verdict, counts[outcome]])
  })

  test('is listed once for each property it reads', () => {
    const isRising = { '<': [{ var: '0x2000' }, { var: 'Temperature' }, { var: 'Mode' }] }
    const conditions = [hot, isRising, { missing: ['Mode'] }]
    const rules = conditions.map((condition, n) => ruleOf(`${n}`, storedAlarm({ condition })))
    const elsewhere = ruleOf('3', storedAlarm({ serviceIdentifier: 'Other' }))
    const list = new RuleList([...rules, elsewhere])
    expect(list.of(climate)?.readers).toEqual([[0, 1], [1, 2], undefined, undefined])
    expect(list.of(climate)?.rules.map(({ rule }) => rule)).toEqual(rules)
    expect(list.of(climate)).toBe(list.of(climate))
    expect(list.of(shapeOf('Third', { 1: 'bool' }))).toBeUndefined()
    expect(list.rule('3')).toBe(elsewhere)
    expect(list.rule('4')).toBeUndefined()
  })

  test('has its duration in milliseconds', () => {
    expect(ruleOf('1', storedAlarm({ forSeconds: 90 })).forMs).toBe(90_000)
  })
})

test('lists of rules are dropped if there are many and they were not used lately', () => {
  const lists = new InternedLists<RuleList>()
  const listOf = (key: number, version: number) => lists.of(`${key}`, version, () => new RuleList([]))
  const before = Array.from({ length: 3_000 }, (_, key) => listOf(key, 1))
  const kept = listOf(7, 2)
  lists.sweep(2)
  expect(listOf(7, 3)).toBe(kept)
  expect(kept).toBe(before[7])
  expect(listOf(8, 3)).not.toBe(before[8])
})
