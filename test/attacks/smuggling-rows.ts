import { canary, chunked, get, type HttpAttack, post, request } from '#test/attacks/http-attack'

const noObject = '[]'
const inChunks = 'Transfer-Encoding: chunked'
const chunkedHead = post(inChunks)
/** One parser sees the end of the body before the canary, and another reads the canary as part of the body. */
const hidden = `0\r\n\r\n${canary}`

const canaryLength = `Content-Length: ${canary.length}`

/**
 * The outcome of a row. It depends on whether the server or its parser refuses the row, and on how the bytes continue.
 */
type End = Pick<HttpAttack, 'answers' | 'end'>
const refused: End = { answers: [400], end: 'closed' }
/** The server refuses the request a tick later, after the parser has read the following bytes. */
const cut: End = { answers: [], end: 'closed' }
/** The parser reads the following bytes as a request line without a version. */
const noVersion: End = { answers: [505], end: 'closed' }
/** The parser waits for the rest of the request until the connection has been idle for ten seconds. */
const waiting: End = { answers: [], end: 'waiting' }

type Row = readonly [name: string, sent: string | readonly string[], end?: End]

function rowOf([name, sent, end = refused]: Row): HttpAttack {
  return { name, sent, ...end }
}

/** Ambiguous framing is refused, or the parser waits for more. The canary is not read. RFC 9112 §6, §11.2. */
const ambiguous: readonly Row[] = [
  // CL.TE, TE.CL and variants.
  ['a length and chunks, the length longer', post(`Content-Length: ${hidden.length}`, inChunks) + hidden],
  ['chunks and a length, the length shorter', post(inChunks, 'Content-Length: 4') + chunked(canary)],
  ['a length of 0 and chunks', post('Content-Length: 0', inChunks) + hidden],
  ['two lengths, the first longer', post(`Content-Length: ${canary.length}`, 'Content-Length: 0') + canary],
  ['two lengths, the second longer', post('Content-Length: 0', `Content-Length: ${canary.length}`) + canary, cut],
  ['two equal lengths', post('Content-Length: 2', 'Content-Length: 2') + noObject + canary, cut],
  ['a list of lengths', post(`Content-Length: 0, ${canary.length}`) + canary],
  ['a list of lengths, the longer first', post(`Content-Length: ${canary.length}, 0`) + canary],

  // Invalid lengths.
  ['a length with a plus', post('Content-Length: +2') + noObject + canary],
  ['a length with a minus', post('Content-Length: -2') + canary],
  ['a length in hexadecimal', post('Content-Length: 0x2') + noObject + canary],
  ['a length with a point', post('Content-Length: 2.0') + noObject + canary],
  ['a length with an exponent', post('Content-Length: 2e0') + noObject + canary],
  ['a length with an underscore', post('Content-Length: 0_2') + noObject + canary],
  ['a length with a space inside', post('Content-Length: 0 2') + noObject + canary],
  ['a length in quotes', post('Content-Length: "2"') + noObject + canary],
  ['a length with a word behind', post('Content-Length: 2;x') + noObject + canary],
  ['a length without digits', post('Content-Length:') + canary, cut],
  ['a length of white space', post('Content-Length: \t ') + canary, cut],
  ['a length in other digits', post('Content-Length: \u00b2') + canary, cut],
  ['a length above 64 bits', post('Content-Length: 18446744073709551618') + noObject + canary],
  ['a length with twenty zeros in front', post(`Content-Length: ${'0'.repeat(20)}2`) + noObject + canary],

  // TE.TE: spellings of `Transfer-Encoding: chunked` that only some parsers accept.
  ...[
    ['in capitals', 'Transfer-Encoding: CHUNKED'],
    ['with a letter in front', 'Transfer-Encoding: xchunked'],
    ['with a letter behind', 'Transfer-Encoding: chunkedx'],
    ['in quotes', 'Transfer-Encoding: "chunked"'],
    ['with a comma behind', 'Transfer-Encoding: chunked,'],
    ['with a comma in front', 'Transfer-Encoding: ,chunked'],
    ['with a parameter', 'Transfer-Encoding: chunked;x=1'],
    ['behind identity', 'Transfer-Encoding: identity, chunked'],
    ['before identity', 'Transfer-Encoding: chunked, identity'],
    ['behind gzip', 'Transfer-Encoding: gzip, chunked'],
    ['twice in a list', 'Transfer-Encoding: chunked, chunked'],
    ['twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'],
    ['behind another Transfer-Encoding', 'Transfer-Encoding: x\r\nTransfer-Encoding: chunked'],
    ['before another Transfer-Encoding', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x'],
    ['as identity', 'Transfer-Encoding: identity'],
    ['empty', 'Transfer-Encoding:', noVersion],
    ['behind an empty Transfer-Encoding', 'Transfer-Encoding:\r\nTransfer-Encoding: chunked', noVersion],
    ['behind a vertical tab', 'Transfer-Encoding: \x0bchunked', waiting],
    ['before a vertical tab', 'Transfer-Encoding: chunked\x0b', waiting],
    ['before a form feed', 'Transfer-Encoding: chunked\x0c', waiting],
    ['behind a NUL', 'Transfer-Encoding: \0chunked', waiting],
    ['before a NUL', 'Transfer-Encoding: chunked\0', waiting],
    ['behind a no-break space', 'Transfer-Encoding: \xa0chunked'],
    ['with a Kelvin sign', 'Transfer-Encoding: chun\xe2\x84\xaaed'],
    ['with a space before the colon', 'Transfer-Encoding : chunked', waiting],
    ['with a tab before the colon', 'Transfer-Encoding\t: chunked', waiting],
    ['with a space in front', ' Transfer-Encoding: chunked', waiting],
    ['with a tab in front', '\tTransfer-Encoding: chunked', waiting],
    ['folded', 'Transfer-Encoding:\r\n chunked', waiting],
    ['folded behind', 'Transfer-Encoding: chunked\r\n ,x', waiting],
    ['in a folded line of another header', 'X-A: b\r\n Transfer-Encoding: chunked', waiting],
    ['behind a bare LF', 'X-A: b\nTransfer-Encoding: chunked', waiting],
    ['behind a bare CR', 'X-A: b\rTransfer-Encoding: chunked', waiting],
    ['before a bare LF', 'Transfer-Encoding: chunked\nX-A: b', waiting],
    ['before a bare CR', 'Transfer-Encoding: chunked\rX-A: b', waiting],
    ['with a colon in front', ':Transfer-Encoding: chunked', noVersion],
    ['behind a line of NUL', '\0\r\nTransfer-Encoding: chunked', waiting],
    ['without a colon', 'Transfer-Encoding chunked', waiting],
    ['with an equals sign', 'Transfer-Encoding=chunked', waiting],
    ['in a name with a NUL', 'Transfer\0Encoding: chunked', waiting],
    ['behind a byte order mark', '\xef\xbb\xbfTransfer-Encoding: chunked', waiting],
  ].map(
    ([name, lines, end = refused]): Row => [
      `chunks ${name}`,
      post('Content-Length: 4', String(lines)) + hidden,
      end as End,
    ],
  ),
]
export const smugglingRows: readonly HttpAttack[] = ambiguous.map(rowOf)

/** Invalid chunks. Nothing after them is read. RFC 9112 §7.1. */
export const chunkRows: readonly HttpAttack[] = [
  ['a size that is not a number', `x\r\n[]\r\n${hidden}`],
  ['a size with g', `g\r\n${'x'.repeat(16)}\r\n${hidden}`, cut],
  ['a size with 0x', `0x2\r\n[]\r\n${hidden}`],
  ['a size with a minus', `-2\r\n[]\r\n${hidden}`],
  ['a size with a plus', `+2\r\n[]\r\n${hidden}`],
  ['a size in quotes', `"2"\r\n[]\r\n${hidden}`],
  ['a size of 64 bits', `ffffffffffffffff\r\n[]\r\n${hidden}`],
  ['a size beyond 64 bits', `10000000000000002\r\n[]\r\n${hidden}`],
].map(([name, body, end = refused]) => ({ name: String(name), sent: chunkedHead + body, ...(end as End) }))

/** Valid but unusual chunks. The whole body is read, and the connection is closed after the answer. */
export const unusualChunkRows: readonly HttpAttack[] = [
  ['in one', chunkedHead + chunked('{}')],
  ['byte by byte', chunkedHead + chunked('{', '}')],
  ['with zeros before the size', `${chunkedHead}0002\r\n{}\r\n0\r\n\r\n`],
  ['with a size in capitals', `${chunkedHead}A\r\n{        }\r\n0\r\n\r\n`],
].map(([name = '', sent = '']) => ({ name, sent, ...refused, text: /"path":"deviceIdentifier"/ }))

/** Bytes after a chunked body are never read as a request, because another parser may see the end elsewhere. */
export const behindChunksRows: readonly HttpAttack[] = (
  [
    ['a canary after the answer', [chunkedHead, chunked('{}'), canary], refused],
    // If the canary is in the same packet, neither request is answered.
    ['a canary in the same packet', chunkedHead + chunked('{}') + canary, cut],
    ['a canary in the packet of the last chunk', [chunkedHead + chunked('{}').slice(0, -5), `0\r\n\r\n${canary}`], cut],
    ['a canary behind sizes with a bare LF', `${chunkedHead}2\n{}\r\n0\n\r\n${canary}`, cut],
    ['a canary behind an empty size', `${chunkedHead}2\r\n{}\r\n\r\n\r\n${canary}`, cut],
    ['a canary behind data without an end of line', `${chunkedHead}2\r\n{}xx0\r\n\r\n${canary}`, cut],
    ['a canary behind a last chunk without an end of line', `${chunkedHead}2\r\n{}\r\n0\r\nxx${canary}`, cut],
    ['a canary in place of trailers', `${chunkedHead}2\r\n{}\r\n0\r\n${canary}`, cut],
    [
      'a canary behind trailers',
      `${chunkedHead}2\r\n{}\r\n0\r\nX-A: b\r\nContent-Length: 5\r\n\r\n${canary}`,
      noVersion,
    ],
    // The parser reads an extension as part of the size, and the following bytes as part of the chunk.
    ['a canary in an extension', `${chunkedHead}2;${canary.replaceAll('\r\n', ' ')}\r\n{}\r\n0\r\n\r\n`, refused],
    ['a canary behind an extension with a bare LF', `${chunkedHead}2;\n{}\r\n0\r\n\r\n${canary}`, noVersion],
    ['a canary behind an extension of letters', `${chunkedHead}2;a=b\r\n{}\r\n0\r\n\r\n${canary}`, waiting],
  ] as readonly Row[]
).map(rowOf)

/**
 * The parser ignores all headers after one without a name, including a length, so that the intended body is read as the
 * next request. The server cannot detect this, because it does not get these headers either. This is harmless without a
 * proxy, because both requests come from the same client with the same rights, and no browser sends them. A proxy that
 * forwards such headers over shared connections would be at risk. nginx refuses them (`proxied.slow.test.ts`).
 */
export const namelessRows: readonly HttpAttack[] = (
  [
    ['a length behind a header without a name', post(': b', canaryLength) + canary, { answers: [400, 201] }],
    ['a length behind two colons', post('::b', canaryLength) + canary, { answers: [400, 201] }],
    ['a length behind a header without a name, no body', get([': b', canaryLength]) + canary, { answers: [200, 201] }],
    // The chunks contain no request line, so the parser waits for one.
    [
      'chunks behind a header without a name',
      post(': b', inChunks) + chunked('{}'),
      { answers: [400], end: 'waiting' },
    ],
    ['a host behind a header without a name', request('GET', '/api/v1/health', [': b', 'Host: localhost']) + canary],
  ] satisfies readonly Row[]
).map(rowOf)

/** A body with a length ends exactly after this length. */
export const lengthRows: readonly HttpAttack[] = [
  { name: 'a body and a request behind it', sent: post('Content-Length: 2') + noObject + get(), answers: [400, 200] },
  { name: 'a body in two pieces', sent: [`${post('Content-Length: 2')}[`, ']'], answers: [400] },
  { name: 'a request cut from its body', sent: [post('Content-Length: 2'), noObject + get()], answers: [400, 200] },
  {
    name: 'a canary as a body',
    sent: post(`Content-Length: ${canary.length}`) + canary,
    answers: [400],
    text: /not JSON/,
  },
  { name: 'a canary as the body of a GET', sent: get([`Content-Length: ${canary.length}`]) + canary, answers: [200] },
  { name: 'a length with zeros in front', sent: post('Content-Length: 0002') + noObject, answers: [400] },
  { name: 'a length in white space', sent: post('Content-Length:   2  ') + noObject, answers: [400] },
]
