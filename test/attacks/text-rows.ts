import { cut } from '#test/attacks/frame-rows'
import { closeFrame, type FrameParts, fragments, frame, opcodes } from '#test/attacks/raw-websocket'
import type { SocketAttack, TestedProtocol } from '#test/attacks/socket-attack'

/** Section 6: text must be UTF-8. RFC 6455 §8.1. Each character here is a byte. */
const wellFormed: readonly (readonly [name: string, text: string])[] = [
  ['ASCII', 'hello'],
  ['two bytes', '\xc2\x80\xdf\xbf'],
  ['three bytes', '\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbd'],
  ['four bytes', '\xf0\x90\x80\x80\xf4\x8f\xbf\xbf'],
  ['noncharacters', '\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\xbf\xbe'],
  ['a byte order mark', '\xef\xbb\xbf'],
  ['Greek', '\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5'],
]
const illFormed: readonly (readonly [name: string, text: string])[] = [
  ['an invalid byte', '\xff'],
  ['other invalid bytes', '\xfe\xfe\xff\xff'],
  ['a continuation byte', '\x80'],
  ['continuation bytes', '\xbf\x80\xbf\x80\xbf'],
  ['the first of two bytes', '\xc3'],
  ['two of three bytes', '\xe2\x82'],
  ['three of four bytes', '\xf0\x9f\x98'],
  ['the first of two bytes before a letter', '\xc3a'],
  ['an overlong slash', '\xc0\xaf'],
  ['an overlong slash in three bytes', '\xe0\x80\xaf'],
  ['an overlong slash in four bytes', '\xf0\x80\x80\xaf'],
  ['an overlong NUL', '\xc0\x80'],
  ['the largest overlong form of two bytes', '\xc1\xbf'],
  ['the largest overlong form of three bytes', '\xe0\x9f\xbf'],
  ['the largest overlong form of four bytes', '\xf0\x8f\xbf\xbf'],
  ['a high surrogate', '\xed\xa0\x80'],
  ['a low surrogate', '\xed\xbf\xbf'],
  ['a pair of surrogates', '\xed\xa0\x80\xed\xb0\x80'],
  ['above U+10FFFF', '\xf4\x90\x80\x80'],
  ['five bytes', '\xf8\x88\x80\x80\x80'],
  ['six bytes', '\xfc\x84\x80\x80\x80\x80'],
]

export function textRows({ opcode, message, isRefusal }: TestedProtocol): readonly SocketAttack[] {
  const placeOf = (text: string) => text.indexOf('HERE')
  /** A message with these bytes in its text. */
  const around = (bytes: string) => {
    const text = message(0, 'HERE').toString('latin1')
    return Buffer.from(text.replace('HERE', bytes), 'latin1')
  }
  const at = placeOf(message(0, 'HERE').toString('latin1'))
  const split = '\xf0\x9f\x98\x80'
  const refused = isRefusal ? ({ refusals: 1, end: 'serves' } as const) : ({ end: 4400 } as const)
  return [
    // Section 6.1.
    { name: 'an empty text in three fragments', sent: Buffer.concat(fragments(opcode, '', 0, 0)), ...refused },
    ...wellFormed.map(([name, text]) => ({
      name,
      sent: frame({ opcode, payload: around(text) }),
      answers: 1,
      end: 'serves' as const,
    })),
    ...[1, 2, 3].map((bytes) => ({
      name: `a fragment that ends after ${bytes} of the four bytes of a character`,
      sent: Buffer.concat(fragments(opcode, around(split), at + bytes)),
      answers: 1,
      end: 'serves' as const,
    })),
    ...illFormed.flatMap(([name, text]) => [
      cut(`refused: ${name}`, frame({ opcode, payload: around(text) })),
      cut(`refused: ${name}, in fragments`, ...fragments(opcode, around(text), at + 1)),
    ]),
    cut('refused: an invalid byte alone', frame({ opcode, payload: Buffer.of(0xff) })),
    cut(
      'refused: half a character at the end',
      frame({ opcode, payload: Buffer.concat([message(), Buffer.of(0xe2, 0x82)]) }),
    ),
    ...unfinishedRows(opcode, around('\xff'), at),
  ]
}

