import { createAlarm } from '#api/alarms'
import { putSchema } from '#api/schemas'
import type { SocketMessage } from '#api/socket-message'
import { exampleDevice, exampleProperty, exampleService } from '#api/state-shape'
import { updateSubscription } from '#api/subscriptions'
import { type EventType, eventKinds } from '#model/event'
import { PingMessage, PongMessage, ResyncMessage, StreamMessage } from '#model/stream-message'

/** What is said on a websocket of events. §6, contract 4. */

const timestamp = 1_790_000_000_000
const epoch = 'NekQiTGmUDJb42SF'
const { timestamp: _, ...property } = exampleProperty
const alarm = createAlarm.example.answer as { readonly resourceIdentifier: string }
const subscription = updateSubscription.example.answer as { readonly resourceIdentifier: string }
const { schema } = putSchema.example.answer as { readonly schema: object }
const own = { ...property, type: 'STRING' }

/** When it is sent, and its fields beside type, timestamp and offset. */
const events: Readonly<Record<EventType, readonly [summary: string, fields: object]>> = {
  OBJECT_UPDATED: [
    'Properties of a service of a device were reported, declared with another value, or removed',
    { flakeAddress: 5, deviceIdentifier: exampleDevice, serviceIdentifier: exampleService, updates: [property] },
  ],
  DEVICE_ADD: ['A device was made', { deviceIdentifier: exampleDevice }],
  DEVICE_DELETE: ['A device was removed', { deviceIdentifier: exampleDevice }],
  DEVICE_DISCOVERY: [
    'A device said what it is: propId 0 its identifier, 1 its project, of firmware i 16·(i+1) the version and one more the hardware',
    {
      flakeAddress: 5,
      deviceIdentifier: exampleDevice,
      updates: [
        { ...own, propId: 0, value: exampleDevice },
        { ...own, propId: 1, value: 'climate' },
        { ...own, propId: 16, value: '1.4.0' },
      ],
    },
  ],
  META_STATUS_CHANGE: [
    'A device came, went, or does not answer',
    {
      deviceIdentifier: exampleDevice,
      status: 'online',
      lastMessage: timestamp,
      lastConnect: timestamp,
      numConnects: 1,
    },
  ],
  META_SET: ['What is noted about a device was changed', { deviceIdentifier: exampleDevice, meta: { owner: 'Ann' } }],
  META_DELETE: ['A key of it was removed', { deviceIdentifier: exampleDevice, key: 'owner' }],
  SCHEMA_ADD: ['A service was described', { serviceIdentifier: exampleService, schema }],
  SCHEMA_UPDATE: ['It was described anew', { serviceIdentifier: exampleService, schema }],
  SCHEMA_DELETE: ['Its description was removed', { serviceIdentifier: exampleService }],
  NOTIFICATION_SUBSCRIBE: [
    'Somebody subscribed; heard by his own sockets alone',
    { resourceIdentifier: subscription.resourceIdentifier, payload: subscription },
  ],
  NOTIFICATION_SUBSCRIPTION_UPDATE: [
    'He changed the language; heard by his own sockets alone',
    { resourceIdentifier: subscription.resourceIdentifier, payload: subscription },
  ],
  NOTIFICATION_UNSUBSCRIBE: [
    'A subscription ended; heard by his own sockets alone',
    { resourceIdentifier: subscription.resourceIdentifier, payload: {} },
  ],
  ALARM_CONFIG_UPDATE: [
    'An alarm was made, changed or, with an empty `payload`, removed',
    { resourceIdentifier: alarm.resourceIdentifier, payload: alarm },
  ],
  ALARM_STATUS_ACTIVE: [
    'An alarm came to be active on a device',
    { resourceIdentifier: alarm.resourceIdentifier, deviceIdentifier: exampleDevice, since: timestamp },
  ],
  ALARM_STATUS_INACTIVE: [
    'It is active there no more',
    { resourceIdentifier: alarm.resourceIdentifier, deviceIdentifier: exampleDevice, since: timestamp },
  ],
  UPDATE_STATUS: [
    'An update of the firmware of a device went on',
    { deviceIdentifier: exampleDevice, index: 0, status: 'DOWNLOADING', firmware: '2.1.0', progress: 40 },
  ],
}

export const eventMessages: readonly SocketMessage[] = (Object.keys(eventKinds) as EventType[]).map((type) => {
  const [summary, fields] = events[type]
  return {
    name: type,
    summary: `${summary}. For who may \`read\` \`${eventKinds[type].resource}\``,
    schema: eventKinds[type].schema,
    examples: [{ type, timestamp, offset: 25, ...fields }],
  }
})

export const streamMessages: readonly SocketMessage[] = [
  {
    name: 'STREAM',
    summary: 'First of all, to who named a position: whether everything since then follows',
    schema: StreamMessage,
    examples: [{ type: 'STREAM', epoch, offset: 24, recovered: true }],
  },
  {
    name: 'RESYNC',
    summary: 'What lies before this position was missed, or may be heard otherwise now: read the state anew',
    schema: ResyncMessage,
    examples: [{ type: 'RESYNC', epoch, offset: 2558 }],
  },
  {
    name: 'PONG',
    summary: 'The position up to which everything was sent',
    schema: PongMessage,
    examples: [{ type: 'PONG', epoch, offset: 2558 }],
  },
]

export const clientMessages: readonly SocketMessage[] = [
  { name: 'PING', summary: 'Asks for the position', schema: PingMessage, examples: [{ type: 'PING' }] },
]
