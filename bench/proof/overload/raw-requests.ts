import type { ServerTarget } from '#bench/harness/servers'
import type { EndRules } from '#bench/load/end-counts'
import { unanswered } from '#bench/load/single-request'

type BytesMaker = (target: ServerTarget, number: number) => string

/** Requests as raw bytes: heads and bodies that are too large, and clients that are too slow. */
export interface RawRequest {
  /** The same bytes for every request are made only once: otherwise the clients would send fewer requests. */
  readonly bytes: Buffer | BytesMaker
  /** How the connection must end, if the server ends it. */
  readonly ends: readonly string[]
  /**
   * After it has refused a request, the server closes without reading on, so the kernel resets the connection. A client
   * that writes at this moment fails before it reads the answer.
   */
  readonly mayReset?: true
  /**
   * A body of a gigabyte follows. `sentMibMax`: how much the server may take before it answers: bytes that it reads and
   * bytes in socket buffers; images may be read fully.
   */
  readonly body?: { readonly isChunked: boolean; readonly sentMibMax: number }
}

/** A request by which a client holds a connection. */
export interface SlowRequest extends RawRequest {
  readonly bytes: BytesMaker
  /** Sent repeatedly after `bytes`, a byte a second; absent: nothing. */
  readonly drip?: string
  /** `bytes` is only sent when what the client has received matches `received`. */
  readonly behind?: { readonly received: RegExp; readonly bytes: string }
  /** The client reads only the head of the answer until the time limit, and then what the server left for it. */
  readonly isUnread?: true
  /** The server must have ended the connection after this time. */
  readonly withinS: number
}

type Table<Row> = Readonly<Record<string, Row>>

export const bodyBytes = 2 ** 30
const crlf = '\r\n'
const host = 'Host: 127.0.0.1'
const line = (method: string, path: string) => `${method} /api/v1${path} HTTP/1.1${crlf}${host}${crlf}`
const person = ({ authorizations }: ServerTarget) =>
  authorizations ? `Authorization: ${authorizations.person}${crlf}` : ''

const head = (more: string, path = '/health') => Buffer.from(`${line('GET', path)}${more}${crlf}${crlf}`)
const many = (headers: number) => Array.from({ length: headers }, (_, place) => `X-${place}: ${place}`).join(crlf)

/** A head may have 16 KiB. */
export const heads: Table<RawRequest> = {
  'a value of 12 KiB': { bytes: head(`X-A: ${'a'.repeat(12_288)}`), ends: ['200'] },
  'ninety headers': { bytes: head(many(90)), ends: ['200'] },
  'a token of 12 KiB': {
    bytes: head(`Authorization: Bearer ${'a'.repeat(12_288)}`, '/devices'),
    ends: ['401'],
  },
  'two hundred headers': { bytes: head(many(200)), ends: ['431'] },
  'ten thousand headers': { bytes: head(many(10_000)), ends: ['431'], mayReset: true },
  'a value of 1 MiB': { bytes: head(`X-A: ${'a'.repeat(2 ** 20)}`), ends: ['431'], mayReset: true },
  'a name without an end': { bytes: Buffer.from(`${line('GET', '/health')}${'a'.repeat(17_408)}`), ends: ['431'] },
  'line ends without an end': { bytes: Buffer.from(crlf.repeat(10_000)), ends: ['431'], mayReset: true },
}

interface BodyOptions {
  readonly isChunked?: boolean
  readonly isKnown?: boolean
  readonly sentMibMax?: number
}

