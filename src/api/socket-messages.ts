import { z } from 'zod'
import { createAlarm } from '#api/alarms'
import { updateSubscription } from '#api/notifications'
import { putSchema } from '#api/schemas'
import { exampleDevice, exampleProperty, exampleService } from '#api/state-shape'
import { type EventType, eventKinds } from '#model/event'
import { Offset } from '#model/identifier'
import * as model from '#model/link-message'

/** One message of a websocket. */
export interface SocketMessage {
  /** The value of `type`. */
  readonly name: string
  readonly summary: string
  readonly schema: z.ZodType
  /** In their JSON form. */
  readonly examples: readonly unknown[]
}

/** Messages on an event socket. §6, contract 4. */

const position = { epoch: z.string(), offset: Offset }

/**
 * The first message to a client that asked for a position: either all events since then follow, or the client must read
 * the full state.
 */
const StreamMessage = z.object({ type: z.literal('STREAM'), ...position, recovered: z.boolean() })

/** Events before this position were missed: the client must read the full state. */
const ResyncMessage = z.object({ type: z.literal('RESYNC'), ...position })

/** Asks for the position, and whether the server is alive. */
const PingMessage = z.object({ type: z.literal('PING') })

const PongMessage = z.object({ type: z.literal('PONG'), ...position })

const timestamp = 1_790_000_000_000
const epoch = 'NekQiTGmUDJb42SF'
const { timestamp: _, ...property } = exampleProperty
const alarm = createAlarm.example.answer as { readonly resourceIdentifier: string }
const subscription = updateSubscription.example.answer as { readonly resourceIdentifier: string }
const { schema } = putSchema.example.answer as { readonly schema: object }
const own = { ...property, type: 'STRING' }

/** The cause of each event, and its fields in addition to type, timestamp and offset. */
const events: Readonly<Record<EventType, readonly [summary: string, fields: object]>> = {
  OBJECT_UPDATED: [
    'Properties of a service of a device were reported, declared with another value, or removed',
    { flakeAddress: 5, deviceIdentifier: exampleDevice, serviceIdentifier: exampleService, updates: [property] },
  ],
  DESIRED_UPDATED: [
    'The desired values of a service of a device changed',
    {
      ...{ deviceIdentifier: exampleDevice, serviceIdentifier: exampleService },
      desired: { '8192': { value: 22.5, since: timestamp, status: 'PENDING' } },
    },
  ],
  DEVICE_ADD: ['A device was created', { deviceIdentifier: exampleDevice }],
  DEVICE_DELETE: ['A device was deleted', { deviceIdentifier: exampleDevice }],
  DEVICE_DISCOVERY: [
    'A device sent its description: propId 0 its identifier, 1 its project; for firmware i 16·(i+1) its version and 16·(i+1)+1 its hardware',
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
    'A device connected, disconnected, or does not answer',
    {
      deviceIdentifier: exampleDevice,
      status: 'online',
      lastMessage: timestamp,
      lastConnect: timestamp,
      numConnects: 1,
    },
  ],
  META_SET: ['The metadata of a device changed', { deviceIdentifier: exampleDevice, meta: { owner: 'Ann' } }],
  META_DELETE: ['A key of the metadata was deleted', { deviceIdentifier: exampleDevice, key: 'owner' }],
  SCHEMA_ADD: ['The schema of a service was created', { serviceIdentifier: exampleService, schema }],
  SCHEMA_UPDATE: ['The schema was replaced', { serviceIdentifier: exampleService, schema }],
  SCHEMA_DELETE: ['The schema was deleted', { serviceIdentifier: exampleService }],
  NOTIFICATION_SUBSCRIBE: [
    `A user subscribed; only the user's own sockets receive this`,
    { resourceIdentifier: subscription.resourceIdentifier, payload: subscription },
  ],
  NOTIFICATION_SUBSCRIPTION_UPDATE: [
    `A user changed the language of a subscription; only the user's own sockets receive this`,
    { resourceIdentifier: subscription.resourceIdentifier, payload: subscription },
  ],
  NOTIFICATION_UNSUBSCRIBE: [
    `A subscription ended; only the user's own sockets receive this`,
    { resourceIdentifier: subscription.resourceIdentifier, payload: {} },
  ],
  ALARM_CONFIG_UPDATE: [
    'An alarm was created, changed or, with an empty `payload`, deleted',
    { resourceIdentifier: alarm.resourceIdentifier, payload: alarm },
  ],
  ALARM_STATUS_ACTIVE: [
    'An alarm became active on a device',
    { resourceIdentifier: alarm.resourceIdentifier, deviceIdentifier: exampleDevice, since: timestamp },
  ],
  ALARM_STATUS_INACTIVE: [
    'An alarm became inactive on a device',
    { resourceIdentifier: alarm.resourceIdentifier, deviceIdentifier: exampleDevice, since: timestamp },
  ],
  ALARM_STATUS_ACKNOWLEDGED: [
    'A user or an API key acknowledged an alarm on a device',
    {
      ...{ resourceIdentifier: alarm.resourceIdentifier, deviceIdentifier: exampleDevice, since: timestamp },
      ...{ by: 'crn#user:5Tz8vKq3Mn', comment: 'A technician is on the way' },
    },
  ],
  UPDATE_STATUS: [
    'An update of the firmware of a device changed its state',
    { deviceIdentifier: exampleDevice, index: 0, status: 'DOWNLOADING', firmware: '2.1.0', progress: 40 },
  ],
}

