import { closeFrame, fragments, frame, opcodes } from '#test/attacks/raw-websocket'
import type { SocketAttack, TestedProtocol } from '#test/attacks/socket-attack'

/** Frames by sections of the Autobahn test suite. A canary behind or in an invalid frame must not be executed. */

const answered = { answers: 1, end: 'serves' } as const

/** Frames that are one message together, which is answered. */
function whole(name: string, ...sent: readonly Buffer[]): SocketAttack {
  return { name, sent: Buffer.concat(sent), ...answered }
}

/** Frames after which the server closes the connection without a close frame. */
export function cut(name: string, ...sent: readonly Buffer[]): SocketAttack {
  return { name, sent: Buffer.concat(sent), end: 'cut' }
}

/** Sections 1, 9.1 and 9.2: lengths of payloads, also if they arrive in pieces. */
export function lengthRows(protocol: TestedProtocol): readonly SocketAttack[] {
  const { opcode, bytesMax, payloadBytesMax, message, isRefusal } = protocol
  const ofLength = (bytes: number) => frame({ opcode, payload: message(bytes) })
  const lengths = [125, 126, 127, 128, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 262_143, 262_144]
  const served = lengths.filter((bytes) => bytes >= message().length && bytes <= bytesMax)
  const refused = isRefusal ? ({ refusals: 1, end: 'serves' } as const) : ({ end: 4400 } as const)
  const largest = frame({ opcode, payload: Buffer.alloc(payloadBytesMax, ' ') })
  const tooLong: readonly SocketAttack[] = [
    { name: 'a message that is one byte too long', sent: ofLength(bytesMax + 1), end: 4400 },
    { name: 'the largest payload that is read', sent: largest, end: 4400 },
  ]
  return [
    // These frames are valid, but are no message of the protocol.
    { name: 'an empty text', sent: frame({ opcode: opcodes.text }), ...refused },
    { name: 'an empty binary message', sent: frame({ opcode: opcodes.binary }), ...refused },
    { name: 'an empty text, byte by byte', sent: apart(frame({ opcode: opcodes.text }), 1), ...refused },
    { name: 'an empty binary message, byte by byte', sent: apart(frame({ opcode: opcodes.binary }), 1), ...refused },
    ...served.map((bytes) => ({ name: `${bytes} bytes`, sent: ofLength(bytes), ...answered })),
    ...served
      .filter((bytes) => bytes < 200)
      .map((bytes) => ({ name: `${bytes} bytes, one by one`, sent: apart(ofLength(bytes), 1), ...answered })),
    { name: 'the largest message, in pieces', sent: apart(ofLength(bytesMax), Math.ceil(bytesMax / 50)), ...answered },
    { name: 'fifty messages at once', sent: Buffer.concat(Array(50).fill(ofLength(0))), answers: 50, end: 'serves' },
    {
      name: 'a message that is masked with zeros',
      sent: frame({ opcode, payload: message(), mask: 'zero' }),
      ...answered,
    },
    ...(bytesMax < payloadBytesMax ? tooLong : []),
    cut('a payload above the limit', frame({ opcode, payload: Buffer.alloc(payloadBytesMax + 1) })),
    cut('a length above the limit', frame({ opcode, length: BigInt(payloadBytesMax + 1) })),
    cut('a length of 2³²', frame({ opcode, length: 2n ** 32n, lengthBytes: 8 })),
    cut('a length of 2⁶³ − 1', frame({ opcode, length: 2n ** 63n - 1n, lengthBytes: 8 })),
    cut('a length of 2⁶⁴ − 1', frame({ opcode, length: 2n ** 64n - 1n, lengthBytes: 8 })),
  ]
}

