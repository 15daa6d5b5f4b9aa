import { generate, type Packet, parser } from 'mqtt-packet'
import { z } from 'zod'
import { malformed, PacketFault, protocolError, type Reason, reasons, returnCodeOf } from '#mqtt/reason-codes'

/**
 * This module handles the properties of PUBLISH, and all packets except PUBLISH and its acknowledgements. They are
 * rare, so the package `mqtt-packet` unpacks them after our own framing. A schema checks the result, because the
 * package accepts misplaced and repeated properties, and any bytes as text.
 */

/** 4 is MQTT 3.1.1. */
export type ProtocolVersion = 4 | 5
export type Qos = 0 | 1 | 2

/** The packets that a client may send. MQTT 5.0 §2.1.2. */
export const packetTypes = {
  connect: 1,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  unsubscribe: 10,
  pingreq: 12,
  disconnect: 14,
} as const

/** The largest packet that is unpacked: 32 KiB of the shortest strings or properties take some milliseconds. */
const controlBytesMax = 32 * 1024
const clientIdentifierCharactersMax = 256
const userNameCharactersMax = 512
const passwordBytesMax = 4_096

const uint32 = z.int().min(0).max(0xffff_ffff)
const uint16 = z.int().min(0).max(0xffff)
const packetIdentifier = z.int().min(1).max(0xffff)
const bytes = z.instanceof(Uint8Array)
/** The package replaces invalid UTF-8 by U+FFFD. U+FFFD is refused, because no client has a reason to send it. */
const text = z.string().refine((value) => !/[\0\uFFFD]/.test(value), 'must be UTF-8 without U+0000')
const userProperties = z.record(text, z.union([text, z.array(text)])).optional()

const PublishProperties = z.strictObject({
  payloadFormatIndicator: z.boolean().optional(),
  messageExpiryInterval: uint32.optional(),
  topicAlias: uint16.optional(),
  responseTopic: text.optional(),
  correlationData: bytes.optional(),
  contentType: text.optional(),
  userProperties,
})
/** The properties of PUBLISH. A subscription identifier is only sent by servers. */
export type Properties = z.infer<typeof PublishProperties> & { readonly subscriptionIdentifier?: number[] }

const Connect = z.object({
  cmd: z.literal('connect'),
  protocolVersion: z.literal([4, 5]),
  clean: z.boolean(),
  keepalive: uint16,
  clientId: text.max(clientIdentifierCharactersMax),
  username: text.max(userNameCharactersMax).optional(),
  password: bytes.refine(({ length }) => length <= passwordBytesMax, 'is too long').optional(),
  will: z
    .object({
      topic: text.min(1),
      payload: bytes,
      qos: z.literal([0, 1, 2]),
      retain: z.boolean(),
      properties: PublishProperties.omit({ topicAlias: true })
        .extend({ willDelayInterval: uint32.optional() })
        .optional(),
    })
    .optional(),
  properties: z
    .strictObject({
      sessionExpiryInterval: uint32.optional(),
      receiveMaximum: uint16.min(1).optional(),
      maximumPacketSize: uint32.min(1).optional(),
      topicAliasMaximum: uint16.optional(),
      requestResponseInformation: z.boolean().optional(),
      requestProblemInformation: z.boolean().optional(),
      authenticationMethod: text.optional(),
      authenticationData: bytes.optional(),
      userProperties,
    })
    .optional(),
})
export type Connect = Readonly<z.infer<typeof Connect>>

const Subscribe = z.object({
  cmd: z.literal('subscribe'),
  messageId: packetIdentifier,
  subscriptions: z
    .array(
      z.object({
        topic: text,
        qos: z.literal([0, 1, 2]),
        nl: z.boolean().optional(),
        rap: z.boolean().optional(),
        rh: z.int().min(0).max(2).optional(),
      }),
    )
    .min(1),
  properties: z.strictObject({ subscriptionIdentifier: z.int().min(1).optional(), userProperties }).optional(),
})
export type Subscription = z.infer<typeof Subscribe>['subscriptions'][number] & {
  /** The client's identifier of the subscription, which is sent with each of its messages. MQTT 5.0 §3.8.2.1.2. */
  readonly identifier?: number | undefined
}

