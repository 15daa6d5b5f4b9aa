import fc from 'fast-check'
import type { StoredAlarm } from '#model/alarm'
import { type DesiredItem, desiredStatuses } from '#model/desired'
import type { Entry, EntryKind, Items, PropertyState } from '#model/entry'
import { updateStates } from '#model/firmware'
import { timestampMsMax, uint32Max } from '#model/identifier'
import type { JsonObject } from '#model/json-value'
import { type PropertyType, propertyTypes } from '#model/property-type'
import { ServiceSchema } from '#model/service-schema'
import type { Shape, ShapeProperty } from '#model/shape'
import type { StoredSubscription } from '#model/subscription'
import { Shapes } from '#store/shapes'
import { anyText } from '#test/kit/any-text'

/** Entries of every kind, as the actors create them from the input of devices and users. */

/** Shapes are found by content, so that two runs of one seed get the same ids. */
const shapes = new Shapes(() => undefined)

const types = [...propertyTypes.values()]

/** Characters that need escapes or several bytes. */
const hostile = ['"', '\\', '\u2028', '\u2029', '\0', '\u001f', '</script>', '😀', '\ufeff', '\uffff', '{', '\n', 'é']

export const hostileText: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...hostile), anyText({ maxLength: 10 })), { maxLength: 8 })
  .map((parts) => parts.join('').toWellFormed())

/** Longer than the texts that the hand-written decoder reads. */
const longText = fc
  .tuple(fc.constantFrom(...hostile), fc.integer({ min: 30, max: 400 }))
  .map(([sign, length]) => sign.repeat(length))

export const deviceName: fc.Arbitrary<string> = fc.oneof(
  fc.stringMatching(/^[A-Z0-9=-]{1,30}$/),
  fc
    .tuple(
      fc.constantFrom('"', "'", '$', '!', '<', '{'),
      fc.constantFrom('"', ' ', '&', '~'),
      fc.stringMatching(/^[A-Z0-9]{1,8}$/),
    )
    .map((parts) => parts.join('')),
)
const serviceName: fc.Arbitrary<string> = fc.oneof(
  fc
    .stringMatching(/^[A-Za-z0-9_:-]{1,30}$/)
    .filter((name) => name !== '__proto__' && !/^[0-9a-fA-F-]{36}$/.test(name)),
  fc.uuid(),
)
const flakeAddress = fc.integer({ min: 1, max: uint32Max })
const propId = fc.integer({ min: 0, max: uint32Max })
const time = fc.oneof(
  fc.integer({ min: 1_600_000_000_000, max: 1_800_000_000_000 }),
  fc.integer({ min: 1, max: timestampMsMax }),
)

export const shape: fc.Arbitrary<Shape> = fc
  .tuple(
    serviceName,
    fc.uniqueArray(recordOf({ propId, type: fc.constantFrom(...types), modifier: fc.integer({ min: 0, max: 7 }) }), {
      minLength: 1,
      maxLength: 8,
      selector: (property) => property.propId,
    }),
  )
  .map(([service, properties]) =>
    shapes.intern(service, [...properties].sort((a, b) => a.propId - b.propId).map(asDeclared)),
  )

function asDeclared(property: ShapeProperty): ShapeProperty {
  return { ...property, modifier: property.modifier | (property.type.isArray ? 16 : 0) }
}

