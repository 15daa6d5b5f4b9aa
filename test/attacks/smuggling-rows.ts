import { canary, chunked, get, type HttpAttack, post, request } from '#test/attacks/http-attack'

const noObject = '[]'
const chunkedHead = post('Transfer-Encoding: chunked')
/** Where one reader sees the end of the body, another sees the canary in it. */
const hidden = `0\r\n\r\n${canary}`

/** What comes of a row: how it is refused depends on who refuses it, and on whether a request seems to stand behind it. */
type End = Pick<HttpAttack, 'answers' | 'end'>
const refused: End = { answers: [400], end: 'closed' }
/** Refused a tick later, and the parser has met what stands behind before that. */
const cut: End = { answers: [], end: 'closed' }
/** What stands behind is no request line. */
const noVersion: End = { answers: [505], end: 'closed' }
/** The parser takes it for half a request, until the connection was silent for ten seconds. */
const waiting: End = { answers: [], end: 'waiting' }

type Row = readonly [what: string, sent: string | readonly string[], end?: End]

function rowOf([what, sent, end = refused]: Row): HttpAttack {
  return { what, sent, ...end }
}

/** Framing that two readers may read in two ways. Each is refused, the canary unread, the connection closed. RFC 9112 §6, §11.2. */
const ambiguous: readonly Row[] = [
  // CL.TE and TE.CL, and their relatives without a second reader.
  [
    'a length and chunks, the length longer',
    post(`Content-Length: ${hidden.length}`, 'Transfer-Encoding: chunked') + hidden,
  ],
  [
    'chunks and a length, the length shorter',
    post('Transfer-Encoding: chunked', 'Content-Length: 4') + chunked(canary),
  ],
  ['a length of 0 and chunks', post('Content-Length: 0', 'Transfer-Encoding: chunked') + hidden],
  ['two lengths, the first longer', post(`Content-Length: ${canary.length}`, 'Content-Length: 0') + canary],
  ['two lengths, the second longer', post('Content-Length: 0', `Content-Length: ${canary.length}`) + canary, cut],
  ['two equal lengths', post('Content-Length: 2', 'Content-Length: 2') + noObject + canary, cut],
  ['a list of lengths', post(`Content-Length: 0, ${canary.length}`) + canary],
  ['a list of lengths, the longer first', post(`Content-Length: ${canary.length}, 0`) + canary],

  // What a length looks like that is none.
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
  ['a length in digits of elsewhere', post('Content-Length: \u00b2') + canary, cut],
  ['a length beyond counting', post('Content-Length: 18446744073709551618') + noObject + canary],
  ['a length of twenty zeros', post(`Content-Length: ${'0'.repeat(20)}2`) + noObject + canary],

  // TE.TE: spellings of `Transfer-Encoding: chunked` that only some take for it.
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
    ['behind another line of it', 'Transfer-Encoding: x\r\nTransfer-Encoding: chunked'],
    ['before another line of it', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x'],
    ['as identity', 'Transfer-Encoding: identity'],
    ['empty', 'Transfer-Encoding:', noVersion],
    ['behind an empty line of it', 'Transfer-Encoding:\r\nTransfer-Encoding: chunked', noVersion],
    ['behind a vertical tab', 'Transfer-Encoding: \x0bchunked', waiting],
    ['before a vertical tab', 'Transfer-Encoding: chunked\x0b', waiting],
    ['before a form feed', 'Transfer-Encoding: chunked\x0c', waiting],
    ['behind a NUL', 'Transfer-Encoding: \0chunked', waiting],
    ['before a NUL', 'Transfer-Encoding: chunked\0', waiting],
    ['behind a no-break space', 'Transfer-Encoding: \xa0chunked'],
    ['with a long s', 'Transfer-Encoding: chun\xe2\x84\xaaed'],
    ['with a space before the colon', 'Transfer-Encoding : chunked', waiting],
    ['with a tab before the colon', 'Transfer-Encoding\t: chunked', waiting],
    ['with a space in front', ' Transfer-Encoding: chunked', waiting],
    ['with a tab in front', '\tTransfer-Encoding: chunked', waiting],
    ['folded', 'Transfer-Encoding:\r\n chunked', waiting],
    ['folded behind', 'Transfer-Encoding: chunked\r\n ,x', waiting],
    ['in a folded line of another', 'X-A: b\r\n Transfer-Encoding: chunked', waiting],
    ['behind a bare LF', 'X-A: b\nTransfer-Encoding: chunked', waiting],
    ['behind a bare CR', 'X-A: b\rTransfer-Encoding: chunked', waiting],
    ['before a bare LF', 'Transfer-Encoding: chunked\nX-A: b', waiting],
    ['before a bare CR', 'Transfer-Encoding: chunked\rX-A: b', waiting],
    ['with a colon in front', ':Transfer-Encoding: chunked', noVersion],
    ['behind a line of NUL', '\0\r\nTransfer-Encoding: chunked', waiting],
    ['without a colon', 'Transfer-Encoding chunked', waiting],
    ['with an equals sign', 'Transfer-Encoding=chunked', waiting],
    ['in a name with a NUL', 'Transfer\0Encoding: chunked', waiting],
    ['behind a mark of order', '\xef\xbb\xbfTransfer-Encoding: chunked', waiting],
  ].map(
    ([what, lines, end = refused]): Row => [
      `chunks ${what}`,
      post('Content-Length: 4', String(lines)) + hidden,
      end as End,
    ],
  ),
]
export const smugglingRows: readonly HttpAttack[] = ambiguous.map(rowOf)

