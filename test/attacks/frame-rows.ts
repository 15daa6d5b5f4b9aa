import { closeFrame, type FrameParts, fragments, frame, opcodes } from '#test/attacks/raw-websocket'
import type { SocketAttack, TestedProtocol } from '#test/attacks/socket-attack'

/** Frames of the Autobahn test suite by section. A canary in an invalid frame must not be read. */

/** 1 and 9.1 to 9.2: lengths of payloads, and how they arrive. */
export function lengthRows({
  opcode,
  bytesMax,
  payloadBytesMax,
  message,
  isRefusal,
}: TestedProtocol): readonly SocketAttack[] {
  const ofLength = (bytes: number) => frame({ opcode, payload: message(bytes) })
  const lengths = [125, 126, 127, 128, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 262_143, 262_144]
  const served = lengths.filter((bytes) => bytes >= message().length && bytes <= bytesMax)
  const answered = { answers: 1, end: 'serves' } as const
  const refused = isRefusal ? ({ refusals: 1, end: 'serves' } as const) : ({ end: 4400 } as const)
  return [
    // Well formed, but no message of these protocols.
    { name: 'an empty text', sent: frame({ opcode: opcodes.text }), ...refused },
    { name: 'an empty binary one', sent: frame({ opcode: opcodes.binary }), ...refused },
    { name: 'an empty text, byte by byte', sent: apart(frame({ opcode: opcodes.text }), 1), ...refused },
    { name: 'an empty binary one, byte by byte', sent: apart(frame({ opcode: opcodes.binary }), 1), ...refused },
    ...served.map((bytes) => ({ name: `${bytes} bytes`, sent: ofLength(bytes), ...answered })),
    ...served
      .filter((bytes) => bytes < 200)
      .map((bytes) => ({ name: `${bytes} bytes, one by one`, sent: apart(ofLength(bytes), 1), ...answered })),
    { name: 'the largest, in pieces', sent: apart(ofLength(bytesMax), Math.ceil(bytesMax / 50)), ...answered },
    { name: 'fifty at once', sent: Buffer.concat(Array(50).fill(ofLength(0))), answers: 50, end: 'serves' },
    { name: 'masked with zeros', sent: frame({ opcode, payload: message(), mask: 'zero' }), ...answered },
    ...(bytesMax < payloadBytesMax
      ? [
          { name: 'one byte too many', sent: ofLength(bytesMax + 1), end: 4400 },
          {
            name: 'the largest payload that is read',
            sent: frame({ opcode, payload: Buffer.alloc(payloadBytesMax, ' ') }),
            end: 4400,
          },
        ]
      : []),
    {
      name: 'a payload above the limit',
      sent: frame({ opcode, payload: Buffer.alloc(payloadBytesMax + 1) }),
      end: 'cut',
    },
    { name: 'a length above the limit', sent: frame({ opcode, length: BigInt(payloadBytesMax + 1) }), end: 'cut' },
    { name: 'a length of 2³²', sent: frame({ opcode, length: 2n ** 32n, lengthBytes: 8 }), end: 'cut' },
    { name: 'a length of 2⁶³ − 1', sent: frame({ opcode, length: 2n ** 63n - 1n, lengthBytes: 8 }), end: 'cut' },
    { name: 'a length of 2⁶⁴ − 1', sent: frame({ opcode, length: 2n ** 64n - 1n, lengthBytes: 8 }), end: 'cut' },
  ]
}

/** 2: pings and pongs. */
export function pingRows({ opcode, message }: TestedProtocol): readonly SocketAttack[] {
  const ping = (payload: string | Uint8Array) => frame({ opcode: opcodes.ping, payload })
  const binary = Buffer.from(Array.from({ length: 125 }, (_, place) => (place * 7) % 256))
  return [
    { name: 'empty', sent: ping(''), pongs: [''], end: 'serves' },
    { name: 'with a text', sent: ping('hello'), pongs: ['hello'], end: 'serves' },
    { name: 'with bytes that are no text', sent: ping(binary), pongs: [binary.toString('latin1')], end: 'serves' },
    {
      name: 'with 126 bytes',
      sent: Buffer.concat([ping('x'.repeat(126)), frame({ opcode, payload: message() })]),
      end: 'cut',
    },
    { name: 'byte by byte', sent: apart(ping('slowly'), 1), pongs: ['slowly'], end: 'serves' },
    { name: 'ten', sent: Buffer.concat(tenOf(ping)), pongs: tenOf(String), end: 'serves' },
    { name: 'ten, byte by byte', sent: apart(Buffer.concat(tenOf(ping)), 1), pongs: tenOf(String), end: 'serves' },
    {
      name: 'unsolicited pongs',
      sent: Buffer.concat(tenOf((text) => frame({ opcode: opcodes.pong, payload: text }))),
      end: 'serves',
    },
    { name: 'a pong with 126 bytes', sent: frame({ opcode: opcodes.pong, payload: 'x'.repeat(126) }), end: 'cut' },
  ]
}

