import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundOf, deviceOf, encode, encodeStripped, ownerOf, serviceOf, typeOf } from '#events/wire-format'
import type { Entry, PropertyState } from '#model/entry'
import { eventKinds } from '#model/event'
import type { Property } from '#model/property'
import type { ShapeProperty } from '#model/shape'
import { storedAlarm } from '#test/rules/stored-rules'
import { entry, entryKinds, entryOf } from '#test/store/entry-arbitrary'
import { subscription } from '#test/store/sample-records/subscription'

const offset = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

test.each(entryKinds)('every kind of entry becomes an event of the model: %s', (kind) => {
  fc.assert(
    fc.property(entryOf[kind] as fc.Arbitrary<Entry>, offset, (given, offset) => {
      const event = eventKinds[typeOf(given)].schema.parse(JSON.parse(encode(given, offset)))
      expect(event).toMatchObject({
        type: typeOf(given),
        offset,
        timestamp: given.kind === 'reported' ? given.timestamp : given.at,
      })
      // The event has only fields of the model, in their exact form.
      expect(JSON.parse(encode(given, offset))).toEqual(event)
    }),
    { numRuns: 150 },
  )
})

test('device, service, owner and bindings of an entry, which decide the receivers, are those of its event', () => {
  fc.assert(
    fc.property(entry, (given) => {
      const event = JSON.parse(encode(given, 1)) as { deviceIdentifier?: string; serviceIdentifier?: string }
      const kind = eventKinds[typeOf(given)]
      expect(deviceOf(given)).toBe(kind.hasDevice ? event.deviceIdentifier : undefined)
      expect(serviceOf(given)).toBe(kind.hasService ? event.serviceIdentifier : undefined)
      expect(boundOf(given) !== undefined).toBe('isBound' in kind)
      expect(ownerOf(given) !== undefined).toBe(kind.audience === 'owner')
      if (kind.hasDevice) expect(event.deviceIdentifier).toBeDefined()
      if (kind.hasService) expect(event.serviceIdentifier).toBeDefined()
    }),
    { numRuns: 300 },
  )
})

test('an alarm event has the alarm in the form of the API, or its state on a device', () => {
  const stored = storedAlarm({ forSeconds: 60, devices: ['A'], updatedBy: 'crn#key:4Qm8sUx2Bw', updatedAt: 2 })
  const encoded = (entry: Entry) => JSON.parse(encode(entry, 9)) as unknown
  const alarm = '7Lf2wZs6Dy'
  const resourceIdentifier = 'crn#alarm:7Lf2wZs6Dy'
  const { edit: _, groups, ...shown } = stored
  const updated = { type: 'ALARM_CONFIG_UPDATE', timestamp: 5, offset: 9, resourceIdentifier }
  const set: Entry = { kind: 'alarm_set', alarm, at: 5, stored }
  expect(encoded(set)).toEqual({ ...updated, payload: { ...shown, resourceIdentifier } })
  expect(boundOf(set)).toMatchObject({ devices: ['A'], groups })
  const deleted: Entry = { kind: 'alarm_deleted', alarm, at: 5, devices: null, groups: ['G'] }
  expect(encoded(deleted)).toEqual({ ...updated, payload: {} })
  expect(boundOf(deleted)).toMatchObject({ devices: null, groups: ['G'] })
  const changed = { kind: 'alarm_changed', device: '"A', alarm, at: 5, since: 4 } as const
  const status = { timestamp: 5, offset: 9, resourceIdentifier, deviceIdentifier: '"A', since: 4 }
  expect(encoded({ ...changed, isActive: true })).toEqual({ type: 'ALARM_STATUS_ACTIVE', ...status })
  const ended = { type: 'ALARM_STATUS_INACTIVE', ...status }
  expect(encoded({ ...changed, isActive: false })).toEqual(ended)
  expect(encoded({ ...changed, isActive: false, isEnded: true, value: 7 })).toEqual(ended)
  const by = 'crn#user:2Vb7qYx9Kd'
  const seen = { kind: 'alarm_acknowledged', device: '"A', alarm, at: 5, since: 4, by } as const
  expect(encoded(seen)).toEqual({ type: 'ALARM_STATUS_ACKNOWLEDGED', ...status, by })
  expect(encoded({ ...seen, comment: '"' })).toEqual({ type: 'ALARM_STATUS_ACKNOWLEDGED', ...status, by, comment: '"' })
})

