import { parseJson, validate } from '#http/validation'
import { FunctionBody } from '#model/function'
import { FunctionGraph, type RunInput, type TriggerValue } from '#rules/function-graph'
import { expectThat, refusing, seedsOf, type Target } from '#test/attacks/fuzz/target'

/** Reads JsonLogic in the graph of a function. */

export const seeds = seedsOf(
  { '>': [{ var: 'value' }, 30] },
  { and: [{ '<': [0, { var: 'previous' }, 100] }, { '!': { missing: ['value', 'meta.a'] } }] },
  { if: [{ in: [{ var: ['device', 'x'] }, ['A', 'B']] }, { '+': ['1', 2, -3] }, { '%': [7, { var: 'meta.n' }] }] },
  { '===': [{ max: [1, { min: [{ var: 'time' }, 2] }] }, { '/': [4, { '-': 2 }] }] },
  { or: [{ '!!': { var: 'meta' } }, { '!=': [{ var: 'meta.site.floor' }, null] }, { '*': [2, '3'] }] },
)

const values: readonly TriggerValue[] = [31, 'abc', '7', null, true, [1, 'a'], { error: 'broken' }]
const meta = { n: 3, site: { floor: 'x' }, 'site.floor': 0 }

export const fuzz: Target['fuzz'] = (bytes) =>
  refusing(
    () => {
      const nodes = [
        { id: 'when', type: 'trigger', on: 'status' },
        { id: 'if', type: 'condition', logic: parseJson(bytes) },
        { id: 'mail', type: 'email', template: 'too-hot' },
      ]
      const edges = [
        ['when', 'if'],
        ['if', 'mail'],
      ]
      const body = validate(FunctionBody, { name: 'F', binding: {}, graph: { nodes, edges } }) as FunctionBody
      const graph = new FunctionGraph('F', body.graph)
      for (const value of values) {
        const first = endOf(graph, value)
        expectThat(endOf(graph, value) === first, 'a condition is deterministic')
      }
    },
    'invalid',
    'bad_request',
  )

/** The mail that a run reaches, or the reason why it stops. */
function endOf(graph: FunctionGraph, value: TriggerValue): string {
  const ends: string[] = []
  const input: RunInput = {
    value,
    previous: 29,
    device: 'A',
    time: 1_790_000_000_000,
    meta: () => meta,
    passedAt: () => undefined,
  }
  graph.run(
    0,
    input,
    { stamped() {}, reached: ({ id }) => ends.push(id), failed() {} },
    { entered() {}, stopped: (_, because) => ends.push(because) },
  )
  const [end = ''] = ends
  expectThat(ends.length === 1 && /^(?:mail|false|error|no value: .)/s.test(end), `a run ends once: ${ends}`)
  return end
}