/** 3 and 4: reserved bits and opcodes, and unmasked frames. RFC 6455 §5.1, §5.2. */
export function reservedRows({ opcode, canary }: TestedProtocol): readonly SocketAttack[] {
  const behind = frame({ opcode, payload: canary() })
  return [
    ...[1, 2, 3, 4, 5, 6, 7].flatMap((reserved) => [
      {
        name: `RSV ${reserved} of a message`,
        sent: frame({ opcode, payload: canary(), reserved }),
        end: 'cut' as const,
      },
      {
        name: `RSV ${reserved} of a ping`,
        sent: Buffer.concat([frame({ opcode: opcodes.ping, reserved }), behind]),
        end: 'cut' as const,
      },
      {
        name: `RSV ${reserved} of a close`,
        sent: Buffer.concat([frame({ opcode: opcodes.close, reserved }), behind]),
        end: 'cut' as const,
      },
    ]),
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((unknown) => [
      { name: `opcode ${unknown}`, sent: Buffer.concat([frame({ opcode: unknown }), behind]), end: 'cut' as const },
      {
        name: `opcode ${unknown} with a payload`,
        sent: frame({ opcode: unknown, payload: canary() }),
        end: 'cut' as const,
      },
      {
        name: `opcode ${unknown}, not final`,
        sent: Buffer.concat([frame({ opcode: unknown, isFinal: false }), behind]),
        end: 'cut' as const,
      },
    ]),
    // The parser reads the following bytes as the mask; `noise` is invalid as any frame.
    ...[
      ['a message', { opcode, payload: canary() }],
      ['an empty message', { opcode }],
      ['a ping', { opcode: opcodes.ping, payload: 'x' }],
    ].map(([name, parts]) => ({
      name: `${name} without mask`,
      sent: Buffer.concat([frame({ ...(parts as FrameParts), mask: 'none' }), noise]),
      end: 'cut' as const,
    })),
    {
      name: 'a close without mask',
      sent: Buffer.concat([frame({ opcode: opcodes.close, mask: 'none' }), behind]),
      end: 1005,
    },
    {
      name: 'a second mask',
      sent: [frame({ opcode, payload: canary() }).subarray(0, 4), Buffer.alloc(300)],
      end: 'cut',
    },
  ]
}

/** 9.3 to 9.6: the largest message in fragments and in packets; 10.1: automatic fragmentation. */
export function pieceRows({ opcode, bytesMax, message }: TestedProtocol): readonly SocketAttack[] {
  const answered = { answers: 1, end: 'serves' } as const
  const large = message(bytesMax)
  const single = frame({ opcode, payload: large })
  const usual = message(Math.min(65_536, bytesMax))
  return [
    ...[64, 256, 1024, 4096].flatMap((bytes) => [
      {
        name: `the largest in fragments of ${bytes} bytes`,
        sent: Buffer.concat(fragments(opcode, large, ...cutsOf(large, bytes))),
        ...answered,
      },
      { name: `the largest in packets of ${bytes} bytes`, sent: apart(single, bytes), ...answered },
    ]),
    {
      name: `${usual.length} bytes in fragments of 1300`,
      sent: fragments(opcode, usual, ...cutsOf(usual, 1300)),
      ...answered,
    },
  ]
}