function largeBody(path: string, options: BodyOptions, ...ends: readonly string[]): RawRequest {
  const { isChunked = false, isKnown = false, sentMibMax = isChunked ? 512 : 96 } = options
  const isImage = path.startsWith('/updates')
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bodyBytes}`
  return {
    bytes: (target, number) =>
      line(isImage ? 'PUT' : 'POST', isImage ? `${path}${number}` : path) +
      `Content-Type: application/${isImage ? 'octet-stream' : 'json'}${crlf}` +
      `${isKnown ? person(target) : ''}${length}${crlf}${crlf}`,
    ...{ ends, mayReset: true, body: { isChunked, sentMibMax } },
  }
}

/** Two uploads of one release at once are a conflict, so each has its own. */
const image = '/updates/projects/flood/releases/9.9.'

export const bodies: Table<RawRequest> = {
  'with a length': largeBody('/devices', { isKnown: true }, '413'),
  'in chunks': largeBody('/devices', { isKnown: true, isChunked: true }, '413'),
  'without credentials': largeBody('/devices', {}, '401'),
  // Refused before the body is read: there is no proof.
  'to the login': largeBody('/auth/login', {}, '401'),
  'to the login in chunks': largeBody('/auth/login', { isChunked: true }, '401'),
  'an image with a length': largeBody(image, { isKnown: true }, '413'),
  // A client that sends faster than the server stores gets 503.
  'an image in chunks': largeBody(image, { isKnown: true, isChunked: true, sentMibMax: 2048 }, '413', '503'),
}

/** uWebSockets.js checks its timeouts every four seconds. */
const idleWithinS = 16
/** There was no request that could be answered. */
const dropped = { ends: [unanswered.closed], withinS: idleWithinS }
const late = { ends: ['408'], withinS: idleWithinS }
/** The server pings every half minute, and closes after two minutes. */
const dead = { ends: ['close 4408'], withinS: 125 }
/** The server closes some 12 s after the client took the last bytes. With many clients at once, answers begin late. */
const untaken = { ends: ['200, cut'], withinS: 40 }

const upgrade =
  `Upgrade: websocket${crlf}Connection: Upgrade${crlf}Sec-WebSocket-Version: 13${crlf}` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==${crlf}`
const link = ({ authorizations }: ServerTarget) =>
  `${line('GET', '/link')}${upgrade}Sec-WebSocket-Protocol: link.v1.json${crlf}` +
  `${authorizations ? `Authorization: ${authorizations.link}${crlf}` : ''}${crlf}`
const upgraded = /^HTTP\/1\.1 101 [\s\S]*\r\n\r\n/
const json = (target: ServerTarget) =>
  `${line('POST', '/devices')}${person(target)}Content-Type: application/json${crlf}`

/** Every phase of a connection in which a client can be slow. */
export const slowPhases: Table<SlowRequest> = {
  'not a byte': { bytes: () => '', ...dropped },
  'the request line': { bytes: () => 'GET /', drip: 'a', ...dropped },
  headers: { bytes: () => `${line('GET', '/health')}X-A: `, drip: 'a', ...dropped },
  'the upgrade': { bytes: () => `${line('GET', '/link')}${upgrade}X-A: `, drip: 'a', ...dropped },
  'a body': { bytes: (target) => `${json(target)}Content-Length: 1000${crlf}${crlf}{`, drip: ' ', ...late },
  'a body in chunks': {
    bytes: (target) => `${json(target)}Transfer-Encoding: chunked${crlf}${crlf}3e8${crlf}{`,
    ...{ drip: ' ', ...late },
  },
  'an upload': {
    // Each upload has its own release. The server accepts 8 uploads of one user at the same time, and answers others
    // 429.
    bytes: (target, number) =>
      `${line('PUT', `/updates/projects/slow/releases/1.0.${number}`)}${person(target)}` +
      `Content-Type: application/octet-stream${crlf}Content-Length: 1000000${crlf}${crlf}a`,
    ...{ drip: 'a', ends: ['408', '429'], withinS: idleWithinS },
  },
  "a frame's head": { bytes: link, behind: { received: upgraded, bytes: '\x81' }, ...dead },
  "a frame's payload": {
    bytes: link,
    // The head of a frame of 262 144 bytes with a mask of zeros, and its first byte.
    behind: { received: upgraded, bytes: '\x81\xff\0\0\0\0\0\x04\0\0\0\0\0\0{' },
    ...{ drip: ' ', ...dead },
  },
  // The answer is larger than the buffers of the kernel: otherwise the server would not notice that nothing is read.
  'reading an answer': {
    bytes: (target) => `${line('GET', '/meta?depth=1')}${person(target)}${crlf}`,
    isUnread: true,
    ...untaken,
  },
  'the next request': { bytes: () => `${line('GET', '/health')}${crlf}`, ends: ['200, whole'], withinS: idleWithinS },
}

export const stillOpen = 'still open at the end'

/** `more`: further ends of each kind. Each kind must end in one of its ways. */
export function rulesOf(requests: Table<RawRequest>, ...more: readonly string[]): EndRules {
  const kinds = Object.entries(requests)
  const needed = kinds.map(([what, { ends }]) => [...ends, ...more].map((end) => `${what}: ${end}`))
  const rare = kinds.flatMap(([what, { mayReset }]) => (mayReset ? [`${what}: ${unanswered.reset}`] : []))
  return { allowed: needed.flat(), rare, needed }
}
