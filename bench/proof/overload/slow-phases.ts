import type { ServerTarget } from '#bench/harness/servers'

/** One way to hold a connection by being slow. */
export interface SlowPhase {
  readonly bytes: (place: ServerTarget, number: number) => string
  /** Sent repeatedly after `bytes`, a byte a second; absent: nothing. */
  readonly drip?: string
  /** `bytes` is only sent when what the client has received matches `received`. */
  readonly behind?: { readonly received: RegExp; readonly bytes: string }
  /** The client reads nothing until the time limit, and then what the server left for it. */
  readonly isUnread?: true
  /** How the connection must end, if the server ends it. */
  readonly ends: readonly string[]
  /** The server must have ended the connection after this time. */
  readonly withinS: number
}

/** uWebSockets.js checks its timeouts every four seconds. */
const idleWithinS = 16
/** There was no request that could be answered. */
const dropped = { ends: ['closed without an answer'], withinS: idleWithinS }
/** The server pings every half minute, and closes after two minutes. */
const deadWithinS = 125
/** The server closes some 12 s after the client took the last bytes. With many clients at once, answers begin late. */
const untakenWithinS = 40

const line = (method: string, path: string) => `${method} /api/v1${path} HTTP/1.1\r\n`
const host = ({ port }: ServerTarget) => `Host: 127.0.0.1:${port}\r\n`
const person = ({ authorizations }: ServerTarget) =>
  authorizations ? `Authorization: ${authorizations.person}\r\n` : ''
const upgrade =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const link = (place: ServerTarget) =>
  `${line('GET', '/link')}${host(place)}${upgrade}Sec-WebSocket-Protocol: link.v1.json\r\n` +
  `${place.authorizations ? `Authorization: ${place.authorizations.link}\r\n` : ''}\r\n`
const upgraded = /^HTTP\/1\.1 101 [\s\S]*\r\n\r\n/

/** Every phase of a connection in which a client can be slow. */
export const slowPhases: Readonly<Record<string, SlowPhase>> = {
  'not a byte': { bytes: () => '', ...dropped },
  'the request line': { bytes: () => 'GET /', drip: 'a', ...dropped },
  headers: {
    bytes: (place) => `${line('GET', '/health')}${host(place)}X-A: `,
    ...{ drip: 'a', ...dropped },
  },
  'the upgrade': {
    bytes: (place) => `${line('GET', '/link')}${host(place)}${upgrade}X-A: `,
    ...{ drip: 'a', ...dropped },
  },
  'a body': {
    bytes: (place) =>
      `${line('POST', '/devices')}${host(place)}${person(place)}` +
      'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    ...{ drip: ' ', ends: ['408'], withinS: idleWithinS },
  },
  'a body in chunks': {
    bytes: (place) =>
      `${line('POST', '/devices')}${host(place)}${person(place)}` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{',
    ...{ drip: ' ', ends: ['408'], withinS: idleWithinS },
  },
  'an upload': {
    // Each upload has its own release. The server accepts 8 uploads of one user at the same time, and answers others
    // 429.
    bytes: (place, number) =>
      `${line('PUT', `/updates/projects/slow/releases/1.0.${number}`)}${host(place)}${person(place)}` +
      'Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\na',
    ...{ drip: 'a', ends: ['408', '429'], withinS: idleWithinS },
  },
  "a frame's head": {
    bytes: link,
    behind: { received: upgraded, bytes: '\x81' },
    ...{ ends: ['close 4408'], withinS: deadWithinS },
  },
  "a frame's payload": {
    bytes: link,
    // The head of a frame of 262 144 bytes with a mask of zeros, and its first byte.
    behind: { received: upgraded, bytes: '\x81\xff\0\0\0\0\0\x04\0\0\0\0\0\0{' },
    ...{ drip: ' ', ends: ['close 4408'], withinS: deadWithinS },
  },
  'reading an answer': {
    // The answer is larger than the buffers of the kernel: otherwise the server would not notice that nothing is read.
    bytes: (place) => `${line('GET', '/meta?depth=1')}${host(place)}${person(place)}\r\n`,
    isUnread: true,
    ...{ ends: ['200, cut'], withinS: untakenWithinS },
  },
  'the next request': {
    bytes: (place) => `${line('GET', '/health')}${host(place)}\r\n`,
    ...{ ends: ['200, whole'], withinS: idleWithinS },
  },
}
