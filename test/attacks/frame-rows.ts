import { closeFrame, type FrameParts, fragments, frame, opcodes } from '#test/attacks/raw-websocket'
import type { SocketAttack, Spoken } from '#test/attacks/socket-attack'

/** What the test suite of Autobahn asks of a server, by its sections; of what cannot be read, the canary is not. */

/** 1 and 9.1 to 9.2: lengths of payloads, and how they arrive. */
export function lengthRows({ opcode, bytesMax, payloadBytesMax, message, isRefusal }: Spoken): readonly SocketAttack[] {
  const ofLength = (bytes: number) => frame({ opcode, payload: message(bytes) })
  const lengths = [125, 126, 127, 128, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 262_143, 262_144]
  const served = lengths.filter((bytes) => bytes >= message().length && bytes <= bytesMax)
  const answered = { answers: 1, end: 'serves' } as const
  const refused = isRefusal ? ({ refusals: 1, end: 'serves' } as const) : ({ end: 4400 } as const)
  return [
    // Well formed, and no message of any of our sockets.
    { what: 'an empty text', sent: frame({ opcode: opcodes.text }), ...refused },
    { what: 'an empty binary one', sent: frame({ opcode: opcodes.binary }), ...refused },
    { what: 'an empty text, byte by byte', sent: apart(frame({ opcode: opcodes.text }), 1), ...refused },
    { what: 'an empty binary one, byte by byte', sent: apart(frame({ opcode: opcodes.binary }), 1), ...refused },
    ...served.map((bytes) => ({ what: `${bytes} bytes`, sent: ofLength(bytes), ...answered })),
    ...served
      .filter((bytes) => bytes < 200)
      .map((bytes) => ({ what: `${bytes} bytes, one by one`, sent: apart(ofLength(bytes), 1), ...answered })),
    { what: 'the largest, in pieces', sent: apart(ofLength(bytesMax), Math.ceil(bytesMax / 50)), ...answered },
    { what: 'fifty at once', sent: Buffer.concat(Array(50).fill(ofLength(0))), answers: 50, end: 'serves' },
    { what: 'masked with zeros', sent: frame({ opcode, payload: message(), mask: 'zero' }), ...answered },
    ...(bytesMax < payloadBytesMax
      ? [
          { what: 'one byte too many', sent: ofLength(bytesMax + 1), end: 4400 },
          {
            what: 'as many as are read',
            sent: frame({ opcode, payload: Buffer.alloc(payloadBytesMax, ' ') }),
            end: 4400,
          },
        ]
      : []),
    { what: 'more than is read', sent: frame({ opcode, payload: Buffer.alloc(payloadBytesMax + 1) }), end: 'cut' },
    { what: 'said to be more than is read', sent: frame({ opcode, length: BigInt(payloadBytesMax + 1) }), end: 'cut' },
    { what: 'said to be 2³²', sent: frame({ opcode, length: 2n ** 32n, lengthBytes: 8 }), end: 'cut' },
    { what: 'said to be 2⁶³ − 1', sent: frame({ opcode, length: 2n ** 63n - 1n, lengthBytes: 8 }), end: 'cut' },
    { what: 'said to be 2⁶⁴ − 1', sent: frame({ opcode, length: 2n ** 64n - 1n, lengthBytes: 8 }), end: 'cut' },
  ]
}

