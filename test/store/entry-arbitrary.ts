import fc from 'fast-check'
import type { StoredAlarm } from '#model/alarm'
import { type DesiredItem, desiredStatuses } from '#model/desired'
import type { Entry, EntryKind, Items, PropertyState } from '#model/entry'
import { updateStates } from '#model/firmware'
import { formatPropertyIdHex, timestampMsMax, uint32Max } from '#model/identifier'
import type { JsonObject } from '#model/json-value'
import { type PropertyType, propertyTypes } from '#model/property-type'
import { ServiceSchema } from '#model/service-schema'
import type { Shape, ShapeProperty } from '#model/shape'
import type { StoredSubscription } from '#model/subscription'
import { Shapes } from '#store/shapes'
import { anyText } from '#test/kit/any-text'

/** Entries of every kind, as the actors create them from the input of devices and users. */

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

const unusualStart = fc.constantFrom('"', "'", '$', '!', '<', '{')
const unusualName = fc.tuple(unusualStart, fc.constantFrom('"', ' ', '&', '~'), fc.stringMatching(/^[A-Z0-9]{1,8}$/))
export const deviceName: fc.Arbitrary<string> = fc.oneof(
  fc.stringMatching(/^[A-Z0-9=-]{1,30}$/),
  unusualName.map((parts) => parts.join('')),
)
const isServiceName = (name: string) => name !== '__proto__' && !/^[0-9a-fA-F-]{36}$/.test(name)
const serviceName = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_:-]{1,30}$/).filter(isServiceName), fc.uuid())
const flakeAddress = fc.integer({ min: 1, max: uint32Max })
const propId = fc.integer({ min: 0, max: uint32Max })
const recently = fc.integer({ min: 1_600_000_000_000, max: 1_800_000_000_000 })
const time = fc.oneof(recently, fc.integer({ min: 1, max: timestampMsMax }))

const property = recordOf({ propId, type: fc.constantFrom(...types), modifier: fc.integer({ min: 0, max: 7 }) })
const declared = fc.uniqueArray(property, { minLength: 1, maxLength: 8, selector: (each) => each.propId })

export const shape: fc.Arbitrary<Shape> = fc.tuple(serviceName, declared).map(([service, properties]) => {
  const sorted = [...properties].sort((a, b) => a.propId - b.propId)
  return shapes.intern(service, sorted.map(asDeclared))
})

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

const typeName = fc.constantFrom(...types).map(({ name }) => name)
const removedProperty = recordOf({ propId, type: typeName, modifier: fc.integer({ min: 0, max: 31 }) })
const removed = fc.array(removedProperty, { minLength: 1, maxLength: 4 })

/** JSON has no negative zero. */
const jsonNumber = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)
const key = hostileText.filter((text) => text !== '__proto__' && text !== 'constructor')
const json = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'xsmall', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    jsonNumber,
    hostileText,
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(key, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const meta = fc.dictionary(key, json.any, { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

const schemaName = fc.constantFrom('Boiler', 'Größe "x"', '\u2028')
const description = fc.option(hostileText, { nil: undefined })
const schema = fc.tuple(schemaName, description, propId, hostileText).map(([name, description, propId, unit]) => {
  const properties = { [formatPropertyIdHex(propId)]: { name: 'temperature', unit, type: 'float' } }
  return ServiceSchema.parse({ name, ...(description !== undefined && { description }), properties })
})

const version = fc.constantFrom('1.2.3', '0.0.1-rc.1+build')
const hardware = fc.constantFrom('revA', '2.0')
const firmware = recordOf(
  { firmware: version, hardware, index: fc.integer({ min: 0, max: 255 }) },
  { requiredKeys: ['firmware', 'index'] },
)

const alarmId = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{10}$/)
const author = fc.constantFrom('crn#user:2Vb7qYx9Kd', 'crn#user:anonymous', 'crn#key:4Qm8sUx2Bw')

const upperCaseName = deviceName.map((name) => name.toUpperCase())
/** Devices by name, by group, by both, or all. */
const bound = {
  devices: fc.option(fc.array(upperCaseName, { maxLength: 4 })),
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
  ...{ createdBy: author, createdAt: time, updatedBy: author, updatedAt: time },
  edit: fc.nat(2 ** 48 - 1),
})

/** Alarms, each with the time since when it waits, or 0. */
const waits = fc
  .dictionary(alarmId, fc.oneof(time, fc.constant(0)), { minKeys: 1, maxKeys: 4, noNullPrototype: true })
  .map((byAlarm) => Object.entries(byAlarm).flat())

/** Throttles with the time of their last pass. */
const throttle = fc.tuple(alarmId, fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/)).map((parts) => parts.join('/'))
const stamps = fc
  .dictionary(throttle, time, { minKeys: 1, maxKeys: 4, noNullPrototype: true })
  .map((byThrottle) => Object.entries(byThrottle).flat())

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