/** Section 2: pings and pongs. */
export function pingRows({ opcode, message }: TestedProtocol): readonly SocketAttack[] {
  const ping = (payload: string | Uint8Array) => frame({ opcode: opcodes.ping, payload })
  const pong = (payload: string) => frame({ opcode: opcodes.pong, payload })
  const binary = Buffer.from(Array.from({ length: 125 }, (_, place) => (place * 7) % 256))
  return [
    { name: 'an empty ping', sent: ping(''), pongs: [''], end: 'serves' },
    { name: 'a ping with a text', sent: ping('hello'), pongs: ['hello'], end: 'serves' },
    {
      name: 'a ping with bytes that are no text',
      sent: ping(binary),
      pongs: [binary.toString('latin1')],
      end: 'serves',
    },
    cut('a ping with 126 bytes', ping('x'.repeat(126)), frame({ opcode, payload: message() })),
    { name: 'a ping, byte by byte', sent: apart(ping('slowly'), 1), pongs: ['slowly'], end: 'serves' },
    { name: 'ten pings', sent: Buffer.concat(tenOf(ping)), pongs: tenOf(String), end: 'serves' },
    {
      name: 'ten pings, byte by byte',
      sent: apart(Buffer.concat(tenOf(ping)), 1),
      pongs: tenOf(String),
      end: 'serves',
    },
    { name: 'unsolicited pongs', sent: Buffer.concat(tenOf(pong)), end: 'serves' },
    cut('a pong with 126 bytes', pong('x'.repeat(126))),
  ]
}

/** Sections 3 and 4: reserved bits and opcodes, and frames without a mask. RFC 6455 §5.1, §5.2. */
export function reservedRows({ opcode, canary }: TestedProtocol): readonly SocketAttack[] {
  const behind = frame({ opcode, payload: canary() })
  return [
    ...[1, 2, 3, 4, 5, 6, 7].flatMap((reserved) => [
      cut(`RSV ${reserved} of a message`, frame({ opcode, payload: canary(), reserved })),
      cut(`RSV ${reserved} of a ping`, frame({ opcode: opcodes.ping, reserved }), behind),
      cut(`RSV ${reserved} of a close`, frame({ opcode: opcodes.close, reserved }), behind),
    ]),
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((unknown) => [
      cut(`opcode ${unknown}`, frame({ opcode: unknown }), behind),
      cut(`opcode ${unknown} with a payload`, frame({ opcode: unknown, payload: canary() })),
      cut(`opcode ${unknown}, not final`, frame({ opcode: unknown, isFinal: false }), behind),
    ]),
    // The parser reads the following bytes as the mask. `noise` is then invalid, whichever frame it begins.
    cut('a message without a mask', frame({ opcode, payload: canary(), mask: 'none' }), noise),
    cut('an empty message without a mask', frame({ opcode, mask: 'none' }), noise),
    cut('a ping without a mask', frame({ opcode: opcodes.ping, payload: 'x', mask: 'none' }), noise),
    {
      name: 'a close without a mask',
      sent: Buffer.concat([frame({ opcode: opcodes.close, mask: 'none' }), behind]),
      end: 1005,
    },
    { name: 'four bytes of a frame before zeros', sent: [behind.subarray(0, 4), Buffer.alloc(300)], end: 'cut' },
  ]
}

/** Sections 9.3 to 9.6: the largest message in fragments and in packets. Section 10.1: automatic fragmentation. */
export function pieceRows({ opcode, bytesMax, message }: TestedProtocol): readonly SocketAttack[] {
  const large = message(bytesMax)
  const single = frame({ opcode, payload: large })
  const medium = message(Math.min(65_536, bytesMax))
  const mediumParts = fragments(opcode, medium, ...cutsOf(medium, 1300))
  return [
    ...[64, 256, 1024, 4096].flatMap((bytes) => [
      whole(`the largest message in fragments of ${bytes} bytes`, ...fragments(opcode, large, ...cutsOf(large, bytes))),
      { name: `the largest message in packets of ${bytes} bytes`, sent: apart(single, bytes), ...answered },
    ]),
    { name: `${medium.length} bytes in fragments of 1300`, sent: mediumParts, ...answered },
  ]
}

