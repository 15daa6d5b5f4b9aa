import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PropertyState } from '#model/entry'
import { type EmailNode, Graph, type GraphNode, type WebhookNode } from '#model/graph'
import { isJsonObject, type JsonObject, type JsonValue } from '#model/json-value'
import { FunctionGraph, type RunInput, type RunSink, type RunTrace, type TriggerValue } from '#rules/function-graph'
import { forAll } from '#test/kit/for-all'
import { evaluatePlainly, NoOutcome, truth } from '#test/rules/reference-logic'
import { graphOf } from '#test/rules/stored-functions'

const now = 1_790_000_000_000

const heat: GraphNode = { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: 'Climate', propId: 1 }
const siren: GraphNode = { id: 'siren', type: 'trigger', on: 'alarm', alarmId: '8Hj4wRt6Zp' }
const gone: GraphNode = { id: 'gone', type: 'trigger', on: 'status' }
const mail: GraphNode = { id: 'mail', type: 'email', template: 'a' }

function happened(more: Partial<RunInput> = {}): RunInput {
  return { value: 31, previous: 29, device: 'A', time: now, meta: () => ({}), passedAt: () => undefined, ...more }
}

/** Records all effects of runs. */
class RunLog implements RunSink, RunTrace {
  readonly effects: string[] = []
  stamped(key: string) {
    this.effects.push(`stamp ${key}`)
  }
  reached(node: EmailNode | WebhookNode) {
    this.effects.push(node.type === 'email' ? `mail ${node.id} ${node.template}` : `webhook ${node.id} ${node.url}`)
  }
  failed() {
    this.effects.push('failed')
  }
  entered({ id }: GraphNode) {
    this.effects.push(id)
  }
  stopped({ id }: GraphNode, because: string) {
    this.effects.push(`${id} stops: ${because}`)
  }
}

/** The effects of a condition after a trigger, without those of the trigger. */
function evaluated(logic: JsonValue, more: Partial<RunInput> = {}): string[] {
  const graph = graphOf([heat, { id: 'if', type: 'condition', logic }, mail], 'heat if, if mail')
  const log = new RunLog()
  new FunctionGraph('f', Graph.parse(graph)).run(0, happened(more), log, log)
  return log.effects.slice(1)
}

const through = ['if', 'mail', 'mail mail a']
const stops = (because: string) => ['if', `if stops: ${because}`]

describe('a condition', () => {
  const meta = () => ({ site: { floor: 2, 'a.b': 3 }, 'site.room': 'K', tags: [], none: null }) as JsonObject

  test.each<[what: string, logic: JsonValue, more: Partial<RunInput>, expected: string[]]>([
    ['of a list', { in: [3, { var: 'value' }] }, { value: [1, 3] }, through],
    ['of the device', { in: [{ var: 'device' }, ['A', 'B']] }, {}, through],
    ['of the time', { '===': [{ var: 'time' }, now] }, {}, through],
    ['of meta', { '===': [{ var: 'meta.site.floor' }, 2] }, { meta }, through],
    ['of meta as a whole', { '!!': { var: 'meta' } }, { meta }, through],
    ['of missing metadata', { '!': { var: 'meta.site.owner' } }, { meta }, stops('no value: meta.site.owner')],
    ['of unreadable metadata', { '!!': { var: 'meta' } }, { meta: () => null }, stops('no value: meta')],
    ['of an unreadable key', { '!!': { var: 'meta.a' } }, { meta: () => null }, stops('no value: meta.a')],
    ['of missing values', { missing: ['previous', 'meta.site', 'value'] }, { previous: null }, through],
    ['that fails', { '>': [{ var: 'value' }, 30] }, { value: [1] }, ['if', 'failed', 'if stops: error']],
    ['without variables', true, {}, through],
  ])('%s is evaluated', (_, logic, more, expected) => {
    expect(evaluated(logic, more)).toEqual(expected)
  })

  test('reads metadata only if it is used', () => {
    let asked = 0
    const meta = () => {
      asked++
      return { a: 1 }
    }
    expect([evaluated({ var: 'value' }, { meta }), asked]).toEqual([through, 0])
    expect([evaluated({ var: 'meta.a' }, { meta }), asked]).toEqual([through, 1])
  })
})

