import { describe, expect, expectTypeOf, test } from 'vitest'
import { type EventOf, type EventType, eventKinds, type StreamEvent } from '#model/event'
import { modifierOf } from '#model/modifier'

const at = { timestamp: 1_700_000_000_000, offset: 7 }
const device = { deviceIdentifier: 'DEV-1' }
const service = { serviceIdentifier: '0f8fad5b-d9cb-469f-a165-70867728950e' }
const alarm = { resourceIdentifier: 'crn#alarm:2Vb7qYx9Kd' }
const subscription = { resourceIdentifier: 'crn#subscription:2Vb7qYx9Kd' }
const property = { tag: 'value', modifier: modifierOf(0), propId: 8192, type: 'UINT8', value: 7, timestamp: 1 }
const schema = { name: 'Climate', properties: { '0x2000': { name: 'Fan', type: 'uint8' } } }

/** [type, resource, concerns device, concerns service, audience, fields]: contract 4, line by line. */
const table: [EventType, string, boolean, boolean, string, Record<string, unknown>][] = [
  ['OBJECT_UPDATED', 'service', true, true, 'scope', { flakeAddress: 1, ...device, ...service, updates: [property] }],
  [
    ...(['DESIRED_UPDATED', 'service', true, true, 'scope'] as const),
    { ...device, ...service, desired: { '8192': { value: 7, since: 1, status: 'SENT' } } },
  ],
  ['DEVICE_ADD', 'device', true, false, 'scope', device],
  ['DEVICE_DELETE', 'device', true, false, 'scope', device],
  ['DEVICE_DISCOVERY', 'updates', true, false, 'scope', { flakeAddress: 1, ...device, updates: [property] }],
  [
    ...(['META_STATUS_CHANGE', 'meta', true, false, 'scope'] as const),
    { ...device, status: 'online', lastMessage: 1, lastConnect: 1, numConnects: 1 },
  ],
  ['META_SET', 'meta', true, false, 'scope', { ...device, meta: { site: { name: 'north' } } }],
  ['META_DELETE', 'meta', true, false, 'scope', { ...device, key: 'site' }],
  ['SCHEMA_ADD', 'schemas', false, true, 'scope', { ...service, schema }],
  ['SCHEMA_UPDATE', 'schemas', false, true, 'scope', { ...service, schema }],
  ['SCHEMA_DELETE', 'schemas', false, true, 'scope', service],
  ['NOTIFICATION_SUBSCRIBE', 'notifications', false, false, 'owner', { ...subscription, payload: { type: 'email' } }],
  [
    ...(['NOTIFICATION_SUBSCRIPTION_UPDATE', 'notifications', false, false, 'owner'] as const),
    { ...subscription, payload: { type: 'email' } },
  ],
  ['NOTIFICATION_UNSUBSCRIBE', 'notifications', false, false, 'owner', { ...subscription, payload: {} }],
  ['ALARM_CONFIG_UPDATE', 'alarms', false, false, 'scope', { ...alarm, payload: { name: 'hot' } }],
  ['ALARM_STATUS_ACTIVE', 'alarms', true, false, 'scope', { ...alarm, ...device, since: 1 }],
  ['ALARM_STATUS_INACTIVE', 'alarms', true, false, 'scope', { ...alarm, ...device, since: 1 }],
  [
    ...(['ALARM_STATUS_ACKNOWLEDGED', 'alarms', true, false, 'scope'] as const),
    { ...alarm, ...device, since: 1, by: 'crn#user:2Vb7qYx9Kd', comment: 'seen' },
  ],
  ['UPDATE_STATUS', 'updates', true, false, 'scope', { ...device, index: 0, status: 'DOWNLOADING', progress: 12.5 }],
]

test('the table contains the whole contract', () => {
  expect(Object.keys(eventKinds).sort()).toEqual(table.map(([type]) => type).sort())
})

describe.each(table)('the event %s', (type, resource, hasDevice, hasService, audience, fields) => {
  test('has its row', () => {
    expect(eventKinds[type]).toMatchObject({ resource, hasDevice, hasService, audience })
    expect('deviceIdentifier' in fields).toBe(hasDevice)
    expect('serviceIdentifier' in fields).toBe(hasService)
  })
})

test('only alarm events need access to all devices of their binding', () => {
  expect(Object.entries(eventKinds).filter(([, kind]) => 'isBound' in kind)).toEqual([
    ['ALARM_CONFIG_UPDATE', expect.objectContaining({ isBound: true, hasDevice: false })],
  ])
})

test('an update event has a state of the machine and the firmware of a device', () => {
  const schema = eventKinds.UPDATE_STATUS.schema
  const event = { type: 'UPDATE_STATUS', ...at, ...device, index: 255, status: 'VERIFYING' }
  expect(schema.parse(event)).toEqual(event)
  for (const wrong of [{ status: 'verifying' }, { status: 'PAUSED' }, { index: 256 }, { progress: 101 }]) {
    expect(schema.safeParse({ ...event, ...wrong }).success).toBe(false)
  }
})

test('events are distinguished by type', () => {
  const read = (event: StreamEvent): string | number => (event.type === 'META_DELETE' ? event.key : event.offset)
  expect(read({ type: 'META_DELETE', ...at, ...device, key: 'site' })).toBe('site')
  expectTypeOf<EventOf<'OBJECT_UPDATED'>['flakeAddress']>().toEqualTypeOf<number>()
  expectTypeOf<EventOf<'DEVICE_ADD'>['type']>().toEqualTypeOf<'DEVICE_ADD'>()
})
