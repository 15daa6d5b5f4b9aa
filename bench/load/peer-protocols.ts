import { reportingHello } from '#bench/load/fleet-link'
import { clientFrame, frameLengthOf, opcodeAt, opcodes, payloadAt } from '#bench/load/frames'
import { firstSequence, sampleDigits } from '#bench/load/peer-template'
import { exactly, matching, type Place, type Protocol } from '#bench/load/protocol'
import { type Step, upgradeStep } from '#bench/load/raw-socket'
import { firstPropId, serviceIdentifier } from '#bench/load/update-template'

const newline = 0x0a
const space = 0x20
const zero = 0x30

/** NATS delivers a message as `MSG <subject> <sid> <bytes>`, a line break, as many bytes, a line break. */
const letterM = 0x4d
const letterP = 0x50
/** Distinguishes `PING` from `PONG`. */
const letterI = 0x49
/** No MSG line is shorter, so the search for its end begins here. */
const natsLineBytesMin = 16

/** The server greets first. */
const natsHello: Step = { send: '', answered: matching(/^INFO .*\r\n$/) }

function natsConnect(more: string): Step {
  const options = '{"verbose":false,"pedantic":false,"lang":"raw","version":"1","protocol":1}'
  return { send: `CONNECT ${options}\r\n${more}PING\r\n`, answered: matching(/PONG\r\n$/) }
}

const nats: Protocol = {
  lengthOf(bytes, at) {
    const isMessage = bytes[at] === letterM
    const end = lineEnd(bytes, isMessage ? at + natsLineBytesMin : at)
    if (end < 0) return 0
    if (!isMessage) return at - end - 1
    let size = 0
    for (let place = end - 2, unit = 1; bytes[place] !== space; place--, unit *= 10)
      size += ((bytes[place] as number) - zero) * unit
    return end + 1 - at + size + 2
  },
  answerTo: (bytes, at) => (bytes[at] === letterP && bytes[at + 1] === letterI ? Buffer.from('PONG\r\n') : undefined),
  subscribe: () => [natsHello, natsConnect('SUB devices.*.changes 1\r\n')],
  introduce: () => [natsHello, natsConnect('')],
  publish: (device, payload) =>
    Buffer.concat([Buffer.from(`PUB devices.${device}.changes ${payload.length}\r\n`), payload, Buffer.from('\r\n')]),
}

const inbox = (link: number) => `_INBOX.${link}`
const jetStream = JSON.stringify({
  name: 'changes',
  subjects: ['devices.*.changes'],
  storage: 'file',
  retention: 'limits',
  discard: 'old',
  max_bytes: 2 ** 28,
})
const jetStreamRequest = (link: number) =>
  `PUB $JS.API.STREAM.CREATE.changes ${inbox(link)} ${jetStream.length}\r\n${jetStream}\r\n`
const letterE = 'e'.charCodeAt(0)

/** NATS stores each message in a stream on disk, and answers with its position in the stream. */
const natsStored: Protocol = {
  ...nats,
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = nats.lengthOf(bytes, at)
    if (length <= 0 || at + length > bytes.length) return Math.min(length, 0)
    // `{"stream":…` or `{"error":…`.
    const answer = bytes.indexOf(newline, at) + 1
    if (bytes[answer + 2] === letterE) throw new Error(bytes.toString('latin1', answer, at + length))
    return length
  },
  introduce: ({ number }) => [
    natsHello,
    natsConnect(`SUB ${inbox(number)} 1\r\n`),
    // The first connection creates the stream, and all others find it.
    { send: jetStreamRequest(number), answered: matching(/"config":[\s\S]*\}\r\n$/) },
  ],
  publish: (device, payload, { link }) =>
    Buffer.concat([
      Buffer.from(`PUB devices.${device}.changes ${inbox(link)} ${payload.length}\r\n`),
      payload,
      Buffer.from('\r\n'),
    ]),
}

function lineEnd(bytes: Buffer, from: number): number {
  for (let place = from; place < bytes.length; place++) if (bytes[place] === newline) return place
  return -1
}

