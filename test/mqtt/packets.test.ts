import fc from 'fast-check'
import { generate, type Packet, parser } from 'mqtt-packet'
import { describe, expect, test } from 'vitest'
import { packetTypes, readConnect, readDisconnect, readSubscribe, readUnsubscribe } from '#mqtt/control-packets'
import { PacketFraming } from '#mqtt/packet-reader'
import { readAcknowledgement, readPublish, writeAcknowledgement, writeDelivery } from '#mqtt/publish-packet'
import { PacketFault } from '#mqtt/reason-codes'

const versions = [4, 5] as const

/** The first byte, and the bytes after the length. */
function partsOf(bytes: Uint8Array): { first: number; body: Uint8Array } {
  let parts: { first: number; body: Uint8Array } | undefined
  new PacketFraming(2 ** 20).add(bytes, (first, body) => {
    parts = { first, body }
    return true
  })
  if (!parts) throw new Error('not one packet')
  return parts
}

function unpacked(bytes: Uint8Array, protocolVersion: number): Packet & Record<string, unknown> {
  let packet: Packet | undefined
  const reader = parser({ protocolVersion })
  reader.on('packet', (read) => {
    packet = read
  })
  reader.parse(Buffer.from(bytes))
  return packet as Packet & Record<string, unknown>
}

const topic = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter((text) => !text.includes('\0'))
const publication = fc.record({
  topic,
  payload: fc.uint8Array({ maxLength: 300 }),
  qos: fc.constantFrom(0, 1, 2),
  retain: fc.boolean(),
  messageId: fc.integer({ min: 1, max: 65_535 }),
  properties: fc.option(
    fc.record({ topicAlias: fc.integer({ min: 1, max: 9 }), contentType: fc.constantFrom('', 'text/plain') }),
    { nil: undefined },
  ),
})

test('PUBLISH is read as another implementation wrote it', () => {
  fc.assert(
    fc.property(publication, fc.constantFrom(...versions), (sent, version) => {
      const properties = version === 5 ? sent.properties : undefined
      const packet = { cmd: 'publish', dup: false, ...sent, payload: Buffer.from(sent.payload), properties }
      const { first, body } = partsOf(generate(packet as unknown as Packet, { protocolVersion: version }))
      const read = readPublish(first, body, version)
      expect({ ...read, payload: [...read.payload] }).toEqual({
        topic: sent.topic,
        payload: [...sent.payload],
        qos: sent.qos,
        isRetained: sent.retain,
        packetId: sent.qos === 0 ? 0 : sent.messageId,
        properties,
      })
    }),
  )
})

test('a delivery is read by another implementation as it was written', () => {
  fc.assert(
    fc.property(publication, fc.constantFrom(...versions), (sent, version) => {
      const { retain, messageId, properties, qos, ...message } = sent
      const bytes = writeDelivery(
        {
          ...message,
          qos: qos as 0 | 1 | 2,
          isRetained: retain,
          packetId: messageId,
          ...(version === 5 && properties && { properties }),
        },
        version,
      )
      const read = unpacked(bytes, version)
      expect(read).toMatchObject({ cmd: 'publish', topic: sent.topic, qos, retain })
      expect(read.payload).toEqual(Buffer.from(sent.payload))
      if (qos > 0) expect(read.messageId).toBe(messageId)
      if (version === 5 && properties) expect(read.properties).toMatchObject(properties)
    }),
  )
})

test.each([
  ['puback', packetTypes.puback],
  ['pubrec', packetTypes.pubrec],
  ['pubrel', packetTypes.pubrel],
  ['pubcomp', packetTypes.pubcomp],
] as const)('%s is written and read', (cmd, type) => {
  const good = writeAcknowledgement(type, 513, 5)
  expect(unpacked(good, 5)).toMatchObject({ cmd, messageId: 513, reasonCode: 0 })
  expect(readAcknowledgement(partsOf(good).body, 5)).toEqual({ packetId: 513, reason: 0 })
  const reason = type === packetTypes.pubrel || type === packetTypes.pubcomp ? 0x92 : 0x97
  const refused = writeAcknowledgement(type, 9, 5, reason, 'zu groß')
  expect(unpacked(refused, 5)).toMatchObject({ cmd, reasonCode: reason, properties: { reasonString: 'zu groß' } })
  expect(writeAcknowledgement(type, 9, 4, reason, 'x')).toEqual(writeAcknowledgement(type, 9, 4))
})

/** Bytes of a string with its length. */
const text = (value: string | readonly number[]) => {
  const bytes = Buffer.from(value as string)
  return [bytes.length >> 8, bytes.length & 0xff, ...bytes]
}
const name = text('MQTT')
const connect = (flags: number, payload: readonly number[], version = 4, properties: readonly number[] = [0]) =>
  Buffer.from([...name, version, flags, 0, 60, ...(version === 5 ? properties : []), ...payload])
const body = (...bytes: readonly (number | readonly number[])[]) => Buffer.from(bytes.flat())

