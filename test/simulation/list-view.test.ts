import { expect, test } from 'vitest'
import { AlarmView } from '#test/simulation/list-view'

const rowsOf = (active: boolean) => [
  { resourceIdentifier: 'crn#alarm:a', deviceIdentifier: 'D0', active, since: 1, acknowledged: null },
]
const event = (type: string, offset: number) => ({
  ...{ type, offset, resourceIdentifier: 'crn#alarm:a', deviceIdentifier: 'D0', since: 1 },
})

test('a list has the offset of its read until a later event arrives', () => {
  const view = new AlarmView()
  view.replace([], 17)
  expect(view.position).toBe(17)
  view.receive(event('META_SET', 18))
  expect(view.position).toBe(18)
  view.positioned(21)
  view.positioned(20)
  expect(view.position).toBe(21)
  view.receive(event('ALARM_STATUS_ACTIVE', 19))
  expect([view.position, view.faults({ listAlarmStatus: [] }, [], { count: () => {} } as never)]).toEqual([21, []])
})

test('of the events that arrive during the read, those after its offset are applied', () => {
  const view = new AlarmView()
  view.receive(event('ALARM_STATUS_INACTIVE', 16))
  view.receive(event('ALARM_STATUS_ACTIVE', 18))
  view.receive(event('META_SET', 19))
  view.replace(rowsOf(false), 17)
  expect(view.position).toBe(18)
  const everything = [{ permissions: { '*': ['*' as const] }, devices: ['*' as const], services: ['*' as const] }]
  const faults = view.faults({ listAlarmStatus: rowsOf(true) }, everything as never, { count: () => {} } as never)
  expect(faults).toEqual([])
})