/** 5: fragments. RFC 6455 §5.4. */
export function fragmentRows({ opcode, message, canary, bytesMax }: TestedProtocol): readonly SocketAttack[] {
  const ping = frame({ opcode: opcodes.ping, payload: 'between' })
  const whole = message()
  const half = whole.length >> 1
  const [first, second] = fragments(opcode, whole, half) as [Buffer, Buffer]
  const many = fragments(opcode, whole, ...cutsOf(whole, 1))
  const large = message(bytesMax)
  const behind = frame({ opcode, payload: canary() })
  const more = (payload: string | Uint8Array, isFinal: boolean) => frame({ opcode: opcodes.more, payload, isFinal })
  const answered = { answers: 1, end: 'serves' } as const
  return [
    { name: 'two', sent: Buffer.concat([first, second]), ...answered },
    { name: 'two, apart', sent: [first, second], ...answered },
    { name: 'two, byte by byte', sent: apart(Buffer.concat([first, second]), 3), ...answered },
    { name: 'one per byte', sent: Buffer.concat(many), ...answered },
    {
      name: 'empty ones between',
      sent: Buffer.concat([first, ...Array<Buffer>(20).fill(more('', false)), second]),
      ...answered,
    },
    {
      name: 'empty ones, and everything in the last',
      sent: Buffer.concat([frame({ opcode, isFinal: false }), more('', false), more(whole, true)]),
      ...answered,
    },
    {
      name: 'everything in the first, and an empty last',
      sent: Buffer.concat([frame({ opcode, payload: whole, isFinal: false }), more('', true)]),
      ...answered,
    },
    {
      name: 'of the largest message',
      sent: Buffer.concat(fragments(opcode, large, ...cutsOf(large, 1000))),
      ...answered,
    },
    { name: 'a ping between', sent: Buffer.concat([first, ping, second]), pongs: ['between'], ...answered },
    { name: 'a ping between, apart', sent: [first, ping, second], pongs: ['between'], ...answered },
    {
      name: 'pings between many',
      sent: Buffer.concat(
        many
          .slice(0, 20)
          .flatMap((each) => [each, ping])
          .concat(many.slice(20)),
      ),
      pongs: Array<string>(20).fill('between'),
      ...answered,
    },
    { name: 'a pong between', sent: Buffer.concat([first, frame({ opcode: opcodes.pong }), second]), ...answered },
    { name: 'a close between', sent: Buffer.concat([first, closeFrame(1000), second, behind]), end: 1000 },
    { name: 'a ping in two', sent: Buffer.concat([...fragments(opcodes.ping, 'in two', 3), behind]), end: 'cut' },
    { name: 'a pong in two', sent: Buffer.concat([...fragments(opcodes.pong, 'in two', 3), behind]), end: 'cut' },
    { name: 'a close in two', sent: Buffer.concat([...fragments(opcodes.close, '\x03\xe8', 1), behind]), end: 'cut' },
    { name: 'a last one without a first', sent: more(canary(), true), end: 'cut' },
    {
      name: 'a continuation without a first, and a last',
      sent: Buffer.concat([more(canary(), false), more('', true)]),
      end: 'cut',
    },
    {
      name: 'a last one after a whole message',
      sent: Buffer.concat([frame({ opcode, payload: whole }), more(canary(), true)]),
      end: 'cut',
    },
    // In binary messages the parser reads it as part of the other message.
    { name: 'a message in another', sent: Buffer.concat([first, behind, noise]), end: 'cut' },
    { name: 'the start of a message in another', sent: Buffer.concat([first, first, behind]), end: 'cut' },
    {
      name: 'a total above the limit',
      sent: Buffer.concat([frame({ opcode, payload: large, isFinal: false }), more(Buffer.alloc(262_144), true)]),
      end: 'cut',
    },
    {
      name: 'endless ones above the limit',
      sent: Buffer.concat([
        frame({ opcode, payload: large, isFinal: false }),
        ...Array<Buffer>(9).fill(more(Buffer.alloc(32_768, ' '), false)),
      ]),
      end: 'cut',
    },
  ]
}

function tenOf<T>(make: (text: string) => T): T[] {
  return Array.from({ length: 10 }, (_, place) => make(`number ${place}`))
}

/** Invalid as the start of any frame. */
const noise = Buffer.alloc(64, 0xff)

/** The places to cut a message into parts of this size. */
function cutsOf(message: Buffer, each: number): number[] {
  return Array.from({ length: Math.ceil(message.length / each) - 1 }, (_, place) => (place + 1) * each)
}

/** Pieces of this size. */
function apart(bytes: Buffer, each: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / each) }, (_, place) =>
    bytes.subarray(place * each, (place + 1) * each),
  )
}
