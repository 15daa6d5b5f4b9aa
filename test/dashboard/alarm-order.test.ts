import { expect, test } from 'vitest'
import { bySeverityAndAge, type StatusRow } from '#dashboard/values/alarm-order'

test('active alarms are in the order of severity, then of age', () => {
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