/** RESP 2: arrays of texts with their lengths. */
function respArray(...texts: readonly (string | Buffer)[]): Buffer {
  const parts = texts.flatMap((text) => [`$${text.length}\r\n`, text, '\r\n'])
  return Buffer.concat([`*${texts.length}\r\n`, ...parts].map((part) => Buffer.from(part)))
}

const pmessageBytes = '*4\r\n$8\r\npmessage\r\n'.length

const redis: Protocol = {
  lengthOf(bytes, at) {
    // Pattern, channel, payload.
    let place = at + pmessageBytes
    for (let part = 0; part < 3; part++) {
      let size = 0
      for (place++; bytes[place] !== newline; place++) {
        if (place >= bytes.length) return 0
        const digit = (bytes[place] as number) - zero
        if (digit >= 0) size = size * 10 + digit
      }
      place += size + 3
    }
    return place - at
  },
  subscribe: () => [
    { send: respArray('PSUBSCRIBE', 'devices.*.changes'), answered: matching(/^\*3\r\n\$10\r\npsubscribe/) },
  ],
  introduce: () => [{ send: 'PING\r\n', answered: matching(/^\+PONG\r\n$/) }],
  publish: (device, payload) => respArray('PUBLISH', `devices.${device}.changes`, payload),
}

const dollar = '$'.charCodeAt(0)
/** Older entries may be dropped beyond this number. */
const redisEntriesMax = '500000'

/** Each message is an entry of a stream; the answer is its id: `$15`, a line break, the id, a line break. */
const redisStored: Protocol = {
  ...redis,
  acknowledges: true,
  lengthOf(bytes, at) {
    const end = lineEnd(bytes, at)
    if (end < 0) return 0
    if (bytes[at] !== dollar) throw new Error(bytes.toString('latin1', at, end))
    const whole = end + 1 - at + Number(bytes.toString('latin1', at + 1, end - 1)) + 2
    return at + whole > bytes.length ? 0 : whole
  },
  publish: (device, payload) =>
    respArray('XADD', 'changes', 'MAXLEN', '~', redisEntriesMax, '*', 'device', device, 'change', payload),
}

function pongTo(bytes: Buffer, at: number, end: number): Buffer | undefined {
  return opcodeAt(bytes, at) === opcodes.ping ? clientFrame(bytes.subarray(at + 2, end), opcodes.pong) : undefined
}

const websocketPublish = (_: string, payload: Buffer) => clientFrame(payload, opcodes.text)

/**
 * The server `bench/peers/websocket` sends each message that it receives at `/publish` to all sockets at `/subscribe`.
 */
const websocket: Protocol = {
  lengthOf: frameLengthOf,
  answerTo: pongTo,
  subscribe: ({ port }) => [upgradeStep({ port, path: '/subscribe' })],
  introduce: ({ port }) => [upgradeStep({ port, path: '/publish' })],
  publish: websocketPublish,
}

/** Engine.IO 4 and Socket.IO 5: digits for the types, and for an acknowledgement, precede each text. */
const enginePing = '2'.charCodeAt(0)
const enginePath = '/socket.io/?EIO=4&transport=websocket'
const socketIoSteps = (port: number, watching: readonly Step[]): readonly Step[] => [
  {
    ...upgradeStep({ port, path: enginePath }),
    answered: matching(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\n[\s\S]{2,4}0\{[\s\S]*\}$/),
  },
  { send: clientFrame(Buffer.from('40'), opcodes.text), answered: matching(/40\{[\s\S]*\}$/) },
  ...watching,
]

const socketIo: Protocol = {
  lengthOf(bytes, at) {
    const length = frameLengthOf(bytes, at)
    if (length !== 3) return length
    return at + 3 > bytes.length ? 0 : -3
  },
  answerTo: (bytes, at, end) =>
    end - at === 3 && bytes[at + 2] === enginePing ? clientFrame(Buffer.from('3'), opcodes.text) : undefined,
  subscribe: ({ port }) =>
    socketIoSteps(port, [
      { send: clientFrame(Buffer.from('420["watch"]'), opcodes.text), answered: matching(/430\[\]$/) },
    ]),
  introduce: ({ port }) => socketIoSteps(port, []),
  publish: (_, payload) =>
    clientFrame(Buffer.concat([Buffer.from('42["change",'), payload, Buffer.from(']')]), opcodes.text),
}

