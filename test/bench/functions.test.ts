import { expect, test } from 'vitest'
import { type FunctionManner, functionBody, functionGroupBody, loadTemplate } from '#bench/load/functions'
import { FunctionBody, templatesNamed } from '#model/function'
import { FunctionGraph } from '#rules/function-graph'

const fleet = { devices: 20, properties: 10, changes: 10, prefix: 'LOAD' }

test.each<[FunctionManner, mails: number]>([
  ['quiet', 0],
  ['throttled', 10],
  ['unthrottled', 10],
  ['elsewhere', 10],
])(
  'the function of a %s load is a good one, and each change begins a run that mails %i of ten times',
  (manner, mails) => {
    const { graph } = FunctionBody.parse(functionBody(manner, fleet, '9Pm4xQe7Jk'))
    expect([...templatesNamed(graph)]).toEqual([loadTemplate])
    const compiled = new FunctionGraph('F1', graph)
    const happening = { value: 7, previous: 6, device: 'A', time: 1, meta: () => ({}), passedAt: () => undefined }
    let count = 0
    const sink = { stamped() {}, failed: () => expect.fail('a condition fails'), reached: () => count++ }
    for (let trigger = 0; trigger < fleet.changes; trigger++) compiled.run(trigger, happening, sink)
    expect(count).toBe(mails)
  },
)

test('its group is the fleet, or as many others', () => {
  const devicesOf = (manner: FunctionManner) => (functionGroupBody(manner, fleet) as { devices: string[] }).devices
  expect(devicesOf('quiet')).toHaveLength(20)
  expect(devicesOf('quiet')).toEqual(devicesOf('unthrottled'))
  expect(devicesOf('elsewhere').filter((device) => devicesOf('quiet').includes(device))).toEqual([])
  expect(devicesOf('elsewhere')).toHaveLength(20)
})