const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  uint8: fc.integer({ min: 0, max: 255 }),
  uint16: fc.integer({ min: 0, max: 65_535 }),
  uint32: fc.integer({ min: 0, max: uint32Max }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  int8: fc.integer({ min: -128, max: 127 }),
  int16: fc.integer({ min: -32_768, max: 32_767 }),
  int32: fc.integer(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  bool: fc.boolean(),
  uuid: fc.uuid(),
  float: fc.float({ noNaN: true, noDefaultInfinity: true }),
  float64: fc.double({ noNaN: true, noDefaultInfinity: true }),
  datetime: fc.integer({ min: -timestampMsMax, max: timestampMsMax }),
  string: fc.oneof(hostileText, longText),
  binary: fc.uint8Array({ maxLength: 100 }),
}

/** A value in its normal form, after validation. */
export function acceptedValue(type: PropertyType): fc.Arbitrary<Exclude<PropertyState, null>> {
  const scalar = scalars[type.name.replace('-array', '')] as fc.Arbitrary<unknown>
  return (type.isArray ? fc.array(scalar, { maxLength: 6 }) : scalar).map((input) => {
    const value = type.accept(input)
    if (value === undefined) throw new Error(`${type.name} does not accept ${String(input)}`)
    return value
  })
}

const error = fc.oneof(hostileText, longText).map((text) => ({ error: text }))

/** Indexes and states of a shape's properties; an index may occur twice, as in input of devices. */
function itemsOf({ properties }: Shape): fc.Arbitrary<Items> {
  const item = fc.nat(properties.length - 1).chain((index) => {
    const { type } = properties[index] as ShapeProperty
    return fc
      .oneof({ weight: 5, arbitrary: acceptedValue(type) }, { weight: 1, arbitrary: error })
      .map((state) => [index, state])
  })
  return fc.array(item, { minLength: 1, maxLength: 6 }).map((items) => items.flat() as Items)
}

const removed = fc.array(
  recordOf({
    propId,
    type: fc.constantFrom(...types).map(({ name }) => name),
    modifier: fc.integer({ min: 0, max: 31 }),
  }),
  { minLength: 1, maxLength: 4 },
)

const key = hostileText.filter((text) => text !== '__proto__' && text !== 'constructor')
const json = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'xsmall', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    // JSON has no negative zero.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    hostileText,
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(key, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const meta = fc.dictionary(key, json.any, { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

const schema: fc.Arbitrary<ServiceSchema> = fc
  .record({
    name: fc.constantFrom('Boiler', 'Größe "x"', '\u2028'),
    description: fc.option(hostileText, { nil: undefined }),
    hex: propId,
    unit: hostileText,
  })
  .map(({ name, description, hex, unit }) =>
    ServiceSchema.parse({
      name,
      ...(description === undefined ? {} : { description }),
      properties: { [`0x${hex.toString(16).padStart(4, '0')}`]: { name: 'temperature', unit, type: 'float' } },
    }),
  ) as fc.Arbitrary<ServiceSchema>

const firmware = recordOf(
  {
    firmware: fc.constantFrom('1.2.3', '0.0.1-rc.1+build'),
    hardware: fc.constantFrom('revA', '2.0'),
    index: fc.integer({ min: 0, max: 255 }),
  },
  { requiredKeys: ['firmware', 'index'] },
)

const alarmId = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{10}$/)
const author = fc.constantFrom('crn#user:2Vb7qYx9Kd', 'crn#user:anonymous', 'crn#key:4Qm8sUx2Bw')

/** Devices by name, by group, by both, or all. */
const bound = {
  devices: fc.option(
    fc.array(
      deviceName.map((name) => name.toUpperCase()),
      { maxLength: 4 },
    ),
  ),
  groups: fc.option(fc.array(alarmId, { maxLength: 3 })),
}

const storedAlarm: fc.Arbitrary<StoredAlarm> = recordOf({
  name: fc.constantFrom('Hot', 'Größe "x"', '😀'),
  severity: fc.constantFrom('info' as const, 'warning' as const, 'critical' as const),
  serviceIdentifier: serviceName,
  condition: fc.constantFrom(
    { '>': [{ var: 'temperature' }, 30] },
    { and: [{ '==': [{ var: ['0x2000.FLOAT', null] }, 'a"b'] }, { in: [1.5, [1, { var: 'x.y' }]] }] },
  ),
  forSeconds: fc.integer({ min: 0, max: 604_800 }),
  ...bound,
  createdBy: author,
  createdAt: time,
  updatedBy: author,
  updatedAt: time,
  edit: fc.nat(2 ** 48 - 1),
})

/** The times since when alarms wait, or 0. */
const waits = fc
  .uniqueArray(fc.tuple(alarmId, fc.oneof(time, fc.constant(0))), {
    minLength: 1,
    maxLength: 4,
    selector: ([id]) => id,
  })
  .map((pairs) => pairs.flat())

/** Throttles with the time of their last pass. */
const stamps = fc
  .uniqueArray(fc.tuple(alarmId, fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/), time), {
    minLength: 1,
    maxLength: 4,
    selector: ([fn, node]) => `${fn}/${node}`,
  })
  .map((passes) => passes.flatMap(([fn, node, at]) => [`${fn}/${node}`, at]))

const storedSubscription: fc.Arbitrary<StoredSubscription> = recordOf({
  id: alarmId,
  function: alarmId,
  type: fc.constant('email' as const),
  locale: fc.constantFrom('en', 'de', 'de-CH'),
  createdBy: author,
  createdAt: time,
  origin: fc.constantFrom('', 'https://acme.example', 'http://localhost:8080'),
})

const desiredItem: fc.Arbitrary<DesiredItem> = recordOf(
  {
    ...{ propId: fc.nat(), value: fc.oneof(fc.nat(), fc.string(), fc.boolean()), since: time, id: fc.string() },
    ...{ status: fc.constantFrom(...desiredStatuses), message: fc.string() },
  },
  { requiredKeys: ['propId', 'value', 'since', 'id', 'status'] },
)

const of = { device: deviceName, flakeAddress, at: time }

export const entryOf: { readonly [K in EntryKind]: fc.Arbitrary<Extract<Entry, { kind: K }>> } = {
  reported: shape.chain((which) =>
    recordOf(
      {
        kind: fc.constant('reported' as const),
        ...of,
        shape: fc.constant(which),
        timestamp: fc.oneof(time, fc.constant(0)),
        seq: fc.nat(Number.MAX_SAFE_INTEGER),
        session: fc.oneof(fc.uuid(), fc.constant(''), hostileText),
        items: itemsOf(which),
        alarms: waits,
        throttles: stamps,
      },
      { requiredKeys: ['kind', 'device', 'flakeAddress', 'at', 'shape', 'timestamp', 'seq', 'items'] },
    ),
  ),
  declared: shape.chain((which) =>
    recordOf({
      kind: fc.constant('declared' as const),
      ...of,
      shape: fc.constant(which),
      items: itemsOf(which),
      removed,
    }),
  ),
  undeclared: recordOf({ kind: fc.constant('undeclared' as const), ...of, service: serviceName, removed }),
  device_added: recordOf({ kind: fc.constant('device_added' as const), ...of }),
  device_removed: recordOf({ kind: fc.constant('device_removed' as const), ...of }),
  status_changed: recordOf({
    kind: fc.constant('status_changed' as const),
    device: deviceName,
    at: time,
    status: fc.constantFrom('online', 'idle', 'offline'),
    lastMessage: fc.oneof(time, fc.constant(0)),
    lastConnect: fc.oneof(time, fc.constant(0)),
    numConnects: fc.nat(),
  }),
  discovered: recordOf({
    kind: fc.constant('discovered' as const),
    ...of,
    project: fc.option(fc.constantFrom('boiler', 'a.b_c-1')),
    firmwares: fc.uniqueArray(firmware, { maxLength: 3, selector: ({ index }) => index }),
    isAutoUpdated: fc.boolean(),
  }),
  meta_set: recordOf({ kind: fc.constant('meta_set' as const), device: deviceName, at: time, meta }),
  meta_deleted: recordOf({ kind: fc.constant('meta_deleted' as const), device: deviceName, at: time, key }),
  schema_set: recordOf({
    kind: fc.constant('schema_set' as const),
    service: serviceName,
    at: time,
    isNew: fc.boolean(),
    schema,
  }),
  schema_deleted: recordOf({ kind: fc.constant('schema_deleted' as const), service: serviceName, at: time }),
  alarm_set: recordOf({ kind: fc.constant('alarm_set' as const), alarm: alarmId, at: time, stored: storedAlarm }),
  alarm_deleted: recordOf({ kind: fc.constant('alarm_deleted' as const), alarm: alarmId, at: time, ...bound }),
  alarm_acknowledged: recordOf(
    {
      ...{ kind: fc.constant('alarm_acknowledged' as const), device: deviceName, alarm: alarmId, at: time },
      ...{ since: time, by: author, comment: fc.string() },
    },
    { requiredKeys: ['kind', 'device', 'alarm', 'at', 'since', 'by'] },
  ),
  desired_set: recordOf({
    ...{ kind: fc.constant('desired_set' as const), device: deviceName, service: serviceName, at: time },
    items: fc.array(desiredItem, { maxLength: 3 }),
  }),
  alarm_changed: recordOf(
    {
      kind: fc.constant('alarm_changed' as const),
      device: deviceName,
      alarm: alarmId,
      at: time,
      isActive: fc.boolean(),
      since: time,
      isEnded: fc.constant(true as const),
      value: fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
        fc.string(),
      ),
    },
    { requiredKeys: ['kind', 'device', 'alarm', 'at', 'isActive', 'since'] },
  ),
  update_changed: recordOf(
    {
      kind: fc.constant('update_changed' as const),
      device: deviceName,
      at: time,
      index: fc.integer({ min: 0, max: 255 }),
      status: fc.constantFrom(...updateStates),
      firmware: fc.constantFrom('1.2.3', '0.0.1-rc.1+build'),
      // JSON has no negative zero.
      progress: fc.double({ min: 0, max: 100, noNaN: true }).map((percent) => percent + 0),
      message: fc.oneof(hostileText, longText),
    },
    { requiredKeys: ['kind', 'device', 'at', 'index', 'status'] },
  ),
  subscribed: recordOf({
    kind: fc.constant('subscribed' as const),
    at: time,
    user: author,
    stored: storedSubscription,
  }),
  subscription_updated: recordOf({
    kind: fc.constant('subscription_updated' as const),
    at: time,
    user: author,
    stored: storedSubscription,
  }),
  unsubscribed: recordOf({
    kind: fc.constant('unsubscribed' as const),
    at: time,
    user: author,
    subscription: alarmId,
  }),
}

export const entryKinds = Object.keys(entryOf) as EntryKind[]

export const entry: fc.Arbitrary<Entry> = fc.oneof(...Object.values(entryOf))

/** Objects with a prototype, as the server creates them. */
function recordOf<T, K extends keyof T = keyof T>(
  model: { [P in keyof T]: fc.Arbitrary<T[P]> },
  constraints: { readonly requiredKeys?: K[] } = {},
) {
  return fc.record<T, K>(model, { ...constraints, noNullPrototype: true })
}