describe('a packet that violates the standard is refused', () => {
  test.each<[string, () => unknown, number]>([
    ['MQTT-3.1.2-3 a reserved flag of CONNECT', () => readConnect(0x10, connect(0x03, text('a'))), 0x81],
    ['MQTT-2.1.3-1 flags of CONNECT', () => readConnect(0x11, connect(0x02, text('a'))), 0x81],
    [
      'MQTT-3.1.2-12 QoS 3 of a will',
      () => readConnect(0x10, connect(0x1e, [text('a'), text('t'), text('p')].flat())),
      0x82,
    ],
    ['MQTT-3.1.2-11 QoS without a will', () => readConnect(0x10, connect(0x0a, text('a'))), 0x81],
    ['MQTT-3.1.2-13 RETAIN without a will', () => readConnect(0x10, connect(0x22, text('a'))), 0x81],
    [
      'MQTT-3.1.2-22 a password without a name',
      () => readConnect(0x10, connect(0x42, [text('a'), text('p')].flat())),
      0x81,
    ],
    ['MQTT-1.5.4-2 U+0000 in a client identifier', () => readConnect(0x10, connect(0x02, text('a\0'))), 0x81],
    [
      'MQTT-1.5.4-1 invalid UTF-8 in a client identifier',
      () => readConnect(0x10, connect(0x02, text([0xc0, 0x80]))),
      0x81,
    ],
    ['another protocol', () => readConnect(0x10, body(text('HTTP'), 4, 2, 0, 0, text('a'))), 0x81],
    ['a CONNECT that ends early', () => readConnect(0x10, connect(0x02, []).subarray(0, 8)), 0x81],
    ['a name that is longer than the packet', () => readConnect(0x10, connect(0x82, [...text('a'), 0xff, 0xff])), 0x81],
    ['a property of another packet', () => readConnect(0x10, connect(2, text('a'), 5, [3, 0x23, 0, 1])), 0x82],
    ['a property twice', () => readConnect(0x10, connect(2, text('a'), 5, [6, 0x21, 0, 9, 0x21, 0, 9])), 0x82],
    ['a receive maximum of 0', () => readConnect(0x10, connect(2, text('a'), 5, [3, 0x21, 0, 0])), 0x82],
    ['an unknown property', () => readConnect(0x10, connect(2, text('a'), 5, [2, 0x7f, 0])), 0x81],
    ['MQTT-3.3.1-4 QoS 3', () => readPublish(0x36, body(text('a'), 0, 1), 4), 0x81],
    ['MQTT-3.3.1-2 DUP with QoS 0', () => readPublish(0x38, body(text('a')), 4), 0x81],
    ['MQTT-2.2.1-3 packet identifier 0', () => readPublish(0x32, body(text('a'), 0, 0), 4), 0x82],
    ['a PUBLISH without its identifier', () => readPublish(0x32, body(text('a'), 0), 4), 0x81],
    ['a topic longer than its packet', () => readPublish(0x30, body(0, 9, 97), 4), 0x81],
    ['U+0000 in a topic', () => readPublish(0x30, body(text('a\0')), 4), 0x81],
    ['invalid UTF-8 in a topic', () => readPublish(0x30, body(text([0xed, 0xa0, 0x80])), 4), 0x81],
    ['properties longer than their packet', () => readPublish(0x30, body(text('a'), 9, 1, 0), 5), 0x81],
    ['no properties', () => readPublish(0x30, body(text('a')), 5), 0x81],
    [
      'MQTT-3.3.4-6 a subscription identifier of a client',
      () => readPublish(0x30, body(text('a'), 2, 0x0b, 1), 5),
      0x82,
    ],
    ['an acknowledgement of one byte', () => readAcknowledgement(body(1), 5), 0x81],
    ['an acknowledgement of identifier 0', () => readAcknowledgement(body(0, 0), 5), 0x82],
    ['MQTT-3.8.1-1 flags of SUBSCRIBE', () => readSubscribe(0x80, body(0, 1, text('a'), 0), 4), 0x81],
    ['MQTT-3.8.3-2 SUBSCRIBE without a filter', () => readSubscribe(0x82, body(0, 1), 4), 0x82],
    ['MQTT-3.8.3-5 reserved bits of a subscription', () => readSubscribe(0x82, body(0, 1, text('a'), 4), 4), 0x81],
    ['MQTT-3.8.3-4 QoS 3 of a subscription', () => readSubscribe(0x82, body(0, 1, 0, text('a'), 3), 5), 0x81],
    ['SUBSCRIBE with identifier 0', () => readSubscribe(0x82, body(0, 0, text('a'), 0), 4), 0x82],
    ['a subscription identifier 0', () => readSubscribe(0x82, body(0, 1, 2, 0x0b, 0, text('a'), 0), 5), 0x82],
    ['MQTT-3.10.3-2 UNSUBSCRIBE without a filter', () => readUnsubscribe(0xa2, body(0, 1), 4), 0x82],
    ['MQTT-3.14.1-1 flags of DISCONNECT', () => readDisconnect(0xe1, body(), 4), 0x81],
    ['40 KiB of filters', () => readSubscribe(0x82, Buffer.alloc(40 * 1024), 4), 0x95],
  ])('%s', (_, read, reason) => {
    expect(read).toThrow(expect.objectContaining({ reason }))
  })
})

test('any bytes are a packet or a fault', () => {
  const readers = [readPublish, readConnect, readSubscribe, readUnsubscribe, readDisconnect] as const
  fc.assert(
    fc.property(fc.constantFrom(...readers), fc.nat(255), fc.uint8Array({ maxLength: 60 }), (read, first, bytes) => {
      try {
        read(first, bytes, 5)
      } catch (error) {
        expect(error).toBeInstanceOf(PacketFault)
      }
    }),
  )
})

test('a CONNECT that was damaged anywhere is a packet or a fault', () => {
  const whole = connect(0xc6, [text('a'), [0], text('t'), text('p'), text('u'), text('p')].flat(), 5, [3, 0x21, 0, 9])
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (at, byte, length) => {
      const damaged = Buffer.from(whole)
      damaged[at] = byte
      try {
        readConnect(0x10, damaged.subarray(0, length))
      } catch (error) {
        expect(error).toBeInstanceOf(PacketFault)
      }
    }),
  )
})