/** 2: pings and pongs. */
export function pingRows({ opcode, message }: Spoken): readonly SocketAttack[] {
  const ping = (payload: string | Uint8Array) => frame({ opcode: opcodes.ping, payload })
  const binary = Buffer.from(Array.from({ length: 125 }, (_, place) => (place * 7) % 256))
  return [
    { what: 'empty', sent: ping(''), pongs: [''], end: 'serves' },
    { what: 'with a text', sent: ping('who is there'), pongs: ['who is there'], end: 'serves' },
    { what: 'with bytes that are no text', sent: ping(binary), pongs: [binary.toString('latin1')], end: 'serves' },
    {
      what: 'with 126 bytes',
      sent: Buffer.concat([ping('x'.repeat(126)), frame({ opcode, payload: message() })]),
      end: 'cut',
    },
    { what: 'byte by byte', sent: apart(ping('slowly'), 1), pongs: ['slowly'], end: 'serves' },
    { what: 'ten', sent: Buffer.concat(tenOf(ping)), pongs: tenOf(String), end: 'serves' },
    { what: 'ten, byte by byte', sent: apart(Buffer.concat(tenOf(ping)), 1), pongs: tenOf(String), end: 'serves' },
    {
      what: 'pongs that nobody asked for',
      sent: Buffer.concat(tenOf((text) => frame({ opcode: opcodes.pong, payload: text }))),
      end: 'serves',
    },
    { what: 'a pong with 126 bytes', sent: frame({ opcode: opcodes.pong, payload: 'x'.repeat(126) }), end: 'cut' },
  ]
}

/** 3 and 4: bits and opcodes that mean nothing, and what is not masked. RFC 6455 §5.1, §5.2. */
export function reservedRows({ opcode, canary }: Spoken): readonly SocketAttack[] {
  const behind = frame({ opcode, payload: canary() })
  return [
    ...[1, 2, 3, 4, 5, 6, 7].flatMap((reserved) => [
      {
        what: `RSV ${reserved} of a message`,
        sent: frame({ opcode, payload: canary(), reserved }),
        end: 'cut' as const,
      },
      {
        what: `RSV ${reserved} of a ping`,
        sent: Buffer.concat([frame({ opcode: opcodes.ping, reserved }), behind]),
        end: 'cut' as const,
      },
      {
        what: `RSV ${reserved} of a close`,
        sent: Buffer.concat([frame({ opcode: opcodes.close, reserved }), behind]),
        end: 'cut' as const,
      },
    ]),
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((unknown) => [
      { what: `opcode ${unknown}`, sent: Buffer.concat([frame({ opcode: unknown }), behind]), end: 'cut' as const },
      {
        what: `opcode ${unknown} with a payload`,
        sent: frame({ opcode: unknown, payload: canary() }),
        end: 'cut' as const,
      },
      {
        what: `opcode ${unknown}, not final`,
        sent: Buffer.concat([frame({ opcode: unknown, isFinal: false }), behind]),
        end: 'cut' as const,
      },
    ]),
    // Taken for masked by what follows, they are never what they say; `noise` is cut off, whatever it is taken for.
    ...[
      ['a message', { opcode, payload: canary() }],
      ['an empty message', { opcode }],
      ['a ping', { opcode: opcodes.ping, payload: 'x' }],
    ].map(([what, parts]) => ({
      what: `${what} without mask`,
      sent: Buffer.concat([frame({ ...(parts as FrameParts), mask: 'none' }), noise]),
      end: 'cut' as const,
    })),
    {
      what: 'a close without mask',
      sent: Buffer.concat([frame({ opcode: opcodes.close, mask: 'none' }), behind]),
      end: 1005,
    },
    {
      what: 'a second mask',
      sent: [frame({ opcode, payload: canary() }).subarray(0, 4), Buffer.alloc(300)],
      end: 'cut',
    },
  ]
}

/** 9.3 to 9.6: the largest message in fragments and in packets; 10.1: one in fragments as a library makes them by itself. */
export function pieceRows({ opcode, bytesMax, message }: Spoken): readonly SocketAttack[] {
  const answered = { answers: 1, end: 'serves' } as const
  const large = message(bytesMax)
  const single = frame({ opcode, payload: large })
  const usual = message(Math.min(65_536, bytesMax))
  return [
    ...[64, 256, 1024, 4096].flatMap((bytes) => [
      {
        what: `the largest in fragments of ${bytes} bytes`,
        sent: Buffer.concat(fragments(opcode, large, ...cutsOf(large, bytes))),
        ...answered,
      },
      { what: `the largest in packets of ${bytes} bytes`, sent: apart(single, bytes), ...answered },
    ]),
    {
      what: `${usual.length} bytes in fragments of 1300`,
      sent: fragments(opcode, usual, ...cutsOf(usual, 1300)),
      ...answered,
    },
  ]
}

