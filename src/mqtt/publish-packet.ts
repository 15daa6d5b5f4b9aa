import {
  type Delivery,
  type Properties,
  type ProtocolVersion,
  packetTypes,
  type Qos,
  readPublishProperties,
  variableLength,
  writePublish,
} from '#mqtt/control-packets'
import { malformed, PacketFault, protocolError, type Reason, reasons } from '#mqtt/reason-codes'

/** A message of a client. The payload is valid as long as the bytes of its packet. */
export interface Publication {
  /** Empty if only an alias names the topic. */
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: Qos
  readonly isRetained: boolean
  /** 0 with QoS 0. */
  readonly packetId: number
  readonly properties: Properties | undefined
}

/**
 * Reads PUBLISH by hand, because it is the most frequent packet. `mqtt-packet` reads only the properties.
 * MQTT 5.0 §3.3.
 * @throws PacketFault
 */
export function readPublish(first: number, body: Uint8Array, version: ProtocolVersion): Publication {
  const qos = (first >> 1) & 3
  if (qos === 3) throw malformed('QoS 3')
  if (qos === 0 && (first & 8) !== 0) throw malformed('DUP with QoS 0')
  const topicEnd = 2 + wordAt(body, 0)
  const identified = qos === 0 ? topicEnd : topicEnd + 2
  if (identified > body.length) throw malformed('PUBLISH is too short')
  const topic = readUtf8(body, 2, topicEnd)
  const packetId = qos === 0 ? 0 : wordAt(body, topicEnd)
  if (qos > 0 && packetId === 0) throw protocolError('packet identifier 0')
  let payloadFrom = identified
  let properties: Properties | undefined
  if (version === 5) {
    if (body[identified] === 0) payloadFrom++
    else {
      const read = readPublishProperties(body, identified)
      properties = read.properties
      payloadFrom = read.end
    }
  }
  return {
    topic,
    payload: body.subarray(payloadFrom),
    qos: qos as Qos,
    isRetained: (first & 1) !== 0,
    packetId,
    properties,
  }
}

/** Reads PUBACK, PUBREC, PUBREL or PUBCOMP. MQTT 5.0 §3.4 to §3.7. @throws PacketFault */
export function readAcknowledgement(body: Uint8Array, version: ProtocolVersion): { packetId: number; reason: number } {
  if (version === 4 && body.length !== 2) throw malformed('an acknowledgement has two bytes')
  const packetId = wordAt(body, 0)
  if (packetId === 0) throw protocolError('packet identifier 0')
  return { packetId, reason: body[2] ?? reasons.success }
}

const reasonCharactersMax = 1_024

/** `message` is only sent in version 5, with a reason other than success. */
export function writeAcknowledgement(
  type: 4 | 5 | 6 | 7,
  packetId: number,
  version: ProtocolVersion,
  reason: Reason = reasons.success,
  message = '',
): Uint8Array {
  const first = (type << 4) | (type === packetTypes.pubrel ? 2 : 0)
  if (version === 4 || reason === reasons.success) return shortAcknowledgement(first, packetId)
  const text = Buffer.from(message.slice(0, reasonCharactersMax).toWellFormed())
  const properties = message === '' ? Buffer.of(0) : propertyOf(reasonString, text)
  return Buffer.concat([
    Buffer.of(first),
    variableLength(3 + properties.length),
    Buffer.of(packetId >> 8, packetId & 0xff, reason),
    properties,
  ])
}

/** Packets for low packet identifiers, which most clients reuse all the time. */
const shortAcknowledgements: (Uint8Array | undefined)[] = []
const sharedIdentifiers = 1_024

function shortAcknowledgement(first: number, packetId: number): Uint8Array {
  if (packetId >= sharedIdentifiers) return Uint8Array.of(first, 2, packetId >> 8, packetId & 0xff)
  const place = (first >> 4) * sharedIdentifiers + packetId
  shortAcknowledgements[place] ??= Uint8Array.of(first, 2, packetId >> 8, packetId & 0xff)
  return shortAcknowledgements[place]
}

const reasonString = 0x1f

/** A list of properties with one string. */
function propertyOf(identifier: number, text: Buffer): Buffer {
  const length = text.length
  return Buffer.concat([variableLength(3 + length), Buffer.of(identifier, length >> 8, length & 0xff), text])
}

/** MQTT 5.0 §3.3. */
export function writeDelivery(message: Delivery, version: ProtocolVersion): Uint8Array {
  if (version === 5 && message.properties) return writePublish(message, message.properties)
  const { topic, payload, qos, packetId = 0 } = message
  const topicBytes = Buffer.byteLength(topic)
  const payloadBytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length
  const length = 2 + topicBytes + (qos > 0 ? 2 : 0) + (version === 5 ? 1 : 0) + payloadBytes
  const head = variableLength(length)
  const packet = Buffer.allocUnsafe(1 + head.length + length)
  packet[0] = 0x30 | (message.isDuplicate ? 8 : 0) | (qos << 1) | (message.isRetained ? 1 : 0)
  packet.set(head, 1)
  let at = packet.writeUInt16BE(topicBytes, 1 + head.length)
  at += packet.write(topic, at)
  if (qos > 0) at = packet.writeUInt16BE(packetId, at)
  if (version === 5) packet[at++] = 0
  if (typeof payload === 'string') packet.write(payload, at)
  else packet.set(payload, at)
  return packet
}

/** The packet of a message. If the message has `packets`, it is written only once for each protocol version. */
export function deliveryPacket(message: Delivery, version: ProtocolVersion): Uint8Array {
  const { packets } = message
  if (!packets) return writeDelivery(message, version)
  packets[version] ??= writeDelivery(message, version)
  return packets[version]
}

function wordAt(body: Uint8Array, at: number): number {
  if (at + 2 > body.length) throw malformed('the packet is too short')
  return ((body[at] as number) << 8) | (body[at + 1] as number)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a UTF-8 string without U+0000. MQTT 5.0 §1.5.4.
 * @throws PacketFault
 */
function readUtf8(bytes: Uint8Array, from: number, end: number): string {
  let isAscii = true
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === 0) throw malformed('a string contains U+0000')
    if (byte >= 0x80) isAscii = false
  }
  if (isAscii) return Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString('latin1')
  try {
    return decoder.decode(bytes.subarray(from, end))
  } catch {
    throw malformed('a string is not valid UTF-8')
  }
}

/** Topics that a client names by a number. MQTT 5.0 §3.3.2.3.4. */
export class TopicAliases {
  readonly #highest: number
  #topics: Map<number, string> | undefined

  constructor(highest: number) {
    this.#highest = highest
  }

  /** @throws PacketFault */
  topicOf({ topic, properties }: Pick<Publication, 'topic' | 'properties'>): string {
    const alias = properties?.topicAlias
    if (alias === undefined) return topic
    if (alias === 0 || alias > this.#highest) throw new PacketFault(reasons.topicAliasInvalid, `alias ${alias}`)
    this.#topics ??= new Map()
    if (topic !== '') this.#topics.set(alias, topic)
    const known = this.#topics.get(alias)
    if (known === undefined) throw protocolError(`alias ${alias} has no topic`)
    return known
  }
}