/** The dashboards of this server; its devices use `FleetLink`. */
const own: Protocol = {
  ...websocket,
  subscribe: ({ port, authorizations }) => [
    upgradeStep({ port, path: '/api/v1/events', authorization: authorizations?.person }),
  ],
}

/** MQTT 3.1.1, quality of service 0. §2.2: a type, then the remaining length, seven bits a byte. */

const mqttPublish = 3

function mqttPacket(head: number, body: Buffer): Buffer {
  const length: number[] = []
  for (let rest = body.length; rest > 0 || length.length === 0; rest >>= 7)
    length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
  return Buffer.concat([Buffer.of(head, ...length), body])
}

function mqttText(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length >> 8, text.length & 0xff), Buffer.from(text)])
}

/** CONNECT without a keep-alive, for a session that ends with the connection. */
export function mqttConnect({ number }: Place, user?: string): Step {
  const flags = user === undefined ? 0x02 : 0x82
  const texts = [`load${process.pid}-${number}`, ...(user === undefined ? [] : [user])]
  const body = Buffer.concat([mqttText('MQTT'), Buffer.of(4, flags, 0, 0), ...texts.map(mqttText)])
  return { send: mqttPacket(0x10, body), answered: exactly(0x20, 2, 0, 0) }
}

function mqttSubscribe(filter: string): Step {
  const body = Buffer.concat([Buffer.of(0, 1), mqttText(filter), Buffer.of(0)])
  return { send: mqttPacket(0x82, body), answered: exactly(0x90, 3, 0, 1, 0) }
}

const mqtt: Protocol = {
  lengthOf(bytes, at) {
    let length = 0
    for (let place = at + 1, shift = 0; ; place++, shift += 7) {
      if (place >= bytes.length) return 0
      const byte = bytes[place] as number
      length |= (byte & 0x7f) << shift
      if (byte > 0x7f) continue
      const whole = place + 1 - at + length
      if ((bytes[at] as number) >> 4 === mqttPublish) return whole
      return at + whole > bytes.length ? 0 : -whole
    }
  },
  subscribe: (place) => [mqttConnect(place), mqttSubscribe('devices/+/changes')],
  introduce: (place) => [mqttConnect(place)],
  publish: (device, payload) =>
    mqttPacket(mqttPublish << 4, Buffer.concat([mqttText(`devices/${device}/changes`), payload])),
}

const mqttAcknowledged = 4
/** Quality of service 1, retained: the broker has the last message of each topic in its database. */
const mqttStoredHead = (mqttPublish << 4) | 0b0011

/** Only PUBACK counts as a delivery. §3.4: PUBACK has four bytes. */
const mqttStored: Protocol = {
  ...mqtt,
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = Math.abs(mqtt.lengthOf(bytes, at))
    if (at + length > bytes.length) return 0
    return (bytes[at] as number) >> 4 === mqttAcknowledged ? length : -length
  },
  publish(device, payload, { place }) {
    // A packet id is free again when its device sends next: a link has more devices than messages in flight.
    const packetId = Buffer.of((place + 1) >> 8, (place + 1) & 0xff)
    return mqttPacket(mqttStoredHead, Buffer.concat([mqttText(`devices/${device}/changes`), packetId, payload]))
  },
}

const linkTopic = mqttText('v1/link')

/** This server: gateways publish messages of the device connection, and users subscribe to all events. Contract 10. */
const ownMqtt: Protocol = {
  ...mqtt,
  subscribe: (place) => [mqttConnect(place, 'reader'), mqttSubscribe('v1/events/+/+')],
  introduce: (place) => [
    mqttConnect(place, '*'),
    hellosStep(place.devices, (hello) => mqttPacket(mqttPublish << 4, Buffer.concat([linkTopic, hello]))),
  ],
  publish: (device) => mqttPacket(mqttPublish << 4, Buffer.concat([linkTopic, updateOf(device)])),
}