const Unsubscribe = z.object({
  cmd: z.literal('unsubscribe'),
  messageId: packetIdentifier,
  unsubscriptions: z.array(text).min(1),
  properties: z.strictObject({ userProperties }).optional(),
})

const Disconnect = z.object({
  cmd: z.literal('disconnect'),
  reasonCode: z.int().optional(),
  properties: z
    .strictObject({ sessionExpiryInterval: uint32.optional(), reasonString: text.optional(), userProperties })
    .optional(),
})

const Publish = z.object({ cmd: z.literal('publish'), properties: PublishProperties.optional() })

const protocolName = Buffer.from([0, 4, ...Buffer.from('MQTT')])

/** The client speaks an unsupported version of MQTT. `version` is the nearest supported version. */
export class UnsupportedVersion extends PacketFault {
  readonly version: ProtocolVersion

  constructor(version: ProtocolVersion, message: string) {
    super(reasons.unsupportedVersion, message)
    this.version = version
  }
}

/** MQTT 5.0 §3.1. @throws PacketFault, UnsupportedVersion */
export function readConnect(first: number, body: Uint8Array): Connect {
  const isNamed = protocolName.every((byte, place) => body[place] === byte)
  const version = body[protocolName.length]
  if (!isNamed || version === undefined) {
    const isOld = Buffer.from(body.subarray(2, 8)).toString('latin1') === 'MQIsdp'
    throw isOld ? new UnsupportedVersion(4, 'MQTT 3.1') : malformed('not MQTT')
  }
  if (version !== 4 && version !== 5) throw new UnsupportedVersion(version < 4 ? 4 : 5, `version ${version}`)
  const connect = unpack(Connect, first, body, version)
  // Only MQTT 5.0 allows a password without a user name. MQTT-3.1.2-22 of 3.1.1.
  if (version === 4 && connect.password && connect.username === undefined) throw malformed('a password without a name')
  return connect
}

/** MQTT-3.8.1-1, MQTT-3.8.3-3. */
export const readSubscribe = readerOf(Subscribe)
export const readUnsubscribe = readerOf(Unsubscribe)
export const readDisconnect = readerOf(Disconnect)

/** The returned function throws PacketFault. */
function readerOf<S extends z.ZodType>(schema: S) {
  return (first: number, body: Uint8Array, version: ProtocolVersion) => unpack(schema, first, body, version)
}

/**
 * Reads the properties of a PUBLISH, which begin at `at`. `end` is the place after the last property.
 * @throws PacketFault
 */
export function readPublishProperties(body: Uint8Array, at: number): { properties: Properties; end: number } {
  let length = 0
  let place = 0
  for (; ; place++) {
    const byte = body[at + place]
    if (byte === undefined || place > 3) throw malformed('the length of the properties')
    length += (byte & 0x7f) * 128 ** place
    if (byte < 0x80) break
  }
  const end = at + place + 1 + length
  if (end > body.length) throw malformed('properties beyond the packet')
  // A PUBLISH with an empty topic and only these properties.
  const alone = Buffer.concat([Buffer.of(0, 0), body.subarray(at, end)])
  return { properties: unpack(Publish, 0x30, alone, 5).properties ?? {}, end }
}

