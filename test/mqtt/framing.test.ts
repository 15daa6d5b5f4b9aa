import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PacketFraming } from '#mqtt/packet-reader'
import { PacketFault } from '#mqtt/reason-codes'

const bytesMax = 40_000

interface Cut {
  readonly first: number
  readonly body: Buffer
}

function lengthOf(length: number): number[] {
  const rest = Math.floor(length / 128)
  return rest === 0 ? [length] : [(length % 128) | 0x80, ...lengthOf(rest)]
}

function packetOf({ first, body }: Cut): Buffer {
  return Buffer.concat([Buffer.of(first, ...lengthOf(body.length)), body])
}

const packets = fc.array(
  fc.record({
    first: fc.integer({ min: 0, max: 255 }),
    body: fc
      .oneof(
        { weight: 8, arbitrary: fc.integer({ min: 0, max: 300 }) },
        { weight: 1, arbitrary: fc.constantFrom(127, 128, 16_383, 16_384) },
      )
      .map((length) => Buffer.alloc(length, length % 251)),
  }),
  { maxLength: 8 },
)

/** The parts between these places. */
function split(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end))
}

test('any split of the bytes gives the same packets', () => {
  fc.assert(
    fc.property(packets, fc.array(fc.nat(), { maxLength: 40 }), (sent, places) => {
      const framing = new PacketFraming(bytesMax)
      const received: Cut[] = []
      for (const part of split(Buffer.concat(sent.map(packetOf)), places)) {
        framing.add(part, (first, body) => received.push({ first, body: Buffer.from(body) }) > 0)
      }
      expect(received.map(packetOf).every((packet, at) => packet.equals(packetOf(sent[at] as Cut)))).toBe(true)
      expect(received.length).toBe(sent.length)
      expect(framing.heldBytes).toBe(0)
    }),
  )
})

test('a break returns the bytes that are left', () => {
  fc.assert(
    fc.property(packets, fc.nat(), (sent, place) => {
      const framing = new PacketFraming(bytesMax)
      const received: Cut[] = []
      for (const part of split(Buffer.concat(sent.map(packetOf)), [place])) {
        let rest: Uint8Array | undefined = part
        while (rest) {
          const before = received.length
          rest = framing.add(rest, (first, body) => {
            received.push({ first, body: Buffer.from(body) })
            return false
          })
          expect(received.length - before).toBeLessThanOrEqual(1)
        }
      }
      expect(received.map(packetOf).every((packet, at) => packet.equals(packetOf(sent[at] as Cut)))).toBe(true)
      expect(received.length).toBe(sent.length)
    }),
  )
})

test('any bytes are packets or a fault, and no more is held than the limit', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (parts) => {
      const framing = new PacketFraming(300)
      try {
        for (const part of parts) {
          framing.add(part, () => true)
          expect(framing.heldBytes).toBeLessThan(300)
        }
      } catch (error) {
        expect(error).toBeInstanceOf(PacketFault)
      }
    }),
  )
})

test.each([
  ['a length of five bytes', [0x30, 0xff, 0xff, 0xff, 0xff, 0x01], 0x81],
  ['a length of four bytes that goes on', [0x30, 0x80, 0x80, 0x80, 0x80], 0x81],
  ['the largest length', [0x30, 0xff, 0xff, 0xff, 0x7f], 0x95],
  ['one byte above the limit', [0x30, ...lengthOf(bytesMax - 3)], 0x95],
])('%s is refused as soon as it is known', (_, bytes, reason) => {
  for (const size of [1, bytes.length]) {
    const framing = new PacketFraming(bytesMax)
    const feed = () => {
      for (let at = 0; at < bytes.length; at += size) {
        framing.add(Buffer.from(bytes.slice(at, at + size)), () => true)
      }
    }
    expect(feed).toThrow(expect.objectContaining({ reason }))
  }
})

test('the largest packet is accepted', () => {
  const framing = new PacketFraming(bytesMax)
  const received: number[] = []
  const largest = packetOf({ first: 0x30, body: Buffer.alloc(bytesMax - 4) })
  for (const part of split(largest, [1, 3, 500, 20_000])) framing.add(part, (_, body) => received.push(body.length) > 0)
  expect([largest.length, received]).toEqual([bytesMax, [bytesMax - 4]])
})
