import { type IsOmitted, objectUpdated } from '#events/object-updated'
import { alarmEntryOf } from '#model/alarm'
import { formatCrn } from '#model/crn'
import { desiredValuesOf } from '#model/desired'
import type { Discovered, Entry, EntryKind, UpdateChanged } from '#model/entry'
import type { EventType } from '#model/event'
import type { DeviceBinding } from '#model/group'
import { modifierFlags, modifierOf } from '#model/modifier'
import { type StoredSubscription, subscriptionEntryOf } from '#model/subscription'

/**
 * The event of one kind of entry: its wire form, and the properties that decide who receives it. §6, contract 4.
 *
 * The text begins with `type`, `timestamp` and `offset`, in this order, as in `reportedBytes`.
 */
interface WireForm<E extends Entry> {
  readonly type: (entry: E) => EventType
  readonly device: (entry: E) => string | undefined
  readonly service: (entry: E) => string | undefined
  /** Only for events without a device: the devices to which the object in the event is bound. */
  readonly bound?: (entry: E) => DeviceBinding
  /** The resource name of the only user who receives the event. */
  readonly owner?: (entry: E) => string
  /** The fields after `type`, `timestamp` and `offset`, as JSON text that begins with a comma. */
  readonly fields: (entry: E) => string
}

type WireForms = { readonly [K in EntryKind]: WireForm<Extract<Entry, { kind: K }>> }

const forms: WireForms = {
  reported: {
    ...ofDevice('OBJECT_UPDATED'),
    service: (e) => e.shape.serviceIdentifier,
    fields: (e) => objectUpdated(e),
  },
  declared: {
    ...ofDevice('OBJECT_UPDATED'),
    service: (e) => e.shape.serviceIdentifier,
    fields: (e) => objectUpdated(e),
  },
  undeclared: { ...ofDevice('OBJECT_UPDATED'), service: (e) => e.service, fields: (e) => objectUpdated(e) },
  desired_set: {
    ...ofDevice('DESIRED_UPDATED'),
    service: (e) => e.service,
    fields: (e) => `${deviceField(e)}${serviceField(e)},"desired":${JSON.stringify(desiredValuesOf(e.items))}`,
  },
  device_added: { ...ofDevice('DEVICE_ADD'), fields: deviceField },
  device_removed: { ...ofDevice('DEVICE_DELETE'), fields: deviceField },
  status_changed: {
    ...ofDevice('META_STATUS_CHANGE'),
    fields: (e) =>
      `${deviceField(e)},"status":"${e.status}","lastMessage":${e.lastMessage},"lastConnect":${e.lastConnect},"numConnects":${e.numConnects}`,
  },
  discovered: {
    ...ofDevice('DEVICE_DISCOVERY'),
    fields: (e) =>
      `,"flakeAddress":${e.flakeAddress}${deviceField(e)},"updates":${JSON.stringify(discoveredProperties(e))}`,
  },
  meta_set: { ...ofDevice('META_SET'), fields: (e) => `${deviceField(e)},"meta":${JSON.stringify(e.meta)}` },
  meta_deleted: { ...ofDevice('META_DELETE'), fields: (e) => `${deviceField(e)},"key":${JSON.stringify(e.key)}` },
  schema_set: {
    ...ofService((e) => (e.isNew ? 'SCHEMA_ADD' : 'SCHEMA_UPDATE')),
    fields: (e) => `${serviceField(e)},"schema":${JSON.stringify(e.schema)}`,
  },
  schema_deleted: { ...ofService(() => 'SCHEMA_DELETE'), fields: serviceField },
  alarm_set: {
    ...ofBound('ALARM_CONFIG_UPDATE'),
    bound: (e) => e.stored,
    fields: (e) => `${alarmField(e)},"payload":${JSON.stringify(alarmEntryOf(e.alarm, e.stored))}`,
  },
  alarm_deleted: { ...ofBound('ALARM_CONFIG_UPDATE'), bound: (e) => e, fields: (e) => `${alarmField(e)},"payload":{}` },
  alarm_changed: {
    ...ofDevice('ALARM_STATUS_ACTIVE'),
    type: (e) => (e.isActive ? 'ALARM_STATUS_ACTIVE' : 'ALARM_STATUS_INACTIVE'),
    fields: (e) => `${alarmField(e)}${deviceField(e)},"since":${e.since}`,
  },
  alarm_acknowledged: {
    ...ofDevice('ALARM_STATUS_ACKNOWLEDGED'),
    fields: (e) => {
      const about = JSON.stringify({ since: e.since, by: e.by, comment: e.comment })
      return `${alarmField(e)}${deviceField(e)},${about.slice(1, -1)}`
    },
  },
  update_changed: { ...ofDevice('UPDATE_STATUS'), fields: updateFields },
  subscribed: { ...ofOwner('NOTIFICATION_SUBSCRIBE'), fields: (e) => subscriptionFields(e.stored) },
  subscription_updated: {
    ...ofOwner('NOTIFICATION_SUBSCRIPTION_UPDATE'),
    fields: (e) => subscriptionFields(e.stored),
  },
  unsubscribed: {
    ...ofOwner('NOTIFICATION_UNSUBSCRIBE'),
    fields: (e) => `${subscriptionField(e.subscription)},"payload":{}`,
  },
}