/** Chunks that are none. Nothing behind them is read. RFC 9112 §7.1. */
export const chunkRows: readonly HttpAttack[] = [
  ['a size that is no number', `x\r\n[]\r\n${hidden}`],
  ['a size with g', `g\r\n${'x'.repeat(16)}\r\n${hidden}`, cut],
  ['a size with 0x', `0x2\r\n[]\r\n${hidden}`],
  ['a size with a minus', `-2\r\n[]\r\n${hidden}`],
  ['a size with a plus', `+2\r\n[]\r\n${hidden}`],
  ['a size in quotes', `"2"\r\n[]\r\n${hidden}`],
  ['a size of 64 bits', `ffffffffffffffff\r\n[]\r\n${hidden}`],
  ['a size beyond 64 bits', `10000000000000002\r\n[]\r\n${hidden}`],
].map(([what, body, end = refused]) => ({ what: String(what), sent: chunkedHead + body, ...(end as End) }))

/** Chunks as they may be, in ways that are seldom seen. The whole body is read, and the connection ends behind its answer. */
export const seldomChunkRows: readonly HttpAttack[] = [
  ['in one', chunkedHead + chunked('{}')],
  ['byte by byte', chunkedHead + chunked('{', '}')],
  ['with zeros before the size', `${chunkedHead}0002\r\n{}\r\n0\r\n\r\n`],
  ['with a size in capitals', `${chunkedHead}A\r\n{        }\r\n0\r\n\r\n`],
].map(([what = '', sent = '']) => ({
  what,
  sent,
  answers: [400],
  end: 'closed' as const,
  says: /"path":"deviceIdentifier"/,
}))

