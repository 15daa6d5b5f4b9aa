import { securitySchemes } from '#api/access'
import { mqttTopics } from '#api/asyncapi-mqtt'
import { about } from '#api/document'
import { clientMessages, eventMessages, streamMessages } from '#api/event-messages'
import { EventsQuery } from '#api/events'
import { type JsonSchema, SchemaCollection } from '#api/json-schema'
import { deviceMessages, serverMessages } from '#api/link-messages'
import { namedSchemas } from '#api/named-schemas'
import { schemaNotes } from '#api/schema-notes'
import type { SocketMessage } from '#api/socket-message'
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
  const collection = new SchemaCollection({ named: namedSchemas(), notes: schemaNotes, target: 'draft-07' })
  const sockets = [
    linkSocket('Json'),
    linkSocket('Msgpack'),
    eventSocket('eventsByTicket', '/events/{ticket}', [], collection),
    eventSocket('events', '/events', ['bearer', 'dpop', 'apiKey'], collection),
  ]
  const namesOf = (messages: readonly SocketMessage[]) => messages.map(({ name }) => name)
  const topics = mqttTopics({
    device: namesOf(deviceMessages),
    server: namesOf(serverMessages).filter((name) => name !== 'ACK' && name !== 'A'),
    events: namesOf(eventMessages),
  })
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
      ...Object.fromEntries(sockets.map((socket) => [socket.name, channelOf(socket, collection)])),
      ...topics.channels,
    },
    operations: { ...Object.fromEntries(sockets.flatMap(operationsOf)), ...topics.operations },
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

function channelOf({ channel, contentType, received, sent }: Socket, collection: SchemaCollection): object {
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
function operationsOf({ name, received, sent, replies, security }: Socket): [string, object][] {
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
