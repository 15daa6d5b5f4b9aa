import { canary, get, type HttpAttack, post, request } from '#test/attacks/http-attack'

const refused = { answers: [400], end: 'closed' } as const
/** The parser waits for the rest of the request until the connection has been idle for ten seconds. */
const waiting = { answers: [], end: 'waiting' } as const
const served = { answers: [200] } as const
const tooLarge = { answers: [431], end: 'closed' } as const
const muchTooLarge = { ...tooLarge, mayBeUnanswered: true } as const

/** All printable ASCII characters. */
const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, place) => 32 + place))

/** Names, values and line endings of headers. RFC 9110 §5, RFC 9112 §2.2, §5. */
export const headerRows: readonly HttpAttack[] = [
  ...[
    ['a space in the name', 'X A: b'],
    ['a space before the colon', 'X-A : b'],
    ['a name in quotes', '"X-A": b'],
    ['a name with brackets', 'X(A): b'],
    ['a name with a slash', 'X/A: b'],
    ['a name with a NUL', 'X\0A: b'],
    ['a name with a DEL', 'X\x7fA: b'],
    ['a name beyond ASCII', 'X\xc3\xa4: b'],
    ['no colon', 'X-A'],
    ['a value with a NUL', 'X-A: b\0c'],
    ['a value with a bell', 'X-A: b\x07c'],
    ['a value with an escape', 'X-A: \x1b[2J'],
    ['a folded value', 'X-A: b\r\n c'],
    ['a line of a space', 'X-A: b\r\n \r\nX-B: c'],
    ['a bare CR', 'X-A: b\rc'],
    ['a bare LF', 'X-A: b\nc: d'],
    ['a canary behind bare LFs', `X-A: b\n\n${canary}`],
    ['a canary behind bare CRs', `X-A: b\r\r${canary}`],
  ].map(([name = '', line = '']) => ({ name, sent: get([line]), ...waiting })),
  { name: 'lines that end in LF alone', sent: get().replaceAll('\r\n', '\n'), answers: [505], end: 'closed' },
  { name: 'lines that end in CR alone', sent: get().replaceAll('\r\n', '\r'), answers: [505], end: 'closed' },
  { name: 'a value with every allowed character', sent: get([`X-A: ${printable}\t\xe4\xff`]), ...served },
  { name: 'a name with every allowed character', sent: get(["!#$%&'*+-.^_`|~09azAZ: b"]), ...served },
  { name: 'a header without a name', sent: get([': b']), ...served },
  { name: 'a canary in a value', sent: get([`X-A: ${canary}`]), ...refused },
  { name: 'an empty value', sent: get(['X-A:']), ...served },
  { name: 'tabs around a value', sent: get(['X-A:\tb\t']), ...served },
]

/** Repeated headers are refused or joined, but never dropped. RFC 9110 §5.3. */
export const repeatedRows: readonly HttpAttack[] = [
  { name: 'two different Hosts', sent: request('GET', '/api/v1/health', ['Host: localhost', 'Host: b']), ...refused },
  {
    name: 'two equal Hosts',
    sent: request('GET', '/api/v1/health', ['Host: localhost', 'host: localhost']),
    ...refused,
  },
  {
    name: 'two Hosts, one of them empty',
    sent: request('GET', '/api/v1/health', ['Host: localhost', 'Host:']),
    ...refused,
  },
  { name: 'two Content-Types', sent: `${post('Content-Type: text/plain', 'Content-Length: 2')}{}`, answers: [415] },
  {
    name: 'two Origins, one of them allowed',
    sent: get(['Origin: http://a', 'Origin: http://evil.example']),
    answers: [403],
  },
  {
    name: 'two Idempotency-Keys',
    sent: `${post('Idempotency-Key: a', 'Idempotency-Key: b', 'Content-Length: 23')}{"deviceIdentifier":""}`,
    answers: [400],
  },
]

/** The head of a request has at most 16 KiB, and a limited number of headers. RFC 6585 §5. */
export const sizeRows: readonly HttpAttack[] = [
  { name: 'ninety headers', sent: get(many(90)), ...served },
  { name: 'two hundred headers', sent: get(many(200)), ...tooLarge },
  { name: 'ten thousand headers', sent: get(many(10_000)), ...muchTooLarge },
  { name: 'a value of 12 KiB', sent: get([`X-A: ${'a'.repeat(12_288)}`]), ...served },
  { name: 'a value of 17 KiB', sent: get([`X-A: ${'a'.repeat(17_408)}`]), ...tooLarge },
  { name: 'a value of 1 MiB', sent: get([`X-A: ${'a'.repeat(2 ** 20)}`]), ...muchTooLarge },
  { name: 'a name of 12 KiB', sent: get([`${'a'.repeat(12_288)}: b`]), ...served },
  { name: 'a name of 17 KiB without an end', sent: `GET / HTTP/1.1\r\n${'a'.repeat(17_408)}`, ...tooLarge },
  { name: 'a target of 12 KiB', sent: get([], `/api/v1/health?${'a'.repeat(12_288)}`), ...served },
  { name: 'a target of 17 KiB', sent: get([], `/api/v1/health?${'a'.repeat(17_408)}`), ...tooLarge },
  { name: 'a target of 1 MiB without an end', sent: `GET /${'a'.repeat(2 ** 20)}`, ...muchTooLarge },
  { name: 'nothing but line breaks', sent: '\r\n'.repeat(10_000), ...muchTooLarge },
]

function many(count: number): string[] {
  return Array.from({ length: count }, (_, place) => `X-${place}: ${place}`)
}