/** 5: fragments. RFC 6455 §5.4. */
export function fragmentRows({ opcode, message, canary, bytesMax }: Spoken): readonly SocketAttack[] {
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
    { what: 'two', sent: Buffer.concat([first, second]), ...answered },
    { what: 'two, apart', sent: [first, second], ...answered },
    { what: 'two, byte by byte', sent: apart(Buffer.concat([first, second]), 3), ...answered },
    { what: 'one for each byte', sent: Buffer.concat(many), ...answered },
    {
      what: 'of nothing between',
      sent: Buffer.concat([first, ...Array<Buffer>(20).fill(more('', false)), second]),
      ...answered,
    },
    {
      what: 'of nothing, and all in the last',
      sent: Buffer.concat([frame({ opcode, isFinal: false }), more('', false), more(whole, true)]),
      ...answered,
    },
    {
      what: 'all in the first, and nothing in the last',
      sent: Buffer.concat([frame({ opcode, payload: whole, isFinal: false }), more('', true)]),
      ...answered,
    },
    { what: 'of the largest', sent: Buffer.concat(fragments(opcode, large, ...cutsOf(large, 1000))), ...answered },
    { what: 'a ping between', sent: Buffer.concat([first, ping, second]), pongs: ['between'], ...answered },
    { what: 'a ping between, apart', sent: [first, ping, second], pongs: ['between'], ...answered },
    {
      what: 'pings between all',
      sent: Buffer.concat(
        many
          .slice(0, 20)
          .flatMap((each) => [each, ping])
          .concat(many.slice(20)),
      ),
      pongs: Array<string>(20).fill('between'),
      ...answered,
    },
    { what: 'a pong between', sent: Buffer.concat([first, frame({ opcode: opcodes.pong }), second]), ...answered },
    { what: 'a close between', sent: Buffer.concat([first, closeFrame(1000), second, behind]), end: 1000 },
    { what: 'a ping in two', sent: Buffer.concat([...fragments(opcodes.ping, 'in two', 3), behind]), end: 'cut' },
    { what: 'a pong in two', sent: Buffer.concat([...fragments(opcodes.pong, 'in two', 3), behind]), end: 'cut' },
    { what: 'a close in two', sent: Buffer.concat([...fragments(opcodes.close, '\x03\xe8', 1), behind]), end: 'cut' },
    { what: 'a last one of nothing', sent: more(canary(), true), end: 'cut' },
    { what: 'one of nothing, and a last', sent: Buffer.concat([more(canary(), false), more('', true)]), end: 'cut' },
    {
      what: 'a last one behind a whole message',
      sent: Buffer.concat([frame({ opcode, payload: whole }), more(canary(), true)]),
      end: 'cut',
    },
    // In binary ones it is taken for a part of the other, and so for nothing.
    { what: 'a message in another', sent: Buffer.concat([first, behind, noise]), end: 'cut' },
    { what: 'the start of a message in another', sent: Buffer.concat([first, first, behind]), end: 'cut' },
    {
      what: 'more in all than is read',
      sent: Buffer.concat([frame({ opcode, payload: large, isFinal: false }), more(Buffer.alloc(262_144), true)]),
      end: 'cut',
    },
    {
      what: 'without end, more than is read',
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

/** Nothing that any frame begins with. */
const noise = Buffer.alloc(64, 0xff)

/** Where a message is cut into parts of so many bytes. */
function cutsOf(message: Buffer, each: number): number[] {
  return Array.from({ length: Math.ceil(message.length / each) - 1 }, (_, place) => (place + 1) * each)
}

/** In pieces of so many bytes. */
function apart(bytes: Buffer, each: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / each) }, (_, place) =>
    bytes.subarray(place * each, (place + 1) * each),
  )
}
