import { securitySchemes } from '#api/access'
import { about } from '#api/descriptions'
import { documentSchemas } from '#api/document-schemas'
import { EventsQuery } from '#api/events'
import type { JsonSchema, SchemaCollection } from '#api/json-schema'
import {
  clientMessages,
  deviceMessages,
  eventMessages,
  type SocketMessage,
  serverMessages,
  streamMessages,
} from '#api/socket-messages'
import { closeCodes } from '#runtime/close-codes'

const intro = `The server has two websockets. Devices send their description and their values over the **device link**. Applications
receive **events**. Messages go both ways; this document takes the view of the server: it *receives* the messages of devices
and applications. The same messages, and values as text, are topics of **MQTT**. Paths are relative to \`/api/v1\`; the OpenAPI document describes the HTTP routes.`

const linkText = `For one device or, with a provisioning key, for many (a gateway). After HELLO and WELCOME devices number
their messages, and send unacknowledged ones again after they reconnect. Unknown fields are ignored. A frame has
at most \`LINK_FRAME_BYTES_MAX\` (256 KiB).`

const eventsText = `One JSON text a message. Open the socket, read the lists, and apply events with a higher \`offset\`; after a
disconnect, resume with the last one. The client receives all events that the caller may read, unless a filter in the query selects fewer.`

/** The close codes of the server, and their reasons. */
const closeCodeText = `Close codes: ${Object.values(closeCodes)
  .map(({ code, reason }) => `${code} ${reason}`)
  .join(', ')}.`

const subprotocols = {
  Json: { name: 'link.v1.json', contentType: 'application/json', text: 'Text frames.' },
  Msgpack: {
    name: 'link.v1.msgpack',
    contentType: 'application/msgpack',
    text: 'Binary frames: the same messages as maps and arrays, BINARY as bin, 64-bit values as int64.',
  },
} as const

/** One websocket with all its messages. */
interface Socket {
  readonly name: string
  readonly channel: object
  readonly contentType: string
  readonly received: readonly SocketMessage[]
  readonly sent: readonly SocketMessage[]
  /** By the name of the received message: the names of its replies. */
  readonly replies: Readonly<Record<string, readonly string[]>>
  readonly security: readonly (keyof typeof securitySchemes)[]
}

/**
 * The device link, the event stream and the topics of MQTT, as AsyncAPI 3.0.
 * https://www.asyncapi.com/docs/reference/specification/v3.0.0
 */
export function asyncApiDocument(): JsonSchema {
  const collection = documentSchemas('draft-07')
  const sockets = [
    linkSocket('Json'),
    linkSocket('Msgpack'),
    eventSocket('eventsByTicket', '/events/{ticket}', [], collection),
    eventSocket('events', '/events', ['bearer', 'dpop', 'apiKey'], collection),
  ]
  return collection.complete({
    asyncapi: '3.0.0',
    info: { ...about, description: intro },
    defaultContentType: 'application/json',
    servers: {
      plain: server('ws', 'A server without a proxy.'),
      encrypted: server('wss', 'Behind a proxy with a certificate.'),
      mqtt: mqttServer,
    },
    channels: {
      ...Object.fromEntries(sockets.map((socket) => [socket.name, socketChannel(socket, collection)])),
      ...Object.fromEntries(topics.map((topic) => [topic.name, topicChannel(topic)])),
    },
    operations: Object.fromEntries([
      ...sockets.flatMap(socketOperations),
      ...topics.map((topic) => [topic.name, topicOperation(topic)]),
    ]),
    components: { securitySchemes: asyncSchemes() },
  })
}

function server(protocol: 'ws' | 'wss', description: string): object {
  return {
    host: '{host}',
    protocol,
    pathname: '/api/v1',
    description,
    variables: { host: { default: 'localhost:8080', description: 'Name or address, and the port.' } },
  }
}

const mqttServer = {
  host: '{host}',
  protocol: 'mqtt',
  description: 'MQTT 3.1.1 and 5.0, also over TLS and websockets; see `docs/mqtt.md`.',
  variables: { host: { default: 'localhost:1883', description: 'Name or address, and the port.' } },
}