/** Section 5: fragments. RFC 6455 §5.4. */
export function fragmentRows({ opcode, message, canary, bytesMax }: TestedProtocol): readonly SocketAttack[] {
  const ping = frame({ opcode: opcodes.ping, payload: 'between' })
  const text = message()
  const [first, second] = fragments(opcode, text, text.length >> 1) as [Buffer, Buffer]
  const many = fragments(opcode, text, ...cutsOf(text, 1))
  const large = message(bytesMax)
  const behind = frame({ opcode, payload: canary() })
  const continuation = (payload: string | Uint8Array, isFinal: boolean) =>
    frame({ opcode: opcodes.more, payload, isFinal })
  const largeBegun = frame({ opcode, payload: large, isFinal: false })
  const pinged = many.slice(0, 20).flatMap((each) => [each, ping])
  const empty = Array<Buffer>(20).fill(continuation('', false))
  return [
    whole('two fragments', first, second),
    { name: 'two fragments in two packets', sent: [first, second], ...answered },
    { name: 'two fragments in packets of three bytes', sent: apart(Buffer.concat([first, second]), 3), ...answered },
    whole('a fragment for each byte', ...many),
    whole('empty fragments between two others', first, ...empty, second),
    whole(
      'empty fragments before one with the whole message',
      frame({ opcode, isFinal: false }),
      continuation('', false),
      continuation(text, true),
    ),
    whole(
      'a fragment with the whole message, and an empty last one',
      frame({ opcode, payload: text, isFinal: false }),
      continuation('', true),
    ),
    whole('fragments of the largest message', ...fragments(opcode, large, ...cutsOf(large, 1000))),
    { ...whole('a ping between two fragments', first, ping, second), pongs: ['between'] },
    {
      name: 'a ping between two fragments, in three packets',
      sent: [first, ping, second],
      pongs: ['between'],
      ...answered,
    },
    {
      ...whole('pings between many fragments', ...pinged, ...many.slice(20)),
      pongs: Array<string>(20).fill('between'),
    },
    whole('a pong between two fragments', first, frame({ opcode: opcodes.pong }), second),
    {
      name: 'a close between two fragments',
      sent: Buffer.concat([first, closeFrame(1000), second, behind]),
      end: 1000,
    },
    cut('a ping in two fragments', ...fragments(opcodes.ping, 'in two', 3), behind),
    cut('a pong in two fragments', ...fragments(opcodes.pong, 'in two', 3), behind),
    cut('a close in two fragments', ...fragments(opcodes.close, '\x03\xe8', 1), behind),
    cut('a last fragment without a first one', continuation(canary(), true)),
    cut('a middle and a last fragment without a first one', continuation(canary(), false), continuation('', true)),
    cut('a last fragment after a whole message', frame({ opcode, payload: text }), continuation(canary(), true)),
    // The parser reads `behind` as part of the first message if messages are binary.
    cut('a message within another message', first, behind, noise),
    cut('the start of a message within another message', first, first, behind),
    cut('a fragment that makes the message too long', largeBegun, continuation(Buffer.alloc(262_144), true)),
    cut(
      'small fragments that make the message too long',
      largeBegun,
      ...Array<Buffer>(9).fill(continuation(Buffer.alloc(32_768, ' '), false)),
    ),
  ]
}

function tenOf<T>(make: (text: string) => T): T[] {
  return Array.from({ length: 10 }, (_, place) => make(`number ${place}`))
}

/** Bytes that are invalid as the start of every frame. */
const noise = Buffer.alloc(64, 0xff)

/** The places to cut a message into parts of this size. */
function cutsOf(message: Buffer, each: number): number[] {
  return Array.from({ length: Math.ceil(message.length / each) - 1 }, (_, place) => (place + 1) * each)
}

/** The bytes in pieces of this size. */
function apart(bytes: Buffer, each: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / each) }, (_, place) =>
    bytes.subarray(place * each, (place + 1) * each),
  )
}
