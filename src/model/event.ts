import { z } from 'zod'
import { ResourceIdentifier } from '#model/crn'
import { DesiredValues } from '#model/desired'
import { FirmwareIndex, UpdateStatus } from '#model/firmware'
import {
  DeviceIdentifier,
  FirmwareVersion,
  FlakeAddress,
  Offset,
  ServiceIdentifier,
  Timestamp,
} from '#model/identifier'
import { DeviceStatus, Meta } from '#model/meta'
import { Property } from '#model/property'
import type { Resource } from '#model/scope'
import { ServiceSchema } from '#model/service-schema'

/**
 * One type of event in a tenant's stream: which permission it needs, whether it names a device or a service, its
 * audience, and its form on the wire. §6, contract 4.
 */
export interface EventKind {
  /** Read permission on this resource is required. */
  readonly resource: Resource
  /** The subscriber's devices must include `deviceIdentifier`. */
  readonly hasDevice: boolean
  /**
   * The subscriber's services must include `serviceIdentifier`; if the event has a device, in the same grant as the
   * device.
   */
  readonly hasService: boolean
  /** The subscriber's devices must include all devices that the resource in the event is bound to. Contract 5.1. */
  readonly isBound?: true
  /**
   * `scope`: every subscriber whose grants cover the event. `owner`: only sessions of the user who owns the
   * notification subscription, never another user with the same permissions.
   */
  readonly audience: 'scope' | 'owner'
  readonly schema: z.ZodObject
}

const device = { deviceIdentifier: DeviceIdentifier }
const service = { serviceIdentifier: ServiceIdentifier }
const resource = { resourceIdentifier: ResourceIdentifier }
const nothing = z.object({})

/** The whole resource, as its endpoint returns it. */
const whole = z.record(z.string(), z.unknown())

export const eventKinds = {
  /**
   * One event for each report of a device, with its items in order, and one for each service whose declaration changed
   * something. A report is an UPDATE, or consecutive updates of one service and time in a POST. `timestamp` is the
   * device's own time if the device sent a plausible one.
   */
  OBJECT_UPDATED: eventOf('OBJECT_UPDATED', 'service', {
    flakeAddress: FlakeAddress,
    ...device,
    ...service,
    updates: z.array(Property),
  }),
  /** `desired` are all desired values of the service after the change. */
  DESIRED_UPDATED: eventOf('DESIRED_UPDATED', 'service', { ...device, ...service, desired: DesiredValues }),
  DEVICE_ADD: eventOf('DEVICE_ADD', 'device', device),
  DEVICE_DELETE: eventOf('DEVICE_DELETE', 'device', device),
  /**
   * `updates` describe the device as read-only STRING properties: propId 0 is the identifier, 1 the project, from 16 on
   * the firmwares. Contract 4.
   */
  DEVICE_DISCOVERY: eventOf('DEVICE_DISCOVERY', 'updates', {
    flakeAddress: FlakeAddress,
    ...device,
    updates: z.array(Property),
  }),
  META_STATUS_CHANGE: eventOf('META_STATUS_CHANGE', 'meta', {
    ...device,
    status: DeviceStatus,
    lastMessage: Timestamp,
    lastConnect: Timestamp,
    numConnects: z.int().min(0),
  }),
  /** `meta` is the whole object after the change. */
  META_SET: eventOf('META_SET', 'meta', { ...device, meta: Meta }),
  META_DELETE: eventOf('META_DELETE', 'meta', { ...device, key: z.string() }),
  SCHEMA_ADD: eventOf('SCHEMA_ADD', 'schemas', { ...service, schema: ServiceSchema }),
  SCHEMA_UPDATE: eventOf('SCHEMA_UPDATE', 'schemas', { ...service, schema: ServiceSchema }),
  SCHEMA_DELETE: eventOf('SCHEMA_DELETE', 'schemas', service),
  /** `payload` is the Subscription, §2.6. */
  NOTIFICATION_SUBSCRIBE: eventOf('NOTIFICATION_SUBSCRIBE', 'notifications', { ...resource, payload: whole }, 'owner'),
  NOTIFICATION_SUBSCRIPTION_UPDATE: eventOf(
    'NOTIFICATION_SUBSCRIPTION_UPDATE',
    'notifications',
    { ...resource, payload: whole },
    'owner',
  ),
  NOTIFICATION_UNSUBSCRIBE: eventOf(
    'NOTIFICATION_UNSUBSCRIBE',
    'notifications',
    { ...resource, payload: nothing },
    'owner',
  ),
  /** `payload` is the alarm; `{}` if the alarm was deleted. */
  ALARM_CONFIG_UPDATE: {
    ...eventOf('ALARM_CONFIG_UPDATE', 'alarms', { ...resource, payload: whole }),
    isBound: true,
  },
  ALARM_STATUS_ACTIVE: eventOf('ALARM_STATUS_ACTIVE', 'alarms', { ...resource, ...device, since: Timestamp }),
  ALARM_STATUS_INACTIVE: eventOf('ALARM_STATUS_INACTIVE', 'alarms', { ...resource, ...device, since: Timestamp }),
  ALARM_STATUS_ACKNOWLEDGED: eventOf('ALARM_STATUS_ACKNOWLEDGED', 'alarms', {
    ...resource,
    ...device,
    since: Timestamp,
    by: z.string(),
    comment: z.string().optional(),
  }),
  /** `progress` in percent. */
  UPDATE_STATUS: eventOf('UPDATE_STATUS', 'updates', {
    ...device,
    index: FirmwareIndex,
    status: UpdateStatus,
    firmware: FirmwareVersion.optional(),
    progress: z.number().min(0).max(100).optional(),
    message: z.string().optional(),
  }),
} as const satisfies Record<string, EventKind>

export type EventType = keyof typeof eventKinds

export type EventOf<T extends EventType> = Readonly<z.infer<(typeof eventKinds)[T]['schema']>>

export type StreamEvent = { [T in EventType]: EventOf<T> }[EventType]

/** `timestamp` in Unix milliseconds; `offset` is the event's place in the tenant's stream. Contract 4.3. */
function eventOf<T extends string, S extends z.core.$ZodLooseShape>(
  type: T,
  resource: Resource,
  fields: S,
  audience: EventKind['audience'] = 'scope',
) {
  return {
    resource,
    hasDevice: 'deviceIdentifier' in fields,
    hasService: 'serviceIdentifier' in fields,
    audience,
    schema: z.object({ type: z.literal(type), timestamp: Timestamp, offset: Offset, ...fields }),
  }
}