test('a subscription event has the subscription in the form of the API, or only its name at its end', () => {
  const user = 'crn#user:2Vb7qYx9Kd'
  const shown = {
    topic: 'crn#function:6Hn3wRt5Mz',
    type: 'email',
    locale: 'de-CH',
    resourceIdentifier: 'crn#subscription:5Tn2bGh9Kd',
    createdBy: user,
    createdAt: subscription.createdAt,
  }
  const encoded = (entry: Entry) => [ownerOf(entry), JSON.parse(encode(entry, 9)) as unknown]
  const rest = { timestamp: 5, offset: 9, resourceIdentifier: 'crn#subscription:5Tn2bGh9Kd' }
  for (const [kind, type] of [
    ['subscribed', 'NOTIFICATION_SUBSCRIBE'],
    ['subscription_updated', 'NOTIFICATION_SUBSCRIPTION_UPDATE'],
  ] as const) {
    expect(encoded({ kind, at: 5, user, stored: subscription })).toEqual([user, { type, ...rest, payload: shown }])
  }
  const type = 'NOTIFICATION_UNSUBSCRIBE'
  const ended = encoded({ kind: 'unsubscribed', at: 5, user, subscription: '5Tn2bGh9Kd' })
  expect(ended).toEqual([user, { type, ...rest, payload: {} }])
})

/** The fields of one item of an update event. */
function expectedItem({ propId, type, modifier }: ShapeProperty, state: PropertyState): Partial<Property> {
  const isError = typeof state === 'object' && state !== null && !Array.isArray(state)
  const flags = { isReadOnly: (modifier & 1) > 0, isActionable: (modifier & 2) > 0, isVolatile: (modifier & 4) > 0 }
  return {
    tag: isError ? 'error' : 'value',
    propId,
    type: type.wireName,
    modifier: { ...flags, isError, isArray: type.isArray },
    ...(isError ? { error: (state as { error: string }).error } : { value: state as Property['value'] }),
  }
}

/** The properties of a report with their states, in order. */
function itemsOf(given: Extract<Entry, { kind: 'reported' | 'declared' }>) {
  return Array.from({ length: given.items.length / 2 }, (_, at) => ({
    property: given.shape.properties[given.items[at * 2] as number] as ShapeProperty,
    state: given.items[at * 2 + 1] as PropertyState,
  }))
}

describe('OBJECT_UPDATED', () => {
  test('has exactly the items of the report, in the order of the device', () => {
    fc.assert(
      fc.property(entryOf.reported, (given) => {
        const event = JSON.parse(encode(given, 1)) as { updates: Property[] }
        expect(event.updates).toEqual(itemsOf(given).map(({ property, state }) => expectedItem(property, state)))
      }),
      { numRuns: 300 },
    )
  })

  test('has the declared properties first, and then the removed ones', () => {
    fc.assert(
      fc.property(entryOf.declared, (given) => {
        const { updates } = JSON.parse(encode(given, 1)) as { updates: Property[] }
        const items = itemsOf(given).map(({ property, state }) => expectedItem(property, state))
        expect(updates.slice(0, items.length)).toEqual(items)
        const gone = updates.slice(items.length).map(({ tag, propId, type }) => ({ tag, propId, type }))
        expect(gone).toEqual(
          given.removed.map(({ propId, type }) => ({ tag: 'removed', propId, type: type.toUpperCase() })),
        )
      }),
    )
  })
})

describe('an event with excluded properties', () => {
  const updated = fc.oneof(entryOf.reported, entryOf.declared, entryOf.undeclared)

  test('equals the event without these items, or is undefined if no item remains', () => {
    fc.assert(
      fc.property(updated, fc.func(fc.boolean()), (given, isOmitted) => {
        const whole = JSON.parse(encode(given, 9)) as { updates: Property[] }
        const left = whole.updates.filter(({ tag, propId }) => !isOmitted(propId, tag === 'removed'))
        const stripped = encodeStripped(given, 9, isOmitted)
        if (left.length === 0) expect(stripped).toBeUndefined()
        else expect(JSON.parse(stripped ?? '')).toEqual({ ...whole, updates: left })
      }),
      { numRuns: 300 },
    )
  })

  test('is the same text if no property is excluded', () => {
    fc.assert(
      fc.property(updated, (given) => {
        expect(encodeStripped(given, 9, () => false)).toBe(encode(given, 9))
      }),
    )
  })

  test('is the same text if it is not OBJECT_UPDATED', () => {
    fc.assert(
      fc.property(entry, (given) => {
        if (typeOf(given) === 'OBJECT_UPDATED') return
        expect(encodeStripped(given, 9, () => true)).toBe(encode(given, 9))
      }),
    )
  })
})

test('the fields of a discovered device are properties with fixed numbers', () => {
  const given: Entry = {
    kind: 'discovered',
    device: '#$A',
    flakeAddress: 7,
    at: 5,
    project: 'boiler',
    firmwares: [
      { firmware: '1.0.0', index: 0 },
      { firmware: '2.0.0', hardware: 'revB', index: 2 },
    ],
    isAutoUpdated: true,
  }
  const items = (entry: Entry) =>
    (JSON.parse(encode(entry, 1)) as { updates: Property[] }).updates.map(({ propId, value }) => [propId, value])
  expect(items(given)).toEqual([
    [0, '#$A'],
    [1, 'boiler'],
    [16, '1.0.0'],
    [48, '2.0.0'],
    [49, 'revB'],
  ])
  expect(items({ ...given, project: null, firmwares: [] })).toEqual([[0, '#$A']])
})
