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
  OBJECT_UPDATED: {
    ...deviceEvent('OBJECT_UPDATED', 'service', {
      flakeAddress: FlakeAddress,
      ...device,
      ...service,
      updates: z.array(Property),
    }),
    hasService: true,
  },
  /** `desired` are all desired values of the service after the change. */
  DESIRED_UPDATED: {
    ...deviceEvent('DESIRED_UPDATED', 'service', { ...device, ...service, desired: DesiredValues }),
    hasService: true,
  },
  DEVICE_ADD: deviceEvent('DEVICE_ADD', 'device', device),
  DEVICE_DELETE: deviceEvent('DEVICE_DELETE', 'device', device),
  /**
   * `updates` describe the device as read-only STRING properties: propId 0 is the identifier, 1 the project, from 16 on
   * the firmwares. Contract 4.
   */
  DEVICE_DISCOVERY: deviceEvent('DEVICE_DISCOVERY', 'updates', {
    flakeAddress: FlakeAddress,
    ...device,
    updates: z.array(Property),
  }),
  META_STATUS_CHANGE: deviceEvent('META_STATUS_CHANGE', 'meta', {
    ...device,
    status: DeviceStatus,
    lastMessage: Timestamp,
    lastConnect: Timestamp,
    numConnects: z.int().min(0),
  }),
  /** `meta` is the whole object after the change. */
  META_SET: deviceEvent('META_SET', 'meta', { ...device, meta: Meta }),
  META_DELETE: deviceEvent('META_DELETE', 'meta', { ...device, key: z.string() }),
  SCHEMA_ADD: schemaEvent('SCHEMA_ADD', { ...service, schema: ServiceSchema }),
  SCHEMA_UPDATE: schemaEvent('SCHEMA_UPDATE', { ...service, schema: ServiceSchema }),
  SCHEMA_DELETE: schemaEvent('SCHEMA_DELETE', service),
  /** `payload` is the Subscription, §2.6. */
  NOTIFICATION_SUBSCRIBE: ownerEvent('NOTIFICATION_SUBSCRIBE', { ...resource, payload: whole }),
  NOTIFICATION_SUBSCRIPTION_UPDATE: ownerEvent('NOTIFICATION_SUBSCRIPTION_UPDATE', { ...resource, payload: whole }),
  NOTIFICATION_UNSUBSCRIBE: ownerEvent('NOTIFICATION_UNSUBSCRIBE', { ...resource, payload: nothing }),
  /** `payload` is the alarm; `{}` if the alarm was deleted. */
  ALARM_CONFIG_UPDATE: {
    resource: 'alarms',
    hasDevice: false,
    hasService: false,
    isBound: true,
    audience: 'scope',
    schema: shape('ALARM_CONFIG_UPDATE', { ...resource, payload: whole }),
  },
  ALARM_STATUS_ACTIVE: deviceEvent('ALARM_STATUS_ACTIVE', 'alarms', { ...resource, ...device, since: Timestamp }),
  ALARM_STATUS_INACTIVE: deviceEvent('ALARM_STATUS_INACTIVE', 'alarms', { ...resource, ...device, since: Timestamp }),
  ALARM_STATUS_ACKNOWLEDGED: deviceEvent('ALARM_STATUS_ACKNOWLEDGED', 'alarms', {
    ...resource,
    ...device,
    since: Timestamp,
    by: z.string(),
    comment: z.string().optional(),
  }),
  /** `progress` in percent. */
  UPDATE_STATUS: deviceEvent('UPDATE_STATUS', 'updates', {
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
function shape<T extends string, S extends z.core.$ZodLooseShape>(type: T, fields: S) {
  return z.object({ type: z.literal(type), timestamp: Timestamp, offset: Offset, ...fields })
}

function deviceEvent<T extends string, S extends z.core.$ZodLooseShape>(type: T, readable: Resource, fields: S) {
  const schema = shape(type, fields)
  return { resource: readable, hasDevice: true, hasService: false, audience: 'scope', schema } as const
}

function schemaEvent<T extends string, S extends z.core.$ZodLooseShape>(type: T, fields: S) {
  const schema = shape(type, fields)
  return { resource: 'schemas', hasDevice: false, hasService: true, audience: 'scope', schema } as const
}

function ownerEvent<T extends string, S extends z.core.$ZodLooseShape>(type: T, fields: S) {
  const schema = shape(type, fields)
  return { resource: 'notifications', hasDevice: false, hasService: false, audience: 'owner', schema } as const
}
