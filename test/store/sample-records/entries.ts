import type { StoredAlarm } from '#model/alarm'
import type { Entry, Reported } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import { contentOf, type ShapeProperty } from '#model/shape'
import { keys } from '#store/key-space'
import { packRecord } from '#store/record-codec'
import { Shapes, shapeFormat } from '#store/shapes'
import { subscription } from '#test/store/sample-records/subscription'

/** Stored entries of every kind. */

export const at = 1_763_700_000_000
export const device = { kind: 'device', tenant: 'default', id: '#$ABC-1' }
export const tenant = { kind: 'tenant', tenant: 'default', id: 'default' }

const properties: ShapeProperty[] = [
  ['uint8', 1, 0],
  ['float', 0x2000, 1],
  ['string', 0x2001, 2],
  ['int64', 0x2002, 4],
  ['uint16-array', 0xffffffff, 16],
].map(([name, propId, modifier]) => {
  const type = propertyTypeOf(name as string)
  if (!type) throw new Error(`${name} is no type`)
  return { propId: propId as number, type, modifier: modifier as number }
})

/** Finds the shape by its stored record. */
export const written = new Shapes(() => undefined).intern('11111111-2222-3333-4444-555555555555', properties)
const shapeRecord = packRecord(shapeFormat, contentOf(written.serviceIdentifier, written.properties))
export const shapes = new Shapes((key) => (key === keys.shape(written.id) ? shapeRecord : undefined))
export const shape = shapes.byId(written.id)

export const schema = {
  name: 'Heizung',
  description: 'Keller, "links"',
  properties: { '0x2000': { name: 'Temperatur', type: 'float', unit: '°C', rangeMin: -40, rangeMax: 120.5 } },
  kept: [null, true, { as: 'it came' }],
}

/** Entries of the first release, which are also one chunk together. */
export const firstEntries: readonly Entry[] = [
  {
    kind: 'reported',
    device: device.id,
    flakeAddress: 4_294_967_295,
    shape,
    at,
    timestamp: at - 90_000,
    seq: 9_007_199_254_740_991,
    session: '0b9f3c1e-8c7a-4a51-9d0e-2f1b5a6c7d8e',
    items: [0, 255, 1, -0.1, 2, 'grün 😀', 3, '-9223372036854775808', 4, [1, 65_535], 1, { error: 'Fühler ab' }],
  },
  {
    kind: 'declared',
    device: device.id,
    flakeAddress: 1,
    shape,
    at,
    items: [2, ''],
    removed: [{ propId: 7, type: 'binary', modifier: 3 }],
  },
  {
    kind: 'undeclared',
    device: device.id,
    flakeAddress: 1,
    service: 'svc.1_a:b-c',
    at,
    removed: [{ propId: 7, type: 'bool-array', modifier: 16 }],
  },
  { kind: 'device_added', device: device.id, flakeAddress: 1, at },
  { kind: 'device_removed', device: device.id, flakeAddress: 1, at },
  {
    kind: 'status_changed',
    device: device.id,
    at,
    status: 'idle',
    lastMessage: at - 5,
    lastConnect: 0,
    numConnects: 3,
  },
  {
    kind: 'discovered',
    device: device.id,
    flakeAddress: 1,
    at,
    project: 'boiler',
    firmwares: [
      { firmware: '1.2.3-rc.1', hardware: 'revA', index: 0 },
      { firmware: '0.1.0', index: 3 },
    ],
    isAutoUpdated: false,
  },
  { kind: 'meta_set', device: device.id, at, meta: { place: 'Keller', nested: { list: [1, null, -2.5, 'x'] } } },
  { kind: 'meta_deleted', device: device.id, at, key: 'place' },
  { kind: 'schema_set', service: shape.serviceIdentifier, at, isNew: true, schema },
  { kind: 'schema_deleted', service: shape.serviceIdentifier, at },
]