/** The required fields of an entry. */
type Fields<T> = { readonly [F in keyof T as object extends Pick<T, F> ? never : F]: fc.Arbitrary<T[F]> }
/** The fields of an entry that may be missing. */
type OptionalFields<T> = {
  readonly [F in keyof T as object extends Pick<T, F> ? F : never]?: fc.Arbitrary<Exclude<T[F], undefined>>
}
type Of<K extends EntryKind> = Extract<Entry, { readonly kind: K }>

function ofKind<const K extends EntryKind>(
  kind: K,
  fields: Fields<Omit<Of<K>, 'kind'>>,
  optional: OptionalFields<Of<K>> = {},
): fc.Arbitrary<Of<K>> {
  const required = { kind: fc.constant(kind), ...fields }
  const requiredKeys = Object.keys(required) as never[]
  const entries: unknown = fc.record({ ...required, ...optional } as object, { requiredKeys, noNullPrototype: true })
  return entries as fc.Arbitrary<Of<K>>
}

const onDevice = { device: deviceName, at: time }
const withAddress = { ...onDevice, flakeAddress }
const onAlarm = { ...onDevice, alarm: alarmId, since: time }
const desiredItems = fc.array(desiredItem, { maxLength: 3 })
const byAuthor = { at: time, user: author }
const timeOrNever = fc.oneof(time, fc.constant(0))

export const entryOf: { readonly [K in EntryKind]: fc.Arbitrary<Of<K>> } = {
  reported: shape.chain((which) => {
    const message = { timestamp: timeOrNever, seq: fc.nat(Number.MAX_SAFE_INTEGER), items: itemsOf(which) }
    const session = fc.oneof(fc.uuid(), fc.constant(''), hostileText)
    const optional = { session, alarms: waits, throttles: stamps }
    return ofKind('reported', { ...withAddress, shape: fc.constant(which), ...message }, optional)
  }),
  declared: shape.chain((which) =>
    ofKind('declared', { ...withAddress, shape: fc.constant(which), items: itemsOf(which), removed }),
  ),
  undeclared: ofKind('undeclared', { ...withAddress, service: serviceName, removed }),
  device_added: ofKind('device_added', withAddress),
  device_removed: ofKind('device_removed', withAddress),
  status_changed: ofKind('status_changed', {
    ...onDevice,
    status: fc.constantFrom('online', 'idle', 'offline'),
    ...{ lastMessage: timeOrNever, lastConnect: timeOrNever, numConnects: fc.nat() },
  }),
  discovered: ofKind('discovered', {
    ...withAddress,
    project: fc.option(fc.constantFrom('boiler', 'a.b_c-1')),
    firmwares: fc.uniqueArray(firmware, { maxLength: 3, selector: ({ index }) => index }),
    isAutoUpdated: fc.boolean(),
  }),
  meta_set: ofKind('meta_set', { ...onDevice, meta }),
  meta_deleted: ofKind('meta_deleted', { ...onDevice, key }),
  schema_set: ofKind('schema_set', { service: serviceName, at: time, isNew: fc.boolean(), schema }),
  schema_deleted: ofKind('schema_deleted', { service: serviceName, at: time }),
  alarm_set: ofKind('alarm_set', { alarm: alarmId, at: time, stored: storedAlarm }),
  alarm_deleted: ofKind('alarm_deleted', { alarm: alarmId, at: time, ...bound }),
  alarm_acknowledged: ofKind('alarm_acknowledged', { ...onAlarm, by: author }, { comment: fc.string() }),
  desired_set: ofKind('desired_set', { ...onDevice, service: serviceName, items: desiredItems }),
  alarm_changed: ofKind(
    'alarm_changed',
    { ...onAlarm, isActive: fc.boolean() },
    { isEnded: fc.constant(true as const), value: fc.oneof(jsonNumber, fc.string()) },
  ),
  update_changed: ofKind(
    'update_changed',
    { ...onDevice, index: fc.integer({ min: 0, max: 255 }), status: fc.constantFrom(...updateStates) },
    {
      firmware: version,
      progress: fc.double({ min: 0, max: 100, noNaN: true }).map((percent) => percent + 0),
      message: fc.oneof(hostileText, longText),
    },
  ),
  subscribed: ofKind('subscribed', { ...byAuthor, stored: storedSubscription }),
  subscription_updated: ofKind('subscription_updated', { ...byAuthor, stored: storedSubscription }),
  unsubscribed: ofKind('unsubscribed', { ...byAuthor, subscription: alarmId }),
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