function unpack<S extends z.ZodType>(schema: S, first: number, body: Uint8Array, version: ProtocolVersion): z.infer<S> {
  if (body.length > controlBytesMax) {
    throw new PacketFault(reasons.packetTooLarge, `more than ${controlBytesMax} bytes`)
  }
  let packet: Packet | undefined
  let fault: Error | undefined
  const reader = parser({ protocolVersion: version })
  reader.on('packet', (read) => {
    packet = read
  })
  reader.on('error', (error: Error) => {
    fault = error
  })
  try {
    reader.parse(Buffer.concat([Buffer.of(first), variableLength(body.length), body]))
  } catch {
    // The package reads beyond the end of a packet that is too short, and throws.
    throw malformed('the packet is too short')
  }
  if (fault || !packet) throw malformed(fault?.message ?? 'the packet is too short')
  const { properties, ...fields } = packet as { properties?: object }
  const checked = schema.safeParse(properties ? { ...fields, properties } : fields)
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  const where = `${issue?.path.join('.')}: ${issue?.message}`
  // Invalid UTF-8 is a malformed packet; a misplaced property or packet identifier 0 is a protocol error.
  throw issue?.message.startsWith('must be UTF-8') ? malformed(where) : protocolError(where)
}

/** A length in one to four bytes. MQTT 5.0 §1.5.5. */
export function variableLength(length: number): Buffer {
  const bytes: number[] = []
  let rest = length
  do {
    const byte = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? byte | 0x80 : byte)
  } while (rest > 0)
  return Buffer.from(bytes)
}

/** Limits and names that CONNACK announces. MQTT 5.0 §3.2.2.3. */
export interface ConnackProperties {
  readonly receiveMaximum?: number
  readonly maximumPacketSize?: number
  readonly topicAliasMaximum?: number
  readonly sessionExpiryInterval?: number
  readonly assignedClientIdentifier?: string
  readonly retainAvailable?: boolean
  readonly sharedSubscriptionAvailable?: boolean
  readonly reasonString?: string
}

/** For version 4, writes the form of 3.1.1. */
export function writeConnack(
  version: ProtocolVersion,
  reason: Reason,
  isSessionPresent = false,
  properties: ConnackProperties = {},
): Uint8Array {
  if (version === 4) return Uint8Array.of(0x20, 2, isSessionPresent ? 1 : 0, returnCodeOf(reason))
  return generate(
    { cmd: 'connack', reasonCode: reason, sessionPresent: isSessionPresent, properties },
    { protocolVersion: 5 },
  )
}

/** `granted` has a QoS, or a reason of 0x80 and above, for each subscription. */
export function writeSuback(version: ProtocolVersion, messageId: number, granted: readonly number[]): Uint8Array {
  const codes = granted.map((code) => (version === 4 && code > 2 ? 0x80 : code))
  return generate({ cmd: 'suback', messageId, granted: codes }, { protocolVersion: version })
}

export function writeUnsuback(version: ProtocolVersion, messageId: number, codes: readonly number[]): Uint8Array {
  return generate({ cmd: 'unsuback', messageId, granted: [...codes] }, { protocolVersion: version })
}

/** MQTT 5.0 only: a server of 3.1.1 closes the connection without a packet. */
export function writeDisconnect(reason: Reason, reasonString = ''): Uint8Array {
  const properties = reasonString === '' ? {} : { reasonString }
  return generate({ cmd: 'disconnect', reasonCode: reason, properties }, { protocolVersion: 5 })
}

/** A message to a client. */
export interface Delivery {
  readonly topic: string
  readonly payload: string | Uint8Array
  readonly qos: Qos
  readonly isRetained?: boolean
  readonly isDuplicate?: boolean
  readonly packetId?: number
  readonly properties?: Properties
  /** For a message with QoS 0 to many clients: the packets that were written for it, by protocol version. */
  readonly packets?: Partial<Record<ProtocolVersion, Uint8Array>>
}

/** A PUBLISH of version 5 with properties. */
export function writePublish(message: Delivery, properties: Properties): Uint8Array {
  const { topic, payload, qos, isRetained = false, isDuplicate = false, packetId } = message
  const bytes = typeof payload === 'string' ? payload : Buffer.from(payload)
  const identified = packetId === undefined ? {} : { messageId: packetId }
  const packet = { cmd: 'publish', topic, payload: bytes, qos, retain: isRetained, dup: isDuplicate } as const
  return generate({ ...packet, ...identified, properties } as Packet, { protocolVersion: 5 })
}