/**
 * Section 6.4: it is optional to fail at the first bad byte. uWebSockets.js checks a text when it is complete. Before,
 * the socket waits and answers pings. `at` is the offset of the bad byte.
 */
function unfinishedRows(opcode: number, bad: Buffer, at: number): readonly SocketAttack[] {
  const ping = frame({ opcode: opcodes.ping, payload: 'still there' })
  const pongs = ['still there']
  const [good, badOne, rest] = fragments(opcode, bad, at, at + 1) as [Buffer, Buffer, Buffer]
  const [badFirst, last] = fragments(opcode, bad, at + 1) as [Buffer, Buffer]
  const single = frame({ opcode, payload: bad })
  const [begun, end] = [single.subarray(0, -1), single.subarray(-1)]
  const bytes = [...single].map((byte) => Buffer.of(byte))
  return [
    { name: 'not yet refused: a bad byte in the first fragment', sent: [badFirst, ping], pongs, end: 'waits' },
    { name: 'not yet refused: a bad byte in the second fragment', sent: [good, badOne, ping], pongs, end: 'waits' },
    { name: 'not yet refused: a bad byte in a frame', sent: begun, end: 'waits' },
    { name: 'not yet refused: a bad byte in a frame, byte by byte', sent: bytes.slice(0, -1), end: 'waits' },
    { name: 'refused: a bad byte in the first fragment, and the end', sent: [badFirst, ping, last], pongs, end: 'cut' },
    { name: 'refused: a bad byte in the second, and the end', sent: [good, badOne, ping, rest], pongs, end: 'cut' },
    { name: 'refused: a bad byte in a frame, and the end', sent: [begun, end], end: 'cut' },
    { name: 'refused: a bad byte in a frame, byte by byte', sent: bytes, end: 'cut' },
  ]
}

/** Section 7: how a connection ends. RFC 6455 §5.5.1, §7.4. */
export function closeRows({ opcode, message, canary, bytesMax }: TestedProtocol): readonly SocketAttack[] {
  const behind = frame({ opcode, payload: canary() })
  const ping = frame({ opcode: opcodes.ping, payload: 'x' })
  const close = closeFrame(1000)
  const largest = frame({ opcode, payload: message(bytesMax) })
  const parts = fragments(opcode, canary(), 1)
  const begun = frame({ opcode, payload: canary(), isFinal: false })
  const longest = 'r'.repeat(123)
  const echoed = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 4000, 4400, 4999]
  // These codes are valid, but the parser does not know them.
  const unknown = [1012, 1013, 1014, 3000, 3999]
  const invalid = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535]
  return [
    { name: 'a close without a code', sent: closeFrame(), end: 1005 },
    ...echoed.map((code) => ({ name: `code ${code}`, sent: closeFrame(code), end: code })),
    ...unknown.map((code) => ({ name: `code ${code}`, sent: closeFrame(code), end: 1005 })),
    ...invalid.map((code) => ({ name: `invalid code ${code}`, sent: closeFrame(code), end: 1005 })),
    { name: 'a close with half a code', sent: frame({ opcode: opcodes.close, payload: Buffer.of(3) }), end: 1005 },
    { name: 'a reason', sent: closeFrame(1000, 'that is all'), end: 1000 },
    { name: 'the longest reason', sent: closeFrame(1000, longest), end: 1000 },
    cut('a reason too long', closeFrame(1000, `${longest}x`)),
    { name: 'a reason beyond ASCII', sent: closeFrame(1000, 'Auf Wiederh\u00f6ren'), end: 1000 },
    { name: 'a reason that is not UTF-8', sent: closeFrame(1000, Buffer.of(0xce, 0xba, 0xed, 0xa0, 0x80)), end: 1005 },
    {
      name: 'a message before the close',
      sent: Buffer.concat([frame({ opcode, payload: message() }), close]),
      end: 1000,
    },
    // Section 7.1.6.
    {
      name: 'the largest message before the close, and a ping behind it',
      sent: Buffer.concat([largest, close, ping]),
      end: 1000,
    },
    { name: 'the largest message before the close, in another packet', sent: [largest, close], end: 1000 },
    { name: 'a message behind the close', sent: Buffer.concat([close, behind]), answers: 0, end: 1000 },
    { name: 'a message behind the close, in another packet', sent: [close, behind], answers: 0, end: 1000 },
    { name: 'many messages behind the close', sent: [close, ...Array<Buffer>(9).fill(behind)], answers: 0, end: 1000 },
    { name: 'the largest message behind the close', sent: Buffer.concat([close, largest]), answers: 0, end: 1000 },
    { name: 'a message in fragments behind the close', sent: Buffer.concat([close, ...parts]), answers: 0, end: 1000 },
    {
      name: 'bytes behind the close that are not a frame',
      sent: Buffer.concat([closeFrame(1000), Buffer.alloc(64, 0xff)]),
      end: 1000,
    },
    { name: 'a ping behind the close', sent: Buffer.concat([closeFrame(1000), ping]), end: 1000 },
    { name: 'a second close', sent: Buffer.concat([closeFrame(1000), closeFrame(1001)]), end: 1000 },
    { name: 'a close, byte by byte', sent: [...closeFrame(1000, 'slowly')].map((byte) => Buffer.of(byte)), end: 1000 },
    {
      name: 'a close after the first fragment of a message',
      sent: Buffer.concat([begun, closeFrame(1001)]),
      end: 1001,
    },
  ]
}

