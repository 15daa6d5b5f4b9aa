import { type IsOmitted, objectUpdated } from '#events/object-updated'
import { alarmEntryOf } from '#model/alarm'
import { formatCrn } from '#model/crn'
import { desiredValuesOf } from '#model/desired'
import type { Declared, Discovered, Entry, Reported, Undeclared } from '#model/entry'
import { type EventKind, type EventType, eventKinds } from '#model/event'
import type { DeviceBinding } from '#model/group'
import { modifierFlags, modifierOf } from '#model/modifier'
import { type StoredSubscription, subscriptionEntryOf } from '#model/subscription'

/** The entries whose event is OBJECT_UPDATED: `objectUpdated` writes its fields. */
type ObjectUpdate = Reported | Declared | Undeclared
type Other = Exclude<Entry, ObjectUpdate>

/** The event of one kind of entry: its type, and the fields after `type`, `timestamp` and `offset`, in order. */
interface WireForm<E extends Entry> {
  readonly type: EventType | ((entry: E) => EventType)
  readonly fields: (entry: E) => object
}

/** §6, contract 4. */
const forms: { readonly [K in Other['kind']]: WireForm<Extract<Entry, { kind: K }>> } = {
  desired_set: {
    type: 'DESIRED_UPDATED',
    fields: (e) => ({ ...device(e), ...service(e), desired: desiredValuesOf(e.items) }),
  },
  device_added: { type: 'DEVICE_ADD', fields: device },
  device_removed: { type: 'DEVICE_DELETE', fields: device },
  status_changed: {
    type: 'META_STATUS_CHANGE',
    fields: ({ status, lastMessage, lastConnect, numConnects, ...e }) => {
      return { ...device(e), status, lastMessage, lastConnect, numConnects }
    },
  },
  discovered: {
    type: 'DEVICE_DISCOVERY',
    fields: (e) => ({ flakeAddress: e.flakeAddress, ...device(e), updates: discoveredProperties(e) }),
  },
  meta_set: { type: 'META_SET', fields: (e) => ({ ...device(e), meta: e.meta }) },
  meta_deleted: { type: 'META_DELETE', fields: (e) => ({ ...device(e), key: e.key }) },
  schema_set: {
    type: (e) => (e.isNew ? 'SCHEMA_ADD' : 'SCHEMA_UPDATE'),
    fields: (e) => ({ ...service(e), schema: e.schema }),
  },
  schema_deleted: { type: 'SCHEMA_DELETE', fields: service },
  alarm_set: {
    type: 'ALARM_CONFIG_UPDATE',
    fields: (e) => ({ ...alarm(e), payload: alarmEntryOf(e.alarm, e.stored) }),
  },
  alarm_deleted: { type: 'ALARM_CONFIG_UPDATE', fields: (e) => ({ ...alarm(e), payload: {} }) },
  alarm_changed: {
    type: (e) => (e.isActive ? 'ALARM_STATUS_ACTIVE' : 'ALARM_STATUS_INACTIVE'),
    fields: (e) => ({ ...alarm(e), ...device(e), since: e.since }),
  },
  alarm_acknowledged: {
    type: 'ALARM_STATUS_ACKNOWLEDGED',
    fields: (e) => ({ ...alarm(e), ...device(e), since: e.since, by: e.by, comment: e.comment }),
  },
  update_changed: {
    type: 'UPDATE_STATUS',
    fields: ({ index, status, firmware, progress, message, ...e }) => {
      return { ...device(e), index, status: status.toUpperCase(), firmware, progress, message }
    },
  },
  subscribed: { type: 'NOTIFICATION_SUBSCRIBE', fields: wholeSubscription },
  subscription_updated: { type: 'NOTIFICATION_SUBSCRIPTION_UPDATE', fields: wholeSubscription },
  unsubscribed: {
    type: 'NOTIFICATION_UNSUBSCRIBE',
    fields: (e) => ({ ...subscription(e.subscription), payload: {} }),
  },
}