/** This server: like `ownMqtt`, but subscribers receive values as text instead of events. */
const ownMqttState: Protocol = {
  ...ownMqtt,
  subscribe: (place) => [mqttConnect(place, 'reader'), mqttSubscribe('v1/state/#')],
  /** Present values, which are retained messages, are no changes. */
  lengthOf(bytes, at) {
    const length = ownMqtt.lengthOf(bytes, at)
    const isRetained = length > 0 && ((bytes[at] as number) & 1) === 1
    if (!isRetained) return length
    return at + length > bytes.length ? 0 : -length
  },
  valueAt(bytes, at) {
    let place = at + 1
    while ((bytes[place++] as number) > 0x7f);
    return place + 2 + bytes.readUInt16BE(place)
  },
}

/** Like `ownMqtt`, but only PUBACK counts as a delivery: it is sent when the change is stored. */
const ownMqttStored: Protocol = {
  ...ownMqtt,
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = mqttStored.lengthOf(bytes, at)
    if (length < 0 && (bytes[at] as number) >> 4 === mqttPublish)
      throw new Error(bytes.toString('latin1', at, at - length))
    return length
  },
  publish(device, _, { place }) {
    const packetId = Buffer.of((place + 1) >> 8, (place + 1) & 0xff)
    return mqttPacket((mqttPublish << 4) | 0b0010, Buffer.concat([linkTopic, packetId, updateOf(device)]))
  },
}

/** The flake address of each device, from its WELCOME. */
const addresses = new Map<string, string>()
/** The fixed length of an address, because all messages of a load must have the same length. */
const addressDigits = 12

/** Sends HELLO of all devices, and waits for each WELCOME. */
function hellosStep(devices: readonly string[], packed: (hello: Buffer) => Buffer): Step {
  const hellos = devices.map((deviceIdentifier) =>
    packed(Buffer.from(JSON.stringify({ type: 'HELLO', deviceIdentifier, ...reportingHello(1) }))),
  )
  return {
    send: Buffer.concat(hellos),
    answered(text) {
      const welcomes = [...text.matchAll(/"flakeAddress":(\d+),"deviceIdentifier":"([^"]+)"[^}]*}/g)]
      if (welcomes.length < devices.length) return 0
      for (const [, address = '', device = ''] of welcomes) addresses.set(device, address)
      return text.length
    },
  }
}

/** UPDATE of one property. `sequence`: the field `seq` with its comma, where the connection needs this field. */
function updateOf(device: string, sequence = ''): Buffer {
  const address = addresses.get(device)?.padEnd(addressDigits)
  const updates = `[{"propId":${firstPropId},"value":${sampleDigits}}]`
  return Buffer.from(
    `{"type":"UPDATE","flakeAddress":${address},${sequence}"serviceIdentifier":"${serviceIdentifier}","updates":${updates}}`,
  )
}

const acknowledgement = '{"type":"ACK"'

/** This server's device connection in JSON over a websocket. Only ACK counts as a delivery. Contract 7. */
const ownJson: Protocol = {
  acknowledges: true,
  lengthOf(bytes, at) {
    const length = frameLengthOf(bytes, at)
    if (length <= 0 || at + length > bytes.length) return Math.min(length, 0)
    const from = payloadAt(bytes, at)
    const text = bytes.toString('latin1', from, from + acknowledgement.length)
    if (text !== acknowledgement) throw new Error(bytes.toString('latin1', from, at + length))
    return length
  },
  subscribe: () => [],
  introduce: ({ port, devices }) => [
    upgradeStep({ port, path: '/api/v1/link', protocol: 'link.v1.json' }),
    hellosStep(devices, (hello) => clientFrame(hello, opcodes.text)),
  ],
  publish: (device) => clientFrame(updateOf(device, `"seq":${firstSequence},`), opcodes.text),
}

export const protocols = {
  own,
  mqtt,
  nats,
  redis,
  websocket,
  'socket.io': socketIo,
  'mqtt stored': mqttStored,
  'own mqtt': ownMqtt,
  'own mqtt, state': ownMqttState,
  'own mqtt, stored': ownMqttStored,
  'own json': ownJson,
  'nats stored': natsStored,
  'redis stored': redisStored,
} as const

export type ProtocolName = keyof typeof protocols
