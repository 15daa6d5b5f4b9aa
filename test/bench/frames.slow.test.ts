import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameReader, frameLengthOf, opcodeAt, opcodes } from '#bench/load/frames'
import { MessageCounter } from '#bench/load/messages'

/** An unmasked frame. RFC 6455 §5.2. */
function serverFrame(payload: Buffer, opcode: number): Buffer {
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length <= 0xffff ? 4 : 10)
  head[0] = 0x80 | opcode
  if (length < 126) head[1] = length
  else if (length <= 0xffff) {
    head[1] = 126
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 127
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([head, payload])
}

/** Lengths around those at which the header changes. */
const lengths = fc.oneof(
  fc.constantFrom(0, 1, 124, 125, 126, 127, 128, 65_534, 65_535, 65_536, 65_537),
  fc.integer({ min: 0, max: 300 }),
)
const frame = fc.record({
  length: lengths,
  seed: fc.nat({ max: 255 }),
  opcode: fc.constantFrom(...Object.values(opcodes)),
})

function payloadOf(length: number, seed: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 31 + seed) & 0xff))
}

/** Text compares faster than bytes. */
const textOf = (payload: Buffer, opcode: number) => `${opcode} ${payload.toString('latin1')}`

function read(pieces: readonly Buffer[]): readonly string[] {
  const frames: string[] = []
  const reader = new FrameReader((bytes, start, end, opcode) => {
    frames.push(textOf(bytes.subarray(start, end), opcode))
  })
  for (const piece of pieces) reader.push(piece)
  return frames
}

describe('received frames', () => {
  test('are read from any chunks', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 6 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
        (frames, cuts) => {
          const sent = frames.map(({ length, seed, opcode }) => ({ payload: payloadOf(length, seed), opcode }))
          const bytes = Buffer.concat(sent.map(({ payload, opcode }) => serverFrame(payload, opcode)))
          const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b), bytes.length]
          const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
          expect(read(pieces)).toEqual(sent.map(({ payload, opcode }) => textOf(payload, opcode)))
        },
      ),
    )
  })

  test.each([0, 125, 126, 200, 65_536])('of %d bytes are read from single bytes', (length) => {
    const sent = [payloadOf(length, 1), payloadOf(3, 2)].map((payload) => ({ payload, opcode: opcodes.text }))
    const bytes = Buffer.concat(sent.map(({ payload, opcode }) => serverFrame(payload, opcode)))
    // Only the headers are split: the payload is one chunk.
    const head = Array.from(bytes.subarray(0, 12), (byte) => Buffer.of(byte))
    expect(read([...head, bytes.subarray(12)])).toEqual(sent.map(({ payload, opcode }) => textOf(payload, opcode)))
  })

  test('are not read before they are complete', () => {
    const whole = serverFrame(payloadOf(126, 0), opcodes.binary)
    expect(read([whole.subarray(0, -1)])).toEqual([])
    expect(read([whole])).toHaveLength(1)
  })
})

/** RFC 6455 §5.5. */
const controlBytesMax = 125

test('text frames and pings are counted in any chunks', () => {
  fc.assert(
    fc.property(
      fc.array(
        frame.filter(({ opcode, length }) => opcode === opcodes.text || length <= controlBytesMax),
        { maxLength: 8 },
      ),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 70_000 })), { minLength: 1 }),
      (frames, sizes) => {
        const bytes = Buffer.concat(
          frames.map(({ length, seed, opcode }) => serverFrame(payloadOf(length, seed), opcode)),
        )
        let pings = 0
        const counter = new MessageCounter(frameLengthOf, (bytes, at) => {
          if (opcodeAt(bytes, at) === opcodes.ping) pings++
        })
        let texts = 0
        for (let at = 0, piece = 0; at < bytes.length; piece++) {
          const end = at + (sizes[piece % sizes.length] as number)
          texts += counter.push(bytes.subarray(at, end))
          at = end
        }
        const countOf = (opcode: number) => frames.filter((each) => each.opcode === opcode).length
        expect([texts, pings]).toEqual([countOf(opcodes.text), countOf(opcodes.ping)])
      },
    ),
  )
})