describe('a trigger', () => {
  const to = (node: GraphNode, value: unknown) =>
    graphOf([value === undefined ? node : ({ ...node, to: value } as GraphNode)])

  test.each<[node: GraphNode, to: unknown, fitting: TriggerValue[], others: TriggerValue[]]>([
    [heat, undefined, [1, 'a', true, [1]], []],
    [heat, 31, [31], [30, '31', true, [31]]],
    [heat, 'on', ['on'], ['off', 1]],
    [heat, true, [true], [1, 'true', false]],
    [heat, false, [false], [0, null]],
    [heat, null, [null], [0, false, '']],
    [siren, undefined, [true, false], []],
    [siren, 'active', [true], [false]],
    [siren, 'inactive', [false], [true]],
    [gone, undefined, ['online', 'offline'], []],
    [gone, 'offline', ['offline'], ['online', 'idle']],
  ])('%j to %j accepts %j, but not %j', (node, value, fitting, others) => {
    const graph = new FunctionGraph('f', to(node, value))
    expect(fitting.map((input) => graph.fits(0, input))).toEqual(fitting.map(() => true))
    expect(others.map((input) => graph.fits(0, input))).toEqual(others.map(() => false))
  })

  test('is the only kind of node that accepts events', () => {
    expect(new FunctionGraph('f', graphOf([heat, mail], 'heat mail')).fits(1, 31)).toBe(false)
  })
})

