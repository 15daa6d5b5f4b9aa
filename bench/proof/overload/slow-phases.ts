import type { LoadedServer } from '#bench/harness/under-load'

/** How somebody holds a connection by being slow. */
export interface SlowPhase {
  /** Sent at once. */
  readonly bytes: (place: LoadedServer, number: number) => string
  /** Then this, again and again, a byte a second; absent: nothing. */
  readonly drip?: string
  /** Bytes as they are here come only when this has been heard. */
  readonly behind?: { readonly heard: RegExp; readonly bytes: string }
  /** It reads nothing until it has to have ended, and then what was left for it. */
  readonly isDeaf?: true
  /** How it has to end, if it ends before we do. */
  readonly ends: readonly string[]
  /** After how long at the latest it has to have ended. */
  readonly withinS: number
}

/** What ended, and was never asked for anything: there is no request that could be answered. */
const nothingAsked = ['closed without an answer']
/** uWebSockets.js looks at its timeouts every four seconds. */
const idleWithinS = 16
/** Pinged every half minute, dead after two. */
const deadWithinS = 125
/** Some 12 s behind the last that was taken of it; many who ask at once wait for its beginning. */
const untakenWithinS = 40

const line = (method: string, path: string) => `${method} /api/v1${path} HTTP/1.1\r\n`
const host = ({ port }: LoadedServer) => `Host: 127.0.0.1:${port}\r\n`
const person = ({ authorizations }: LoadedServer) =>
  authorizations ? `Authorization: ${authorizations.person}\r\n` : ''
const upgrade =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const link = (place: LoadedServer) =>
  `${line('GET', '/link')}${host(place)}${upgrade}Sec-WebSocket-Protocol: link.v1.json\r\n` +
  `${place.authorizations ? `Authorization: ${place.authorizations.link}\r\n` : ''}\r\n`
const upgraded = /^HTTP\/1\.1 101 [\s\S]*\r\n\r\n/

/** Every phase of a connection in which somebody can be slow. */
export const slowPhases: Readonly<Record<string, SlowPhase>> = {
  'not a byte': { bytes: () => '', ends: nothingAsked, withinS: idleWithinS },
  'the request line': { bytes: () => 'GET /', drip: 'a', ends: nothingAsked, withinS: idleWithinS },
  headers: {
    bytes: (place) => `${line('GET', '/health')}${host(place)}X-A: `,
    drip: 'a',
    ends: nothingAsked,
    withinS: idleWithinS,
  },
  'the upgrade': {
    bytes: (place) => `${line('GET', '/link')}${host(place)}${upgrade}X-A: `,
    drip: 'a',
    ends: nothingAsked,
    withinS: idleWithinS,
  },
  'a body': {
    bytes: (place) =>
      `${line('POST', '/devices')}${host(place)}${person(place)}` +
      'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    drip: ' ',
    ends: ['408'],
    withinS: idleWithinS,
  },
  'a body in chunks': {
    bytes: (place) =>
      `${line('POST', '/devices')}${host(place)}${person(place)}` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{',
    drip: ' ',
    ends: ['408'],
    withinS: idleWithinS,
  },
  'an upload': {
    // Each another release; of one person, 8 are taken in at the same time.
    bytes: (place, number) =>
      `${line('PUT', `/updates/projects/slow/releases/1.0.${number}`)}${host(place)}${person(place)}` +
      'Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\na',
    drip: 'a',
    ends: ['408', '429'],
    withinS: idleWithinS,
  },
  "a frame's head": {
    bytes: link,
    behind: { heard: upgraded, bytes: '\x81' },
    ends: ['close 4408'],
    withinS: deadWithinS,
  },
  "a frame's payload": {
    bytes: link,
    // 262 144 bytes, masked by zeros.
    behind: { heard: upgraded, bytes: '\x81\xff\0\0\0\0\0\x04\0\0\0\0\0\0{' },
    drip: ' ',
    ends: ['close 4408'],
    withinS: deadWithinS,
  },
  'reading an answer': {
    // More than the kernel takes for who does not read: of less the server could not know.
    bytes: (place) => `${line('GET', '/meta?depth=1')}${host(place)}${person(place)}\r\n`,
    isDeaf: true,
    ends: ['200, cut'],
    withinS: untakenWithinS,
  },
  'the next request': {
    bytes: (place) => `${line('GET', '/health')}${host(place)}\r\n`,
    ends: ['200, whole'],
    withinS: idleWithinS,
  },
}
