import { describe, expect, test } from 'vitest'
import type { RunData } from '#model/delivery'
import { ServiceSchema } from '#model/service-schema'
import { dataOf, type RunContext, webhookDataOf } from '#notifications/mail-data'

const run: RunData = {
  device: 'PUMP-7',
  at: 1_700_000_000_000,
  value: 91.5,
  previous: 20,
  cause: { on: 'property', service: 'heat', propId: 0x2000 },
}
const schema = ServiceSchema.parse({ name: 'Heating', properties: { '0x2000': { name: 'temperature' } } })
const around: RunContext = { functionName: 'Too hot', meta: { site: { floor: 3 } } }

const common = {
  value: 91.5,
  previous: 20,
  device: 'PUMP-7',
  deviceIdentifier: 'PUMP-7',
  time: 1_700_000_000_000,
  date: '2023-11-14T22:13:20.000Z',
  meta: { site: { floor: 3 } },
  function: 'Too hot',
}

test.each<[name: string, cause: RunData['cause'], more: Partial<RunContext>, expected: object]>([
  ['a property without a schema', run.cause, {}, { on: 'property', service: 'heat', property: '0x2000' }],
  ['a property with its names', run.cause, { schema }, { on: 'property', service: 'Heating', property: 'temperature' }],
  [
    'a property that the schema lacks',
    { on: 'property', service: 'heat', propId: 1 },
    { schema },
    { on: 'property', service: 'Heating', property: '0x0001' },
  ],
  [
    'an alarm',
    { on: 'alarm', alarm: '2Vb7qYx9Kd' },
    { alarm: { name: 'Fire', severity: 'critical' } },
    { on: 'alarm', alarm: 'Fire' },
  ],
  [
    'an acknowledged alarm',
    { on: 'alarm', alarm: '2Vb7qYx9Kd' },
    { acknowledged: { by: 'crn#user:2Vb7qYx9Kd', name: 'ann', at: 1_700_000_000_000, comment: null } },
    {
      ...{ on: 'alarm', alarm: '2Vb7qYx9Kd' },
      acknowledged: { by: 'ann', date: '2023-11-14T22:13:20.000Z', comment: null },
    },
  ],
  ['a deleted alarm', { on: 'alarm', alarm: '2Vb7qYx9Kd' }, {}, { on: 'alarm', alarm: '2Vb7qYx9Kd' }],
  ['a status', { on: 'status' }, {}, { on: 'status' }],
])('the data of a template: %s', (_, cause, more, expected) => {
  expect(dataOf({ ...run, cause }, { ...around, ...more })).toEqual({ ...common, ...expected })
})

describe('the data of a webhook', () => {
  const acknowledged = { by: 'crn#user:2Vb7qYx9Kd', name: 'ann', at: 1_700_000_000_000, comment: null }
  const alarm = { resourceIdentifier: 'crn#alarm:2Vb7qYx9Kd' }

  test.each<[string, Partial<RunData>, Partial<RunContext>, object]>([
    [
      'a property with a schema',
      { value: 31, previous: null, cause: { on: 'property', service: 'heat', propId: 0x2000 } },
      { schema },
      { value: 31, service: 'heat', property: 'temperature' },
    ],
    [
      'a property without one',
      { value: false, previous: true, cause: { on: 'property', service: 'heat', propId: 1 } },
      {},
      { value: false, previous: true, service: 'heat', property: '0x0001' },
    ],
    [
      'an acknowledged alarm',
      { value: true, previous: false, cause: { on: 'alarm', alarm: '2Vb7qYx9Kd' } },
      { alarm: { name: 'Fire', severity: 'critical' }, acknowledged },
      { value: true, previous: false, alarm: { ...alarm, name: 'Fire', severity: 'critical', acknowledged } },
    ],
    [
      'an alarm that the author may not read',
      { value: true, previous: false, cause: { on: 'alarm', alarm: '2Vb7qYx9Kd' } },
      {},
      { value: true, previous: false, alarm: { ...alarm, acknowledged: null } },
    ],
    [
      'a status',
      { value: 'offline', previous: 'online', cause: { on: 'status' } },
      {},
      { value: 'offline', previous: 'online' },
    ],
    [
      'a value that is cut',
      { value: Array(65).fill(1), previous: 'short', cause: { on: 'status' } },
      {},
      { value: Array(64).fill(1), previous: 'short', truncated: ['value'] },
    ],
  ])('about %s', (_, more, surroundings, expected) => {
    const data = webhookDataOf({ ...run, ...more }, { ...around, ...surroundings })
    expect(data).toEqual({ function: around.functionName, device: run.device, meta: around.meta, ...expected })
  })
})
