import { describe, expect, test } from 'vitest'
import { AlarmBody, AlarmEntry, alarmEntryOf, forSecondsMax, type StoredAlarm } from '#model/alarm'

const body = {
  name: 'Too hot',
  severity: 'critical',
  serviceIdentifier: 'Climate',
  condition: { '>': [{ var: 'Temperature' }, 80] },
} as const

const stored: StoredAlarm = {
  ...{ ...body, forSeconds: 60, devices: null, groups: null, edit: 3 },
  ...{ createdBy: 'crn#user:2Vb7qYx9Kd', createdAt: 1, updatedBy: 'crn#user:3Vb7qYx9Kd', updatedAt: 2 },
}

describe('an alarm', () => {
  test.each<[what: string, more: object, parsed: object]>([
    ['about all devices', {}, {}],
    ['about none', { devices: [], groups: [] }, { devices: [], groups: [] }],
    ['about some', { devices: ['b', 'a', 'B'] }, { devices: ['A', 'B'] }],
    ['about groups', { groups: ['crn#group:7yPq2mVx4C'] }, { groups: ['7yPq2mVx4C'] }],
    ['with a duration', { forSeconds: forSecondsMax }, { forSeconds: forSecondsMax }],
  ])('an alarm %s is accepted', (_, more, parsed) => {
    expect(AlarmBody.parse({ ...body, ...more })).toEqual({ ...body, ...parsed })
  })

  test.each<[what: string, more: object, path: string]>([
    ['without a name', { name: undefined }, 'name'],
    ['of a long name', { name: 'a'.repeat(129) }, 'name'],
    ['of another severity', { severity: 'fatal' }, 'severity'],
    ['of an invalid service', { serviceIdentifier: 'a b' }, 'serviceIdentifier'],
    ['without a condition', { condition: undefined }, 'condition'],
    ['with an unknown operator', { condition: { and: [{ var: 'a' }, { cat: [1] }] } }, 'condition.and.1'],
    ['that reads no property', { condition: { '>': [2, 1] } }, 'condition'],
    ['with a fraction of a second as duration', { forSeconds: 0.5 }, 'forSeconds'],
    ['with a negative duration', { forSeconds: -1 }, 'forSeconds'],
    ['with a duration above the maximum', { forSeconds: forSecondsMax + 1 }, 'forSeconds'],
    ['on all devices by `*`', { devices: ['*'] }, 'devices.0'],
    ['with devices that are null', { devices: null }, 'devices'],
    ['with an unknown field', { edit: 1 }, ''],
  ])('an alarm %s is refused', (_, more, path) => {
    const { error } = AlarmBody.safeParse({ ...body, ...more })
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })

  test('an alarm is shown as it was put, with its author, and with a binding only if it has one', () => {
    const { edit: _, devices: __, groups: ___, ...shown } = stored
    const entry = alarmEntryOf('7yPq2mVx4C', stored)
    expect(entry).toStrictEqual({ ...shown, resourceIdentifier: 'crn#alarm:7yPq2mVx4C' })
    expect(AlarmEntry.parse(entry)).toEqual(entry)
    const bound = { devices: ['A'], groups: [] }
    expect(alarmEntryOf('7yPq2mVx4C', { ...stored, ...bound })).toEqual({ ...entry, ...bound })
  })
})
