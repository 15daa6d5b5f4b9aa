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

/** The topics of MQTT. `names`: the messages in the channels of the websockets, by name. Contract 10. */
export function mqttTopics(names: {
  readonly device: readonly string[]
  readonly server: readonly string[]
  readonly events: readonly string[]
}): { readonly channels: object; readonly operations: object } {
  const json = 'application/json'
  const topics: readonly Topic[] = [
    {
      ...{ name: 'mqttLink', address: 'v1/link', action: 'receive' },
      description: 'Messages of a device. With QoS 1 and 2 they are acknowledged when they are stored.',
      of: { channel: 'linkJson', messages: names.device },
    },
    {
      ...{ name: 'mqttLinkDown', address: 'v1/link/down', action: 'send' },
      description: 'Messages to a device, which needs no subscription. PUBACK and PUBREC replace ACK.',
      of: { channel: 'linkJson', messages: names.server },
    },
    {
      ...{ name: 'mqttEvents', address: 'v1/events/{deviceIdentifier}/{serviceIdentifier}', action: 'send' },
      description: 'Events that the client may read.',
      of: { channel: 'events', messages: names.events },
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
  return {
    channels: Object.fromEntries(topics.map((topic) => [topic.name, channelOf(topic)])),
    operations: Object.fromEntries(topics.map((topic) => [topic.name, operationOf(topic)])),
  }
}

const ownMessage = 'message'

function channelOf({ address, description, of, contentType }: Topic): object {
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

function operationOf({ name, action, description, of }: Topic): object {
  return {
    action,
    channel: { $ref: `#/channels/${name}` },
    summary: description,
    security: [{ $ref: '#/components/securitySchemes/mqtt' }],
    messages: (of?.messages ?? [ownMessage]).map((message) => ({ $ref: `#/channels/${name}/messages/${message}` })),
  }
}
