import { describe, expect, test } from 'vitest'
import { declare } from '#actors/device/declaration'
import type { Entry, Items } from '#model/entry'
import type { Shape } from '#model/shape'
import { now } from '#test/actors/acting-actor'
import { ActingDevice, hello, report, shapeOf, shownState } from '#test/actors/acting-device'

const one = shapeOf('svc', { 1: 'uint8', 2: 'string' })

/** A device that declared this shape, and reported these values. */
function declared(shape: Shape = one, items: Items = [], reported: Items = []): ActingDevice {
  const device = ActingDevice.added()
  device.act(hello([{ shape, items }]))
  if (reported.length > 0) device.act(report(shape, 1, reported))
  return device
}

const nothing = { entries: [], changes: 0, indexes: [], shared: [] }

/** The effects of a new declaration, with its events as [kind, items, ids of removed properties]. */
function declarationOf(device: ActingDevice, services: readonly { shape: Shape; items: Items }[]) {
  const declaration = declare(device.state, services, now)
  const entries = declaration.entries.map((entry) =>
    entry.kind === 'declared' || entry.kind === 'undeclared'
      ? [entry.kind, 'items' in entry ? entry.items : undefined, entry.removed.map(({ propId }) => propId)]
      : [entry.kind],
  )
  return {
    entries,
    changes: declaration.changes.length,
    indexes: declaration.indexes,
    shared: declaration.shared.map(({ id }) => id),
  }
}

describe('a first declaration', () => {
  test('publishes its values, stores the shape, and adds the service to the index', () => {
    const device = ActingDevice.added()
    expect(declarationOf(device, [{ shape: one, items: [0, 5] }])).toEqual({
      entries: [['declared', [0, 5], []]],
      changes: 0,
      indexes: [{ index: 'service', entry: 'svc/A', isPresent: true }],
      shared: [one.id],
    })
  })

  test('without values publishes nothing, but is stored', () => {
    const device = ActingDevice.added()
    expect(declarationOf(device, [{ shape: one, items: [] }])).toMatchObject({ changes: 1, shared: [one.id] })
    const decision = device.record(hello([{ shape: one, items: [] }]))
    expect(decision.isCheckpointed).toBe(true)
    const none = { states: [null, null], times: [0, 0], offsets: [0, 0] }
    expect(shownState(device.state).services).toEqual([{ shape: one.id, ...none }])
  })

  test('of a service without properties publishes nothing, and neither does the end of this declaration', () => {
    const device = ActingDevice.added()
    expect(declarationOf(device, [{ shape: shapeOf('empty', {}), items: [] }])).toEqual(nothing)
    device.act(hello([{ shape: shapeOf('empty', {}), items: [] }]))
    expect(declarationOf(device, [])).toEqual(nothing)
  })
})

describe('a repeated declaration', () => {
  test.each<[string, Items]>([
    ['without values', []],
    ['with the same values', [0, 5, 1, 'x']],
    ['with one of the same values', [1, 'x']],
  ])('%s publishes nothing', (_, items) => {
    const device = declared(one, [], [0, 5, 1, 'x'])
    expect(declarationOf(device, [{ shape: one, items }])).toEqual(nothing)
  })

  test.each<[string, Items, Items, Items]>([
    ['only the value that differs', [0, 5, 1, 'x'], [0, 6, 1, 'x'], [0, 6]],
    ['values that replace an error and a missing value', [0, { error: 'e' }], [0, 6, 1, ''], [0, 6, 1, '']],
  ])('publishes %s', (_, reported, items, published) => {
    const device = declared(one, [], reported)
    expect(declarationOf(device, [{ shape: one, items }]).entries).toEqual([['declared', published, []]])
  })

  test('compares arrays by their elements', () => {
    const shape = shapeOf('svc', { 1: 'uint8-array' })
    const device = declared(shape, [0, [1, 2]])
    expect(declarationOf(device, [{ shape, items: [0, [1, 2]] }]).entries).toEqual([])
    expect(declarationOf(device, [{ shape, items: [0, [2, 1]] }]).entries).toEqual([['declared', [0, [2, 1]], []]])
  })
})

describe('another shape of the same service', () => {
  const reported: Items = [0, 5, 1, 'x']
  const longer = shapeOf('svc', { 1: 'uint8', 2: 'string', 3: 'bool' })
  const retyped = shapeOf('svc', { 1: 'string', 2: 'string' })
  const marked = shapeOf('svc', { 1: ['uint8', 1], 2: 'string' })
  test.each<[string, Shape, Items, published?: unknown[]]>([
    ['with one property more publishes nothing', longer, []],
    ['with one property more and its value publishes the value', longer, [2, true], [[2, true], []]],
    ['with one property less publishes the removal', shapeOf('svc', { 1: 'uint8' }), [], [[], [2]]],
    ['with another type and no value publishes the removal', retyped, [], [[], [1]]],
    ['with another type and a value publishes the value', retyped, [0, 'y'], [[0, 'y'], []]],
    [
      'with another modifier publishes the value again, because it is displayed in another way',
      marked,
      [],
      [[0, 5], []],
    ],
    ['with only other properties publishes all removals', shapeOf('svc', { 8: 'uint8' }), [], [[], [1, 2]]],
  ])('%s', (_, shape, items, published) => {
    const declaration = declarationOf(declared(one, [], reported), [{ shape, items }])
    const expected = published ? { entries: [['declared', ...published]], changes: 0 } : { entries: [], changes: 1 }
    expect(declaration).toEqual({ ...expected, indexes: [], shared: [shape.id] })
  })

  test('is not published if only the type of a property without a value changes', () => {
    expect(declarationOf(declared(one), [{ shape: retyped, items: [] }])).toMatchObject({ entries: [], changes: 1 })
  })

  test('keeps the value, time and offset of each property that keeps its type', () => {
    const device = declared(one, [], reported)
    const before = device.state.services[0]
    const [time, offset] = [before?.timeOf(1), before?.offsetOf(1)]
    device.at += 5_000
    const declaredAt = device.offset + 1
    device.act(hello([{ shape: shapeOf('svc', { 1: 'bool', 2: 'string', 4: 'float' }), items: [2, 0.5] }]))
    const [service] = device.state.services
    expect(service?.states()).toEqual([null, 'x', 0.5])
    expect(service?.times()).toEqual([0, time, now + 5_000])
    // The offset of the declaration prevents that an older entry restores the value that the new type has removed.
    expect(service?.offsets()).toEqual([0, offset, declaredAt])
  })
})

test('a service that is no longer declared is published with all its properties, and removed from the index', () => {
  const device = declared(one, [], [0, 5])
  const other = shapeOf('other', { 1: 'bool' })
  const declaration = declarationOf(device, [{ shape: other, items: [] }])
  expect(declaration.entries).toEqual([['undeclared', undefined, [1, 2]]])
  expect(declaration.indexes).toEqual([
    { index: 'service', entry: 'other/A', isPresent: true },
    { index: 'service', entry: 'svc/A', isPresent: false },
  ])
  device.act(hello([{ shape: other, items: [] }]))
  expect(device.state.services.map(({ shape }) => shape.serviceIdentifier)).toEqual(['other'])
})

test('services are published one by one in the order of the declaration', () => {
  const device = ActingDevice.added()
  const names = ['c', 'a', 'b']
  const services = names.map((name) => ({ shape: shapeOf(name, { 1: 'uint8' }), items: [0, 1] }))
  const { entries } = declare(device.state, services, now)
  expect(entries.map((entry: Entry) => 'shape' in entry && entry.shape.serviceIdentifier)).toEqual(names)
})
