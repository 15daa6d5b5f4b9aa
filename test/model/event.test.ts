import { expect, test } from 'vitest'
import { type EventType, eventKinds } from '#model/event'

/** [type, resource, concerns device, concerns service, audience]: contract 4, line by line. `test/events/wire-format` has the fields. */
const table: [EventType, string, boolean, boolean, string][] = [
  ['OBJECT_UPDATED', 'service', true, true, 'scope'],
  ['DESIRED_UPDATED', 'service', true, true, 'scope'],
  ['DEVICE_ADD', 'device', true, false, 'scope'],
  ['DEVICE_DELETE', 'device', true, false, 'scope'],
  ['DEVICE_DISCOVERY', 'updates', true, false, 'scope'],
  ['META_STATUS_CHANGE', 'meta', true, false, 'scope'],
  ['META_SET', 'meta', true, false, 'scope'],
  ['META_DELETE', 'meta', true, false, 'scope'],
  ['SCHEMA_ADD', 'schemas', false, true, 'scope'],
  ['SCHEMA_UPDATE', 'schemas', false, true, 'scope'],
  ['SCHEMA_DELETE', 'schemas', false, true, 'scope'],
  ['NOTIFICATION_SUBSCRIBE', 'notifications', false, false, 'owner'],
  ['NOTIFICATION_SUBSCRIPTION_UPDATE', 'notifications', false, false, 'owner'],
  ['NOTIFICATION_UNSUBSCRIBE', 'notifications', false, false, 'owner'],
  ['ALARM_CONFIG_UPDATE', 'alarms', false, false, 'scope'],
  ['ALARM_STATUS_ACTIVE', 'alarms', true, false, 'scope'],
  ['ALARM_STATUS_INACTIVE', 'alarms', true, false, 'scope'],
  ['ALARM_STATUS_ACKNOWLEDGED', 'alarms', true, false, 'scope'],
  ['UPDATE_STATUS', 'updates', true, false, 'scope'],
]

test('the table contains the whole contract', () => {
  expect(Object.keys(eventKinds).sort()).toEqual(table.map(([type]) => type).sort())
})

test.each(table)('the event %s has its row', (type, resource, hasDevice, hasService, audience) => {
  expect(eventKinds[type]).toMatchObject({ resource, hasDevice, hasService, audience })
})

test('only alarm events need access to all devices of their binding', () => {
  expect(Object.entries(eventKinds).filter(([, kind]) => 'isBound' in kind)).toEqual([
    ['ALARM_CONFIG_UPDATE', expect.objectContaining({ isBound: true, hasDevice: false })],
  ])
})
