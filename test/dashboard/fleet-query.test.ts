import { describe, expect, test } from 'vitest'
import { type Condition, defaultView, deviceToCheck, type FleetView, fleetQueryOf } from '#dashboard/pages/fleet/view'
import type { StreamEvent } from '#model/event'

const condition: Condition = { serviceIdentifier: 'heat', propId: 0x2000, operator: '≠', value: '20' }

test.each<[Partial<FleetView>, ReturnType<typeof fleetQueryOf>]>([
  [{}, {}],
  [{ search: ' hall 3 ' }, { search: 'hall 3' }],
  [{ status: 'idle' }, { filter: '{"and":[{"==":[{"var":"status"},"idle"]}]}' }],
  [
    { service: 'heat', condition },
    { filter: '{"and":[{"var":"services.heat"},{"!=":[{"var":"services.heat.0x2000"},20]}]}' },
  ],
])('the view %j has the query %j', (part, query) => {
  expect(fleetQueryOf({ ...defaultView, ...part }, 20)).toEqual(query)
})

describe('an event can make it necessary to check a device', () => {
  const event = (type: string, more: object = {}) =>
    ({ type, deviceIdentifier: 'A', ...more }) as unknown as StreamEvent
  const report = (value: unknown, more: object = {}) =>
    event('OBJECT_UPDATED', { serviceIdentifier: 'heat', updates: [{ propId: 0x2000, tag: 'value', value, ...more }] })
  const check = (received: StreamEvent, part: Partial<FleetView>, isShown: boolean, wanted: number | string = 20) =>
    deviceToCheck(received, { ...defaultView, ...part }, wanted, { isShown: () => isShown, receivesAdded: false })

  test.each<[StreamEvent, Partial<FleetView>, isShown: boolean, isChecked: boolean]>([
    [event('DEVICE_ADD'), {}, false, true],
    [event('DEVICE_DELETE'), { search: 'x' }, true, true],
    [event('META_STATUS_CHANGE'), {}, true, false],
    [event('META_STATUS_CHANGE'), { status: 'idle' }, true, true],
    [event('META_SET'), {}, true, false],
    [event('META_SET'), { search: 'x' }, false, true],
    [event('META_DELETE'), { search: 'x' }, true, true],
    [event('DEVICE_DISCOVERY'), { search: '1.2' }, false, true],
    [event('ALARM_STATUS_ACTIVE'), { search: 'x' }, true, false],
    // A user who can read only services gets no DEVICE_ADD and no DEVICE_DELETE.
    [report(1), {}, false, true],
    [report(1), {}, true, false],
    [report(undefined, { tag: 'removed' }), {}, true, true],
    [report(1), { service: 'heat' }, false, true],
    [report(1), { service: 'light' }, false, false],
    [report(1), { search: 'x' }, false, false],
    [report(1), { status: 'idle' }, false, false],
    [report(20), { condition }, true, true],
    [report(21), { condition }, true, false],
    [report(21), { condition }, false, true],
    [report(20), { condition }, false, false],
    [report(1, { propId: 1 }), { condition }, false, false],
  ])('%j with view %j, where the device is shown: %j, makes it necessary: %j', (received, part, isShown, isChecked) => {
    expect(check(received, part, isShown)).toBe(isChecked ? 'A' : undefined)
  })

  test.each<[Condition['operator'], wanted: number | string, value: unknown, isMet: boolean]>([
    ['>', 20, 21, true],
    ['>', 20, 20, false],
    ['>=', 20, 20, true],
    ['<', 20, 19, true],
    ['<=', 20, 21, false],
    ['=', 'low', 'low', true],
    ['=', 1, true, true],
    ['=', 0, true, false],
    ['≠', 0, undefined, false],
    ['≠', 0, [1], false],
  ])('the condition %s %j with a report of %j makes it necessary: %j', (operator, wanted, value, isMet) => {
    const part = { condition: { ...condition, operator } }
    expect(check(report(value), part, false, wanted)).toBe(isMet ? 'A' : undefined)
  })
})