function linkSocket(form: keyof typeof subprotocols): Socket {
  const { name, contentType, text } = subprotocols[form]
  const headers = {
    type: 'object',
    properties: { 'Sec-WebSocket-Protocol': { type: 'string', const: name } },
    required: ['Sec-WebSocket-Protocol'],
  }
  return {
    name: `link${form}`,
    channel: {
      address: '/link',
      title: `Device link, ${name}`,
      description: `${linkText} ${text} ${closeCodeText}`,
      bindings: { ws: { method: 'GET', headers } },
    },
    contentType,
    received: deviceMessages,
    sent: serverMessages,
    replies: { HELLO: ['WELCOME', 'ERROR'], UPDATE: ['ACK', 'ERROR'], U: ['A', 'ERROR'] },
    security: ['link'],
  }
}

function eventSocket(
  name: string,
  address: string,
  security: Socket['security'],
  collection: SchemaCollection,
): Socket {
  const isByTicket = address.includes('{ticket}')
  return {
    name,
    channel: {
      address,
      title: isByTicket ? 'Events, by ticket' : 'Events, with credentials',
      description: `${eventsText} ${closeCodeText}`,
      ...(isByTicket && {
        parameters: { ticket: { description: 'From `GET /events/ticket`: valid once, for half a minute by default.' } },
      }),
      bindings: { ws: { method: 'GET', query: queryOf(collection) } },
    },
    contentType: 'application/json',
    received: clientMessages,
    sent: [...streamMessages, ...eventMessages],
    replies: { PING: ['PONG'] },
    security,
  }
}

const queryTexts: Readonly<Record<keyof typeof EventsQuery.shape, string>> = {
  types: 'Only these types of events, separated by commas.',
  devices: 'Only events of these devices.',
  services: 'Only events of these services.',
  epoch: 'With `offset`: the position after which to resume.',
  offset: 'The last received offset; or `now`, to receive STREAM first and then new events.',
}

function queryOf(collection: SchemaCollection): object {
  const fields = Object.entries(EventsQuery.shape).map(([name, field]) => [
    name,
    { ...collection.input(field), description: queryTexts[name as keyof typeof queryTexts] },
  ])
  return { type: 'object', properties: Object.fromEntries(fields) }
}

function socketChannel({ channel, contentType, received, sent }: Socket, collection: SchemaCollection): object {
  const messageOf = ({ name, summary, schema, examples }: SocketMessage, isReceived: boolean) => ({
    name,
    title: name,
    summary,
    contentType,
    payload: isReceived ? collection.input(schema) : collection.output(schema),
    examples: examples.map((payload) => ({ payload })),
  })
  const messages = [
    ...received.map((message) => [message.name, messageOf(message, true)] as const),
    ...sent.map((message) => [message.name, messageOf(message, false)] as const),
  ]
  const servers = ['plain', 'encrypted'].map((name) => ({ $ref: `#/servers/${name}` }))
  return { ...channel, servers, messages: Object.fromEntries(messages) }
}

/** One operation for each message: most have no reply. */
function socketOperations({ name, received, sent, replies, security }: Socket): [string, object][] {
  const channel = `#/channels/${name}`
  const operation = (action: 'send' | 'receive', { name: message, summary }: SocketMessage): [string, object] => {
    const replied = replies[message]
    return [
      `${name}.${message}`,
      {
        action,
        channel: { $ref: channel },
        summary,
        ...(security.length > 0 && {
          security: security.map((scheme) => ({ $ref: `#/components/securitySchemes/${scheme}` })),
        }),
        messages: [{ $ref: `${channel}/messages/${message}` }],
        ...(replied && {
          reply: {
            channel: { $ref: channel },
            messages: replied.map((answer) => ({ $ref: `${channel}/messages/${answer}` })),
          },
        }),
      },
    ]
  }
  return [
    ...received.map((message) => operation('receive', message)),
    ...sent.map((message) => operation('send', message)),
  ]
}

/** The security schemes in the terms of AsyncAPI. */
function asyncSchemes(): object {
  const { bearer, dpop, apiKey, link } = securitySchemes
  const mqtt = { type: 'userPassword', description: 'See `docs/mqtt.md`.' }
  return { bearer, dpop, apiKey: { ...apiKey, type: 'httpApiKey' }, link, mqtt }
}

/** A topic of MQTT, with messages of the websockets, or with one message of its own. */
interface Topic {
  readonly name: string
  readonly address: string
  readonly description: string
  /** From the view of the server. `receive`: clients publish to the topic. `send`: clients receive from it. */
  readonly action: 'receive' | 'send'
  /** The channel of this document whose messages the topic carries, and their names. */
  readonly of?: { readonly channel: string; readonly messages: readonly string[] }
  readonly contentType?: string
}

