import {
  devicesRecord,
  type MqttSessionCommand,
  type MqttSessionState,
  noSessionDevices,
  type SaveMqttSession,
  type SessionDevices,
  type StoredMqttSession,
  type StoredMqttSubscription,
  sessionRecord,
  subscriptionsRecord,
} from '#actors/mqtt-session/state'
import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { type ActorDefinition, answer, type Decision, type RecordChange, record } from '#runtime/actor'

/** An MQTT session that outlives its connection. It is deleted when it expires without a client. Contract 10. */
export const mqttSessionActor: ActorDefinition<MqttSessionState, MqttSessionCommand, Entry> = recordActor({
  kind: 'mqtt_session',
  records: {
    [sessionRecord]: 'MQTT session',
    [devicesRecord]: 'devices of an MQTT session',
    [subscriptionsRecord]: 'subscriptions of an MQTT session',
  },
  empty: () => ({ session: undefined, devices: noSessionDevices, subscriptions: [] }),
  put,
  decisions: {
    save: decideSave,
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

function decideSave({ session }: MqttSessionState, command: SaveMqttSession): Decision<Entry> {
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