/** Nothing that stands behind a body in chunks is ever a request: of two readers, one may see the end elsewhere. */
export const behindChunksRows: readonly HttpAttack[] = (
  [
    ['when they were answered', [chunkedHead, chunked('{}'), canary], refused],
    // In the same packet: neither is answered.
    ['at once', chunkedHead + chunked('{}') + canary, cut],
    ['with the last chunk', [chunkedHead + chunked('{}').slice(0, -5), `0\r\n\r\n${canary}`], cut],
    ['behind sizes with a bare LF', `${chunkedHead}2\n{}\r\n0\n\r\n${canary}`, cut],
    ['behind a size of nothing', `${chunkedHead}2\r\n{}\r\n\r\n\r\n${canary}`, cut],
    ['behind data without an end of line', `${chunkedHead}2\r\n{}xx0\r\n\r\n${canary}`, cut],
    ['behind a last chunk without an end of line', `${chunkedHead}2\r\n{}\r\n0\r\nxx${canary}`, cut],
    ['in place of trailers', `${chunkedHead}2\r\n{}\r\n0\r\n${canary}`, cut],
    ['behind trailers', `${chunkedHead}2\r\n{}\r\n0\r\nX-A: b\r\nContent-Length: 5\r\n\r\n${canary}`, noVersion],
    // An extension is taken for more of the size, and so what follows for more of the chunk.
    ['in an extension', `${chunkedHead}2;${canary.replaceAll('\r\n', ' ')}\r\n{}\r\n0\r\n\r\n`, refused],
    ['behind an extension with a bare LF', `${chunkedHead}2;\n{}\r\n0\r\n\r\n${canary}`, noVersion],
    ['behind an extension of letters', `${chunkedHead}2;a=b\r\n{}\r\n0\r\n\r\n${canary}`, waiting],
  ] as readonly Row[]
).map(rowOf)

/**
 * The parser itself sees nothing that stands behind a header without a name, so a length there is none: it reads on behind
 * the empty line, and what was meant as a body is the next request. The server cannot tell, for it is shown no more either.
 * Both requests are of the one who sends them, over his own connection, with his own rights: he may as well ask twice, and no
 * browser does it for him. It would matter behind a proxy that hands such a header on, over connections that its clients
 * share. nginx refuses it and ends the connection, and nothing of it comes here (`proxied.test.ts`).
 */
export const namelessRows: readonly HttpAttack[] = [
  {
    what: 'a length behind a header without a name',
    sent: `${post(': b', `Content-Length: ${canary.length}`)}${canary}`,
    answers: [400, 201],
    end: 'open',
  },
  {
    what: 'a length behind two colons',
    sent: `${post('::b', `Content-Length: ${canary.length}`)}${canary}`,
    answers: [400, 201],
    end: 'open',
  },
  {
    what: 'a length behind a header without a name, where no body is expected',
    sent: `${get([': b', `Content-Length: ${canary.length}`])}${canary}`,
    answers: [200, 201],
    end: 'open',
  },
  {
    // No request line ends in them: the parser waits for more of one.
    what: 'chunks behind a header without a name',
    sent: `${post(': b', 'Transfer-Encoding: chunked')}${chunked('{}')}`,
    answers: [400],
    end: 'waiting',
  },
  {
    what: 'a host behind a header without a name',
    sent: `${request('GET', '/api/v1/health', [': b', 'Host: localhost'])}${canary}`,
    answers: [400],
    end: 'closed',
  },
]

/** A body that is counted ends where it says, to the byte. */
export const lengthRows: readonly HttpAttack[] = [
  {
    what: 'a body and a request behind it',
    sent: post('Content-Length: 2') + noObject + get(),
    answers: [400, 200],
    end: 'open',
  },
  { what: 'a body in two pieces', sent: [`${post('Content-Length: 2')}[`, ']'], answers: [400], end: 'open' },
  {
    what: 'a request cut from its body',
    sent: [post('Content-Length: 2'), noObject + get()],
    answers: [400, 200],
    end: 'open',
  },
  {
    what: 'a canary as a body',
    sent: post(`Content-Length: ${canary.length}`) + canary,
    answers: [400],
    end: 'open',
    says: /not JSON/,
  },
  {
    what: 'a canary as the body of a GET',
    sent: get([`Content-Length: ${canary.length}`]) + canary,
    answers: [200],
    end: 'open',
  },
  { what: 'a length with zeros in front', sent: post('Content-Length: 0002') + noObject, answers: [400], end: 'open' },
  { what: 'a length in white space', sent: post('Content-Length:   2  ') + noObject, answers: [400], end: 'open' },
]
