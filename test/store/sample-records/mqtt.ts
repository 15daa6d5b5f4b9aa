import { deviceTokenActor, deviceTokenAddress, ownerRecord } from '#actors/device-token/device-token'
import {
  devicesRecord,
  mqttSessionActor,
  mqttSessionAddress,
  type StoredMqttSession,
  type StoredMqttSubscription,
  sessionRecord,
  subscriptionsRecord,
} from '#actors/mqtt-session/mqtt-session'

const session = mqttSessionAddress('acme', 'key 9aBcDeFgHj', 'Küche')
const stored: StoredMqttSession = {
  open: [1, 65_535],
  endsAt: 1_763_700_000_000,
  position: { epoch: 'q83v', offset: 9 },
}
const subscriptions: readonly StoredMqttSubscription[] = [
  { topic: 'v1/events/+/#', qos: 1 },
  { topic: '$share/a/b', qos: 2, nl: false, rap: true, rh: 1, identifier: 268_435_455 },
]

/** Records of MQTT. */
export const mqttSamples = [
  ['mqtt-session', mqttSessionActor, session, sessionRecord, stored],
  ['mqtt-session-devices', mqttSessionActor, session, devicesRecord, { '#$ABC-1': ['climate', 'pump'], B: [] }],
  ['mqtt-session-subscriptions', mqttSessionActor, session, subscriptionsRecord, subscriptions],
  [
    'device-token-owner',
    deviceTokenActor,
    deviceTokenAddress('n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'),
    ownerRecord,
    { tenant: 'acme', device: '#$ABC-1' },
  ],
] as const