const parameterTexts: Readonly<Record<string, string>> = {
  deviceIdentifier: 'The device; `/`, `+`, `#` and `%` are percent-encoded. `~` for an event without device.',
  serviceIdentifier: 'The service, encoded in the same way.',
  property: 'The name of the property in the schema, percent-encoded too; `0x…` if it has no name.',
  request: 'A number that the sender chooses.',
}

const json = 'application/json'

/** The topics of MQTT. Contract 10. */
const topics: readonly Topic[] = [
  {
    ...{ name: 'mqttLink', address: 'v1/link', action: 'receive' },
    description: 'Messages of a device. With QoS 1 and 2 they are acknowledged when they are stored.',
    of: { channel: 'linkJson', messages: namesOf(deviceMessages) },
  },
  {
    ...{ name: 'mqttLinkDown', address: 'v1/link/down', action: 'send' },
    description: 'Messages to a device, which needs no subscription. PUBACK and PUBREC replace ACK.',
    of: { channel: 'linkJson', messages: namesOf(serverMessages).filter((name) => name !== 'ACK' && name !== 'A') },
  },
  {
    ...{ name: 'mqttEvents', address: 'v1/events/{deviceIdentifier}/{serviceIdentifier}', action: 'send' },
    description: 'Events that the client may read.',
    of: { channel: 'events', messages: namesOf(eventMessages) },
  },
  {
    ...{ name: 'mqttState', address: 'v1/state/{deviceIdentifier}/{serviceIdentifier}/{property}', action: 'send' },
    description: 'The value of a property as text, retained. Empty: there is none.',
    contentType: 'text/plain',
  },
  {
    ...{ name: 'mqttMeta', address: 'v1/meta/{deviceIdentifier}', action: 'send', contentType: json },
    description: 'The status of a device, `{"status":"online"}`, retained.',
  },
  {
    ...{ name: 'mqttSet', address: 'v1/set/{deviceIdentifier}/{serviceIdentifier}/{property}', action: 'receive' },
    description: 'A value as text, which is written to the device.',
    contentType: 'text/plain',
  },
  {
    ...{ name: 'mqttErrors', address: 'v1/errors', action: 'send', contentType: json },
    description: 'With MQTT 3.1.1: why a message was refused, `{"topic","message"}`. It needs no subscription.',
  },
  {
    ...{ name: 'mqttTelemetry', address: 'v1/devices/me/telemetry', action: 'receive', contentType: json },
    description: 'Values of a ThingsBoard device: `{"temperature":21.5}`, `{"ts","values"}`, or a list of them.',
  },
  {
    ...{ name: 'mqttAttributes', address: 'v1/devices/me/attributes', action: 'receive', contentType: json },
    description: 'Attributes of a ThingsBoard device. Writes to attributes are sent on the same topic.',
  },
  {
    ...{ name: 'mqttRpc', address: 'v1/devices/me/rpc/request/{request}', action: 'send', contentType: json },
    description: 'A write to a ThingsBoard device, answered on `v1/devices/me/rpc/response/{request}`.',
  },
  {
    ...{ name: 'mqttGateway', address: 'v1/gateway/telemetry', action: 'receive', contentType: json },
    description: 'Values of the devices of a ThingsBoard gateway: `{"METER-1":[…]}`.',
  },
]

function namesOf(messages: readonly SocketMessage[]): readonly string[] {
  return messages.map(({ name }) => name)
}

const ownMessage = 'message'

function topicChannel({ address, description, of, contentType }: Topic): object {
  const parameters = [...address.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
    name,
    { description: parameterTexts[name] },
  ])
  const messages = of
    ? of.messages.map((name) => [name, { $ref: `#/channels/${of.channel}/messages/${name}` }])
    : [[ownMessage, ownMessageOf(contentType)]]
  return {
    address,
    title: address,
    description,
    servers: [{ $ref: '#/servers/mqtt' }],
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
    messages: Object.fromEntries(messages),
  }
}

function ownMessageOf(contentType: string | undefined): object {
  const payload = contentType === 'text/plain' ? { type: 'string' } : {}
  return { name: ownMessage, summary: '', contentType, payload, examples: [] }
}

function topicOperation({ name, action, description, of }: Topic): object {
  return {
    action,
    channel: { $ref: `#/channels/${name}` },
    summary: description,
    security: [{ $ref: '#/components/securitySchemes/mqtt' }],
    messages: (of?.messages ?? [ownMessage]).map((message) => ({ $ref: `#/channels/${name}/messages/${message}` })),
  }
}