/** Sections 12 and 13: permessage-deflate is never accepted, so no frame may be compressed. RFC 7692. */
export const extensionOffers: readonly string[] = [
  'permessage-deflate',
  'permessage-deflate; client_max_window_bits',
  'permessage-deflate; client_max_window_bits=8',
  'permessage-deflate; client_max_window_bits=15; server_max_window_bits=15',
  'permessage-deflate; server_max_window_bits=8',
  'permessage-deflate; server_max_window_bits=7',
  'permessage-deflate; client_max_window_bits="10"',
  'permessage-deflate; server_no_context_takeover; client_no_context_takeover',
  'permessage-deflate; server_no_context_takeover; server_no_context_takeover',
  'permessage-deflate; client_max_window_bits, permessage-deflate',
  'permessage-deflate; unknown',
  'permessage-bzip2, x-webkit-deflate-frame, permessage-deflate',
  'deflate-stream',
  ';;;,,,===',
  `permessage-deflate; ${'a'.repeat(8_000)}`,
]

/** Compressed frames although the extension was not accepted. `deflated` returns raw deflate data. */
export function deflateRows(
  { opcode, canary }: TestedProtocol,
  deflated: (bytes: Uint8Array) => Buffer,
): readonly SocketAttack[] {
  const compressed = (payload: Uint8Array, isFinal = true) => frame({ opcode, payload, reserved: 4, isFinal })
  const continuation = (parts: Omit<FrameParts, 'opcode'>) => frame({ opcode: opcodes.more, ...parts })
  const small = deflated(canary())
  const broken = Buffer.from(small).fill(0xff, 1, 5)
  return [
    cut('a message', compressed(small)),
    cut('an empty message', compressed(Buffer.alloc(0))),
    cut('broken data', compressed(broken)),
    cut('data that inflates to 64 MiB', compressed(deflated(Buffer.alloc(64 * 2 ** 20)))),
    cut(
      'the first of two fragments',
      compressed(small.subarray(0, 4), false),
      continuation({ payload: small.subarray(4) }),
    ),
    cut(
      'the second of two fragments',
      frame({ opcode, payload: canary(), isFinal: false }),
      continuation({ reserved: 4 }),
    ),
    // Without the reserved bit, this frame would be an ordinary ping.
    cut('a ping', frame({ opcode: opcodes.ping, payload: small.subarray(0, 20), reserved: 4 })),
  ]
}
