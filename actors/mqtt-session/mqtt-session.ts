import { hash } from 'node:crypto'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import {
  type ActorAddress,
  answer,
  type CommandOf,
  type Decision,
  type NoFields,
  type RecordChange,
  record,
} from '#runtime/actor'
import type { Reminded } from '#runtime/system'

/** The part of a persistent MQTT session that outlives this process. Contract 10. */
export interface MqttSessionState {
  session: StoredMqttSession | undefined
  devices: SessionDevices
  subscriptions: readonly StoredMqttSubscription[]
}

export interface StoredMqttSession {
  /** Packet identifiers of QoS 2 whose messages are stored, and that the client has not released. */
  readonly open: PacketIds
  /** When the session expires if no client is connected, Unix ms. */
  readonly endsAt: number
  /**
   * The position in the stream up to which the client has acknowledged all events. Absent in sessions without
   * subscriptions to events.
   */
  readonly position?: StoredPosition
}

/** A list of packet identifiers; if it would be long, a bit for each possible identifier. */
export type PacketIds = readonly number[] | Uint8Array

const listedIdsMax = 1_024
const possibleIds = 65_536

/** A client may leave tens of thousands of messages open, and each further message stores all identifiers. */
export function packedIds(ids: ReadonlySet<number>): PacketIds {
  if (ids.size <= listedIdsMax) return [...ids]
  const bits = new Uint8Array(possibleIds / 8)
  for (const id of ids) bits[id >> 3] = (bits[id >> 3] as number) | (1 << (id & 7))
  return bits
}

export function idsIn(packed: PacketIds): number[] {
  if (!(packed instanceof Uint8Array)) return [...packed]
  return Array.from({ length: possibleIds }, (_, id) => id).filter(
    (id) => (packed[id >> 3] as number) & (1 << (id & 7)),
  )
}

export interface StoredPosition {
  readonly epoch: string
  readonly offset: number
}

/** A subscription, with the names of the fields in SUBSCRIBE. */
export interface StoredMqttSubscription {
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly nl?: boolean | undefined
  readonly rap?: boolean | undefined
  readonly rh?: number | undefined
  readonly identifier?: number | undefined
}

/** The services of each connected device in the order of its HELLO. Short messages name a service by its index. */
export type SessionDevices = Readonly<Record<string, readonly string[]>>

export const noSessionDevices: SessionDevices = Object.freeze({})

export const sessionRecord = 'session'
export const devicesRecord = 'devices'
export const subscriptionsRecord = 'subscriptions'

export interface MqttSessionCommands extends Reminded {
  /**
   * Sent in the commit of the change that it belongs to. `devices` or `subscriptions` absent: unchanged. `position`
   * absent: the session has no position.
   */
  save: {
    readonly open: PacketIds
    readonly endsAt: number
    readonly position?: StoredPosition | undefined
    readonly devices?: SessionDevices
    readonly subscriptions?: readonly StoredMqttSubscription[]
  }
  forget: NoFields
}

export type MqttSessionCommand = CommandOf<MqttSessionCommands>

/**
 * `principal`: names the device, gateway or program that signed in. Another principal with the same client identifier
 * has another session.
 */
export function mqttSessionAddress(
  tenant: string,
  principal: string,
  clientId: string,
): ActorAddress<MqttSessionState, MqttSessionCommand> {
  return { kind: 'mqtt_session', tenant, id: hash('sha256', `${principal}\n${clientId}`, 'base64url') }
}

/** An MQTT session that outlives its connection. It is deleted when it expires without a client. Contract 10. */
export const mqttSessionActor = recordActor<MqttSessionState, MqttSessionCommands>({
  kind: 'mqtt_session',
  records: {
    [sessionRecord]: 'MQTT session',
    [devicesRecord]: 'devices of an MQTT session',
    [subscriptionsRecord]: 'subscriptions of an MQTT session',
  },
  empty: () => ({ session: undefined, devices: noSessionDevices, subscriptions: [] }),
  put,
  decisions: {
    save({ session }, command) {
      const { open, endsAt, position, devices, subscriptions } = command
      const saved: StoredMqttSession = { open, endsAt, ...(position && { position }) }
      return recordsWithoutEntry(
        [
          { name: sessionRecord, value: saved },
          ...(devices ? [{ name: devicesRecord, value: devices }] : []),
          ...(subscriptions ? [{ name: subscriptionsRecord, value: subscriptions }] : []),
        ],
        endsAt === session?.endsAt ? {} : { reminder: endsAt },
      )
    },

    forget: decideForget,
    reminder_due: (state, _, turn) => {
      if (!state.session || state.session.endsAt <= turn.now) return decideForget(state)
      return record<Entry>([], { reminder: state.session.endsAt })
    },
  },
})

function put(state: MqttSessionState, { name, value }: RecordChange): void {
  if (name === sessionRecord) state.session = (value as StoredMqttSession | null) ?? undefined
  else if (name === subscriptionsRecord) state.subscriptions = (value as StoredMqttSubscription[] | null) ?? []
  else state.devices = (value as SessionDevices | null) ?? noSessionDevices
}

function decideForget({ session }: MqttSessionState): Decision<Entry> {
  if (!session) return answer(undefined)
  return recordsWithoutEntry(
    [
      { name: sessionRecord, value: null },
      { name: devicesRecord, value: null },
      { name: subscriptionsRecord, value: null },
    ],
    { reminder: null },
  )
}