export const eventMessages = (Object.keys(eventKinds) as EventType[]).map((type) => {
  const [summary, fields] = events[type]
  const { resource, schema: fieldsOfEvent } = eventKinds[type]
  const whole = `${summary}. Requires \`read\` on \`${resource}\``
  return message(type, whole, fieldsOfEvent, { timestamp, offset: 25, ...fields })
})

export const streamMessages = [
  message(
    'STREAM',
    'The first message, if the client gave a position: whether all events since then follow',
    StreamMessage,
    {
      epoch,
      offset: 24,
      recovered: true,
    },
  ),
  message(
    'RESYNC',
    `Events before this position were missed, or the caller's permissions changed: read the full state`,
    ResyncMessage,
    { epoch, offset: 2558 },
  ),
  message('PONG', 'The position up to which all events were sent', PongMessage, { epoch, offset: 2558 }),
]

export const clientMessages = [message('PING', 'Asks for the position', PingMessage, {})]

/** Messages between devices and the server over a link. Contract 7. */

const flakeAddress = 5
const write = 'w:yHCgQx6nQ0Gk3z5rXo1d2A'
const offer = '5f1c0e2ab7d94c33a0d1e29b44c7f610'
const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

export const deviceMessages = [
  message(
    'HELLO',
    'The description of a device and its services; replaces the earlier declaration',
    model.HelloMessage,
    {
      deviceIdentifier: exampleDevice,
      session: 'boot-1',
      project: 'climate',
      firmwares: [{ firmware: '1.4.0', hardware: 'rev-b', index: 0 }],
      services: [
        {
          serviceIdentifier: exampleService,
          properties: [
            { propId: 8192, type: 'FLOAT', value: 21.5, modifier: { isVolatile: true } },
            { propId: 8193, type: 'UINT8' },
          ],
        },
      ],
    },
  ),
  message(
    'UPDATE',
    'Values of one service, or errors in their place, in the order in which they arose',
    model.UpdateMessage,
    {
      flakeAddress,
      seq: 1,
      serviceIdentifier: exampleService,
      updates: [
        { propId: 8192, value: 21.6 },
        { propId: 8193, error: 'no reading' },
      ],
      timestamp,
    },
  ),
  message(
    'U',
    'UPDATE in short form: flakeAddress, seq, index of the service in HELLO, pairs of propId and value (an error is `{"e":"…"}`), and timestamp',
    model.ShortUpdateMessage,
    [flakeAddress, 2, 0, [8192, 21.6, 8193, { e: 'no reading' }], timestamp],
    [flakeAddress, 3, 0, [8192, 21.7]],
  ),
  message('RESULT', 'The results of a WRITE, one for each property', model.ResultMessage, {
    flakeAddress,
    id: write,
    results: [
      { propId: 8192, status: 'OK' },
      { propId: 8193, status: 'REJECTED', message: 'window open' },
    ],
  }),
  message('FIRMWARE_STATUS', 'The progress of a firmware update on the device', model.FirmwareStatusMessage, {
    flakeAddress,
    id: offer,
    status: 'DOWNLOADING',
    progress: 40,
  }),
  message('BYE', 'The device disconnects; other devices stay connected by the same link', model.ByeMessage, {
    flakeAddress,
  }),
]

export const serverMessages = [
  message(
    'WELCOME',
    'The device may send; `seq` is the last stored message of its session, `secret` comes once',
    model.WelcomeMessage,
    { flakeAddress, deviceIdentifier: exampleDevice, seq: 0, window: model.linkWindowMessages, timestamp },
  ),
  message('ACK', 'All messages up to `seq` are stored, or were refused for their content', model.AckMessage, {
    flakeAddress,
    seq: 1,
  }),
  message('A', 'ACK in short form, for devices that send short forms: flakeAddress, seq', model.ShortAckMessage, [
    flakeAddress,
    2,
  ]),
  message(
    'WRITE',
    'Asks the device to change properties; may be sent repeatedly with the same `id`, and must take effect once',
    model.WriteMessage,
    {
      flakeAddress,
      id: write,
      serviceIdentifier: exampleService,
      updates: [
        { propId: 8192, value: 22.5 },
        { propId: 8193, value: 3 },
      ],
    },
  ),
  message(
    'FIRMWARE',
    'Offers a firmware; the device reads its image at `url`, without credentials',
    model.FirmwareMessage,
    {
      flakeAddress,
      id: offer,
      firmware: '2.1.0',
      hardware: 'rev-b',
      index: 0,
      url: `https://devices.example/api/v1/updates/images/${sha256}?device=${exampleDevice}&exp=1790086400000&sig=Zm9v`,
      sha256,
      size: 262_144,
    },
  ),
  message(
    'ERROR',
    'An error for the message `seq`, for the device, or, without either, for the link',
    model.ErrorMessage,
    { code: 'BAD_VALUE', message: 'property 8192 must be a finite single-precision number', flakeAddress, seq: 3 },
  ),
]

/** A message with examples in their JSON form: the fields of an object, or the rest of an array, after its type. */
function message(
  name: string,
  summary: string,
  schema: z.ZodType,
  ...examples: readonly (object | readonly unknown[])[]
): SocketMessage {
  const whole = examples.map((rest) => (Array.isArray(rest) ? [name, ...rest] : { type: name, ...rest }))
  return { name, summary, schema, examples: whole }
}