/** The type of an entry's event. The type, device, service, bound devices and owner decide who receives the event. */
export function typeOf(entry: Entry): EventType {
  return formOf(entry).type(entry)
}

export function deviceOf(entry: Entry): string | undefined {
  return formOf(entry).device(entry)
}

export function serviceOf(entry: Entry): string | undefined {
  return formOf(entry).service(entry)
}

/** The devices to which the event's object is bound: a receiver must reach all of them. Contract 5.1. */
export function boundOf(entry: Entry): DeviceBinding | undefined {
  return formOf(entry).bound?.(entry)
}

/** The only user who receives the event; undefined for events that depend on permissions. §6 */
export function ownerOf(entry: Entry): string | undefined {
  return formOf(entry).owner?.(entry)
}

/** The whole event. Slow sockets may get it without some updates: see `encodeStripped`. */
export function encode(entry: Entry, offset: number): string {
  const form = formOf(entry)
  return `${head(form.type(entry), timestampOf(entry), offset)}${form.fields(entry)}}`
}

/**
 * The event without the property updates for which `isOverridden` returns true; undefined if none are left. Other
 * events are never changed. Contract 4.5.
 */
export function encodeStripped(entry: Entry, offset: number, isOverridden: IsOmitted): string | undefined {
  if (entry.kind !== 'reported' && entry.kind !== 'declared' && entry.kind !== 'undeclared')
    return encode(entry, offset)
  const fields = objectUpdated(entry, isOverridden)
  return fields === undefined ? undefined : `${head('OBJECT_UPDATED', timestampOf(entry), offset)}${fields}}`
}

function head(type: EventType, timestamp: number, offset: number): string {
  return `{"type":"${type}","timestamp":${timestamp},"offset":${offset}`
}

function timestampOf(entry: Entry): number {
  return entry.kind === 'reported' ? entry.timestamp : entry.at
}

function formOf<E extends Entry>(entry: E): WireForm<E> {
  return forms[entry.kind] as unknown as WireForm<E>
}

function ofDevice(type: EventType) {
  return { type: () => type, device: (entry: { device: string }) => entry.device, service: () => undefined }
}

function ofService<E extends { service: string }>(type: (entry: E) => EventType) {
  return { type, device: () => undefined, service: (entry: E) => entry.service }
}

/** For events without device and service whose object is bound to devices. */
function ofBound(type: EventType) {
  return { type: () => type, device: () => undefined, service: () => undefined }
}

/** For events that only one user receives. */
function ofOwner(type: EventType) {
  return { ...ofBound(type), owner: (entry: { user: string }) => entry.user }
}

function deviceField(entry: { readonly device: string }): string {
  return `,"deviceIdentifier":${JSON.stringify(entry.device)}`
}

function serviceField(entry: { readonly service: string }): string {
  return `,"serviceIdentifier":${JSON.stringify(entry.service)}`
}

function alarmField(entry: { readonly alarm: string }): string {
  return `,"resourceIdentifier":"${formatCrn({ type: 'alarm', id: entry.alarm })}"`
}

function subscriptionField(id: string): string {
  return `,"resourceIdentifier":"${formatCrn({ type: 'subscription', id })}"`
}

function subscriptionFields(stored: StoredSubscription): string {
  return `${subscriptionField(stored.id)},"payload":${JSON.stringify(subscriptionEntryOf(stored))}`
}

function updateFields({ index, status, firmware, progress, message, ...entry }: UpdateChanged): string {
  const about = JSON.stringify({ index, status: status.toUpperCase(), firmware, progress, message })
  return `${deviceField(entry)},${about.slice(1, -1)}`
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