export const alarm: StoredAlarm = {
  name: 'Zu heiß',
  severity: 'critical',
  serviceIdentifier: shape.serviceIdentifier,
  condition: { and: [{ '>': [{ var: 'Temperatur' }, 30.5] }, { '!': [{ missing: ['0x2001'] }] }] },
  forSeconds: 604_800,
  devices: [device.id, 'A'],
  groups: ['5Kd9tVw3Cx'],
  createdBy: 'crn#user:2Vb7qYx9Kd',
  createdAt: at - 1_000,
  updatedBy: 'crn#key:4Qm8sUx2Bw',
  updatedAt: at,
  edit: 281_474_976_710_655,
}

const waiting: Reported = {
  kind: 'reported',
  device: device.id,
  flakeAddress: 77,
  shape,
  at,
  timestamp: at,
  seq: 5,
  items: [1, 31.5],
  alarms: ['7Lf2wZs6Dy', at, '8Mg3xAt7Ez', 0],
}

const stamped: Reported = { ...waiting, throttles: ['6Hn3wRt5Mz/once-an-hour', at, '6Hn3wRt5Mz/2', at - 1] }
const { alarms: _, ...unwaiting } = stamped

/** Later entries, with the names of their samples. */
export const laterEntries: readonly (readonly [name: string, entry: Entry])[] = [
  ['alarm-set', { kind: 'alarm_set', alarm: '7Lf2wZs6Dy', at, stored: alarm }],
  ['alarm-deleted', { kind: 'alarm_deleted', alarm: '7Lf2wZs6Dy', at, devices: null, groups: ['5Kd9tVw3Cx'] }],
  [
    'alarm-changed',
    { kind: 'alarm_changed', device: device.id, alarm: '7Lf2wZs6Dy', at, isActive: true, since: at - 60_000 },
  ],
  [
    'alarm-changed-at-its-end',
    { kind: 'alarm_changed', device: device.id, alarm: '7Lf2wZs6Dy', at, isActive: false, since: at, isEnded: true },
  ],
  ['reported-with-alarms', waiting],
  ['reported-with-session-and-alarms', { ...waiting, session: '' }],
  [
    'update-changed',
    {
      kind: 'update_changed',
      device: device.id,
      at,
      index: 3,
      status: 'downloading',
      firmware: '1.2.3-rc.1+7',
      progress: 12.5,
      message: 'über Funk',
    },
  ],
  ['update-changed-bare', { kind: 'update_changed', device: device.id, at, index: 0, status: 'refused' }],
  ['reported-with-throttles', unwaiting],
  ['reported-with-session-and-throttles', { ...unwaiting, session: 's-1' }],
  ['reported-with-alarms-and-throttles', stamped],
  ['reported-with-everything', { ...stamped, session: '' }],
  ['subscribed', { kind: 'subscribed', at, user: subscription.createdBy, stored: subscription }],
  [
    'subscription-updated',
    {
      kind: 'subscription_updated',
      at: at + 1,
      user: subscription.createdBy,
      stored: { ...subscription, locale: 'de', origin: '' },
    },
  ],
  ['unsubscribed', { kind: 'unsubscribed', at, user: 'crn#user:anonymous', subscription: subscription.id }],
  [
    'alarm-acknowledged',
    {
      ...{ kind: 'alarm_acknowledged', device: device.id, alarm: '7Lf2wZs6Dy', at, since: at - 60_000 },
      ...{ by: subscription.createdBy, comment: 'Küche' },
    },
  ],
  [
    'alarm-changed-with-value',
    { kind: 'alarm_changed', device: device.id, alarm: '7Lf2wZs6Dy', at, isActive: false, since: at, value: [1, 'x'] },
  ],
  [
    'desired-set',
    {
      ...{ kind: 'desired_set', device: device.id, service: 'light', at },
      items: [
        { propId: 1, value: 5, since: at, id: 'a', status: 'PENDING' },
        { propId: 2, value: 'x', since: at, id: 'a', status: 'REJECTED', message: 'zu groß' },
      ],
    },
  ],
]