/** The type of an entry's event. The type, device, service, bound devices and owner decide who receives the event. */
export function typeOf(entry: Entry): EventType {
  if (isObjectUpdate(entry)) return 'OBJECT_UPDATED'
  const { type } = forms[entry.kind] as WireForm<Other>
  return typeof type === 'string' ? type : type(entry)
}

export function deviceOf(entry: Entry): string | undefined {
  return kindOf(entry).hasDevice ? (entry as { readonly device: string }).device : undefined
}

export function serviceOf(entry: Entry): string | undefined {
  if (!kindOf(entry).hasService) return undefined
  return 'shape' in entry ? entry.shape.serviceIdentifier : (entry as { readonly service: string }).service
}

/** The devices to which the event's object is bound: a receiver must reach all of them. Contract 5.1. */
export function boundOf(entry: Entry): DeviceBinding | undefined {
  if (entry.kind === 'alarm_set') return entry.stored
  return entry.kind === 'alarm_deleted' ? entry : undefined
}

/** The only user who receives the event; undefined for events that depend on permissions. §6 */
export function ownerOf(entry: Entry): string | undefined {
  return kindOf(entry).audience === 'owner' ? (entry as { readonly user: string }).user : undefined
}

function kindOf(entry: Entry): EventKind {
  return eventKinds[typeOf(entry)]
}

/**
 * The whole event. Slow sockets may get it without some updates: see `encodeStripped`. The text begins with `type`,
 * `timestamp` and `offset`, in this order, as in `reportedBytes`.
 */
export function encode(entry: Entry, offset: number): string {
  if (isObjectUpdate(entry)) return `${head(entry, offset)}${objectUpdated(entry)}}`
  const { fields } = forms[entry.kind] as WireForm<Other>
  return `${head(entry, offset)},${JSON.stringify(fields(entry)).slice(1)}`
}

/**
 * The event without the property updates for which `isOverridden` returns true; undefined if none are left. Other
 * events are never changed. Contract 4.5.
 */
export function encodeStripped(entry: Entry, offset: number, isOverridden: IsOmitted): string | undefined {
  if (!isObjectUpdate(entry)) return encode(entry, offset)
  const fields = objectUpdated(entry, isOverridden)
  return fields === undefined ? undefined : `${head(entry, offset)}${fields}}`
}

function head(entry: Entry, offset: number): string {
  const timestamp = entry.kind === 'reported' ? entry.timestamp : entry.at
  return `{"type":"${typeOf(entry)}","timestamp":${timestamp},"offset":${offset}`
}

function isObjectUpdate(entry: Entry): entry is ObjectUpdate {
  const { kind } = entry
  return kind === 'reported' || kind === 'declared' || kind === 'undeclared'
}

function device(entry: { readonly device: string }) {
  return { deviceIdentifier: entry.device }
}

function service(entry: { readonly service: string }) {
  return { serviceIdentifier: entry.service }
}

function alarm(entry: { readonly alarm: string }) {
  return { resourceIdentifier: formatCrn({ type: 'alarm', id: entry.alarm }) }
}

function subscription(id: string) {
  return { resourceIdentifier: formatCrn({ type: 'subscription', id }) }
}

function wholeSubscription({ stored }: { readonly stored: StoredSubscription }) {
  return { ...subscription(stored.id), payload: subscriptionEntryOf(stored) }
}

/** The device's own information as properties, with the numbers of contract 4. */
function discoveredProperties(entry: Discovered) {
  const item = (propId: number, value: string) => ({
    tag: 'value',
    modifier: modifierOf(modifierFlags.isReadOnly),
    propId,
    type: 'STRING',
    value,
  })
  return [
    item(0, entry.device),
    ...(entry.project === null ? [] : [item(1, entry.project)]),
    ...entry.firmwares.flatMap(({ firmware, hardware, index }) => [
      item(16 * (index + 1), firmware),
      ...(hardware === undefined ? [] : [item(16 * (index + 1) + 1, hardware)]),
    ]),
  ]
}
