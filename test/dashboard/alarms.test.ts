import { expect, test } from 'vitest'
import { operandsOf, watchedProperty } from '#dashboard/conditions/rows'
import { bySeverityAndAge, type StatusRow } from '#dashboard/values/alarm-order'

const operands = operandsOf({
  name: 'Boiler',
  properties: {
    '0x2000': { name: 'temperature', type: 'float', unit: '°C' },
    '0x2001': { name: 'pressure', type: 'float' },
    '0x2002': { name: 'mode', type: 'uint8', enum: { 1: { name: 'Heating' } } },
    '0x2003': { name: 'label', type: 'string' },
  },
})
const variable = (name: string) => ({ var: name })

test.each([
  [{ '>': [variable('temperature'), 70] }, [0x2000, [70, '70 °C']]],
  [{ '<=': [variable('0x2001'), 1.5] }, [0x2001, [1.5, '1.5']]],
  [{ '<': [10, variable('temperature'), 30] }, [0x2000, [10, '10 °C'], [30, '30 °C']]],
  [{ and: [{ '==': [variable('mode'), 1] }, { '>': [variable('pressure'), 3] }] }, [0x2001, [3, '3']]],
  [
    {
      or: [
        { '<': [variable('temperature'), 5] },
        { '>': [variable('pressure'), 3] },
        { '>': [variable('temperature'), 90] },
      ],
    },
    [0x2000, [5, '5 °C'], [90, '90 °C']],
  ],
  // This is a property of a service without a schema.
  [{ '>': [variable('8192'), 1] }, [8192, [1, '1']]],
])('the condition %j has thresholds', (condition, [propId, ...thresholds]) => {
  expect(watchedProperty(condition, operands)).toEqual({
    propId,
    thresholds: thresholds.map((each) => ({ value: (each as unknown[])[0], label: (each as unknown[])[1] })),
  })
})

test.each([
  [{ '==': [variable('mode'), 1] }],
  [{ '==': [variable('label'), 'a'] }],
  [{ '!': variable('mode') }],
  [{ '>': [variable('no such name'), 3] }],
  [{ '>': [{ '+': [variable('temperature'), variable('pressure')] }, 3] }],
])('the condition %j has no thresholds', (condition) => {
  expect(watchedProperty(condition, operands)).toBeUndefined()
})

test('active alarms are sorted by severity and then by age', () => {
  const row = (deviceIdentifier: string, since: number, severity?: StatusRow['severity']): StatusRow => ({
    ...{ resourceIdentifier: 'crn#alarm:8Hj4wRt6Zp', deviceIdentifier, active: true, since, acknowledged: null },
    ...(severity && { severity }),
  })
  const rows = [
    row('E', 3),
    row('B', 2, 'critical'),
    row('D', 2, 'info'),
    row('A', 1, 'critical'),
    row('C', 1, 'warning'),
  ]
  expect(
    rows
      .toSorted(bySeverityAndAge)
      .map((each) => each.deviceIdentifier)
      .join(''),
  ).toBe('ABCDE')
})
