import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frameLengthOf, opcodeAt, opcodes } from '#bench/load/frames'
import { messageCounter } from '#bench/load/messages'

/** A frame as servers send it, without a mask. RFC 6455 §5.2. */
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

/** Lengths of payloads, also around those at which the size of the header changes. */
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

/** The largest payload of a ping. RFC 6455 §5.5. */
const controlBytesMax = 125

test('text frames and pings are counted, however the bytes are divided into chunks', () => {
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
        const countIn = messageCounter(frameLengthOf, (bytes, at) => {
          if (opcodeAt(bytes, at) === opcodes.ping) pings++
        })
        let texts = 0
        for (let at = 0, piece = 0; at < bytes.length; piece++) {
          const end = at + (sizes[piece % sizes.length] as number)
          texts += countIn(bytes.subarray(at, end))
          at = end
        }
        const countOf = (opcode: number) => frames.filter((each) => each.opcode === opcode).length
        expect([texts, pings]).toEqual([countOf(opcodes.text), countOf(opcodes.ping)])
      },
    ),
  )
})