/** Valid graphs: nodes in any order, without cycles. */
const graphs = fc
  .array(
    fc.record({
      kind: fc.constantFrom('condition', 'condition', 'throttle', 'email', 'trigger'),
      logic: fc.constantFrom<JsonValue[]>(
        ...[true, false, { var: 'value' }, { '>': [{ var: 'value' }, 1] }],
        ...[{ '>': [{ var: 'value' }, { var: 'previous' }] }, { '==': [{ var: ['previous', 1] }, 1] }],
        ...[{ '!': { var: 'meta.a.b' } }, { '+': [{ var: 'device' }] }],
      ),
      seconds: fc.constantFrom(1, 2, 3),
      inFront: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 63, size: 'max' },
  )
  .chain((drawn) => {
    const nodes: GraphNode[] = [{ ...gone, id: 'n0' }]
    const edges = new Map<string, [string, string]>()
    const lead = (from: GraphNode, to: GraphNode) => edges.set(`${from.id} ${to.id}`, [from.id, to.id])
    for (const [place, { kind, logic, seconds, inFront }] of drawn.entries()) {
      const id = `n${place + 1}`
      const leading = nodes.filter(({ type }) => type !== 'email')
      if (kind === 'trigger') {
        nodes.push({ ...heat, id })
        continue
      }
      const node: GraphNode =
        kind === 'condition'
          ? { id, type: 'condition', logic }
          : kind === 'throttle'
            ? { id, type: 'throttle', seconds }
            : { id, type: 'email', template: 'a' }
      for (const one of inFront) lead(leading[one % leading.length] as GraphNode, node)
      nodes.push(node)
    }
    // All triggers lead to one more node, if there is room, so that the graph is connected.
    const last: GraphNode = { id: 'last', type: 'condition', logic: true }
    for (const node of nodes) if (node.type === 'trigger') lead(node, last)
    const all = nodes.length < 64 ? [...nodes, last] : nodes
    const kept = [...edges.values()].filter(([, to]) => all.length > nodes.length || to !== 'last')
    return fc
      .shuffledSubarray(all, { minLength: all.length })
      .map((shuffled) => ({ nodes: shuffled, edges: kept.slice(0, 256) }))
  })
  .filter((graph) => Graph.safeParse(graph).success)

const states = fc.constantFrom<PropertyState[]>(null, 0, 1, 2, 'a', true, [1], { error: 'a' })

/** The reference: whether each node is passed, by recursion over the nodes before it. */
function plainRun({ nodes, edges }: Graph, start: GraphNode, input: RunInput): Map<string, string> {
  const outcomes = new Map<string, string>()
  const outcomeOf = (id: string): string => {
    const known = outcomes.get(id)
    if (known) return known
    const node = nodes.find((one) => one.id === id) as GraphNode
    const isEntered = node === start || edges.some(([from, to]) => to === id && outcomeOf(from) === 'through')
    const outcome = isEntered ? plainOutcome(node) : 'not entered'
    outcomes.set(id, outcome)
    return outcome
  }
  const plainOutcome = (node: GraphNode): string => {
    if (node.type === 'trigger') return 'through'
    if (node.type === 'email' || node.type === 'webhook') return 'mail'
    if (node.type === 'throttle') {
      const last = input.passedAt(`f/${node.id}`) ?? Number.NEGATIVE_INFINITY
      const isHeld = last <= input.time && last > input.time - node.seconds * 1_000
      return isHeld ? 'held' : 'through'
    }
    try {
      if (namesNeeded(node.logic).some((name) => read(name) === null)) return 'no value'
      return truth(evaluatePlainly(node.logic, read)) ? 'through' : 'false'
    } catch (error) {
      if (error instanceof NoOutcome) return 'error'
      throw error
    }
  }
  const read = (name: string): JsonValue => {
    if (name === 'meta.a.b') return input.meta()?.['a.b'] ?? null
    const value = { value: input.value, previous: input.previous, device: input.device }[name] ?? null
    return isJsonObject(value) ? null : (value as JsonValue)
  }
  for (const { id } of nodes) outcomeOf(id)
  return outcomes
}

function namesNeeded(logic: JsonValue): string[] {
  if (Array.isArray(logic)) return logic.flatMap(namesNeeded)
  if (!isJsonObject(logic)) return []
  return Object.entries(logic).flatMap(([operator, operand]) =>
    operator === 'var' ? (typeof operand === 'string' ? [operand] : []) : namesNeeded(operand),
  )
}

test('a run enters each node once, with the outcomes of the reference, for any graph', () => {
  const met = new Set<string>()
  let largest = 0
  forAll(
    [
      graphs,
      states,
      states,
      fc.dictionary(
        fc.integer({ min: 1, max: 63 }).map((place) => `f/n${place}`),
        fc.integer({ min: now - 4_000, max: now + 500 }),
      ),
      fc.constantFrom<(JsonObject | null)[]>(null, {}, { 'a.b': 0 }, { 'a.b': 1 }),
    ],
    200,
    (drawn, value, previous, stamps, meta) => {
      const graph = Graph.parse(drawn)
      largest = Math.max(largest, graph.nodes.length)
      const compiled = new FunctionGraph('f', graph)
      const input = happened({ value, previous, meta: () => meta, passedAt: (key) => stamps[key] })
      for (const [place, node] of graph.nodes.entries()) {
        if (node.type !== 'trigger') continue
        const outcomes = [...plainRun(graph, node, input)]
        const ids = (...wanted: string[]) =>
          outcomes.flatMap(([id, outcome]) => (wanted.includes(outcome) ? [id] : [])).sort()
        const entered: string[] = []
        const [mails, stamped, stopped]: string[][] = [[], [], []]
        let failures = 0
        const sink: RunSink & RunTrace = {
          entered: ({ id }) => entered.push(id),
          stopped: ({ id }) => stopped?.push(id),
          stamped: (key) => stamped?.push(key),
          reached: ({ id }) => mails?.push(id),
          failed: () => failures++,
        }
        compiled.run(place, input, sink, sink)
        const stops = ['held', 'false', 'no value', 'error']
        expect([...entered].sort()).toEqual(ids('through', 'mail', ...stops))
        expect(mails?.sort()).toEqual(ids('mail'))
        expect(stopped?.sort()).toEqual(ids(...stops))
        expect(failures).toBe(ids('error').length)
        const throttles = ids('through').map((id) => `f/${id}`)
        expect(stamped?.sort()).toEqual(throttles.filter((key) => compiled.throttles.has(key)))
        for (const [from, to] of graph.edges) {
          if (entered.includes(from) && entered.includes(to))
            expect(entered.indexOf(from)).toBeLessThan(entered.indexOf(to))
        }
        for (const [, outcome] of outcomes) met.add(outcome)
      }
    },
  )
  expect([...met].sort()).toEqual(['error', 'false', 'held', 'mail', 'no value', 'not entered', 'through'])
  expect(largest).toBeGreaterThan(40)
})

test('a run that stops everywhere allocates no memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const isHotter = { '>': [{ var: 'value' }, { var: ['previous', 0] }] }
  const logic = { and: [isHotter, { '==': [{ var: 'device' }, 'B'] }] }
  const hot: GraphNode = { id: 'hot', type: 'condition', logic }
  const nodes: GraphNode[] = [heat, hot, { id: 'hourly', type: 'throttle', seconds: 3_600 }, mail]
  const graph = new FunctionGraph('f', graphOf(nodes, 'heat hot, heat hourly, hot mail, hourly mail'))
  const stamps = new Map([['f/hourly', now - 1]])
  const input = happened({ passedAt: (key) => stamps.get(key) })
  const log = new RunLog()
  // Not only numbers: an array of numbers is unboxed, and each read would allocate.
  const values: PropertyState[] = ['100', ...Array.from({ length: 63 }, (_, number) => 28 + number / 3)]
  const runs = (count: number) => {
    for (let number = 0; number < count; number++) {
      input.value = values[number % values.length] as PropertyState
      graph.run(0, input, log)
    }
  }
  runs(200_000)
  // Few enough runs that no collection starts meanwhile; some rounds include memory of the test itself.
  const grown = Array.from({ length: 15 }, () => {
    collect()
    const before = process.memoryUsage().heapUsed
    runs(20_000)
    return process.memoryUsage().heapUsed - before
  })
  // One number on the heap in each run would be 320 KB.
  expect(grown.sort((a, b) => a - b)[7]).toBeLessThan(50_000)
  expect(log.effects).toEqual([])
})
