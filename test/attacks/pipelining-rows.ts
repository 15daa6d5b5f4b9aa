import { canary, get, type HttpAttack, post } from '#test/attacks/http-attack'
import { handshake } from '#test/attacks/raw-websocket'

const upgrade = handshake('/events')
const posted = post('Content-Length: 2')
const expecting = post('Expect: 100-continue', 'Content-Length: 2')
const cut = { answers: [], end: 'closed' } as const
const requestLine = 'GET /api/v1/health HTTP/1.1\r\n'

/** Several requests in one packet, also with upgrades. RFC 9112 §9.3. */
export const pipeliningRows: readonly HttpAttack[] = [
  { name: 'three requests', sent: get().repeat(3), answers: [200, 200, 200] },
  { name: 'a hundred requests', sent: get().repeat(100), answers: Array<number>(100).fill(200) },
  {
    name: 'requests with and without bodies',
    sent: `${posted}[]${get()}${posted}[]${get()}`,
    answers: [400, 200, 400, 200],
  },
  {
    name: 'half of a request behind another one',
    sent: [get() + get().slice(0, 40), get().slice(40)],
    answers: [200, 200],
  },
  { name: 'headers byte by byte', sent: [requestLine, ...get().slice(requestLine.length)], answers: [200] },
  { name: 'a line cut in its target', sent: [get().slice(0, 10), get().slice(10)], answers: [200] },
  // The parser needs the whole version in one piece.
  { name: 'a line cut in its version', sent: [get().slice(0, 20), get().slice(20)], answers: [505], end: 'closed' },
  { name: 'half of a body behind another request', sent: [`${get()}${posted}[`, ']'], answers: [200, 400] },
  { name: 'a broken request behind another one', sent: `${get()}x\0y\r\n\r\n${canary}`, answers: [505], end: 'closed' },
  { name: 'an ambiguous request behind another one', sent: get() + get(['Host: b']) + canary, ...cut },
  { name: 'a request behind a refused one', sent: get(['Host: b']) + canary, ...cut },
  // Nothing after a request with `Connection: close` is read. RFC 9112 §9.6.
  { name: 'a request behind one with Connection: close', sent: get(['Connection: close']) + canary, ...cut },
  { name: 'a request behind one with Connection: CLOSE', sent: get(['Connection: CLOSE']) + canary, ...cut },
  { name: 'a request behind one with close in a list', sent: get(['Connection: keep-alive, close']) + canary, ...cut },
  {
    name: 'a request after the answer to one with Connection: close',
    sent: [get(['Connection: close']), canary],
    answers: [200],
    end: 'closed',
  },
  {
    name: 'a request behind one with Connection: keep-alive',
    sent: get(['Connection: keep-alive']) + get(),
    answers: [200, 200],
  },
  {
    name: 'names of headers in Connection',
    sent: get(['Connection: Host, Content-Length, close-not']),
    answers: [200],
  },
  // A refused upgrade is an ordinary request.
  {
    name: 'an upgrade to HTTP/2',
    sent: get(['Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAAP__']) + get(),
    answers: [200, 200],
  },
  { name: 'an upgrade on another path', sent: handshake('/health') + get(), answers: [200, 200] },
  {
    name: 'an upgrade with another version',
    sent: handshake('/events', { 'Sec-WebSocket-Version': '8' }) + get(),
    answers: [426, 200],
  },
  {
    name: 'an upgrade from another origin',
    sent: handshake('/events', { Origin: 'https://evil.example' }) + get(),
    answers: [403, 200],
  },
  { name: 'an upgrade by POST', sent: upgrade.replace('GET', 'POST') + get(), answers: [405, 200] },
  { name: 'an upgrade with a body', sent: `${handshake('/events', { 'Content-Length': '2' })}[]${canary}`, ...cut },
  {
    name: 'an upgrade with chunks',
    sent: `${handshake('/events', { 'Transfer-Encoding': 'chunked' })}0\r\n\r\n${canary}`,
    ...cut,
  },
  // After an upgrade, the server reads the bytes as frames, which are invalid.
  { name: 'a request behind an upgrade', sent: upgrade + canary, answers: [101], end: 'closed' },
  { name: 'an upgrade behind a request', sent: get() + upgrade + canary, answers: [200, 101], end: 'closed' },
  { name: 'a request a while after an upgrade', sent: [upgrade, canary], answers: [101], end: 'closed' },
]

/** Requests with `Expect`. RFC 9110 §10.1.1. */
export const expectRows: readonly HttpAttack[] = [
  { name: 'the body comes at once', sent: `${expecting}[]${get()}`, answers: [100, 400, 200] },
  { name: 'the body comes later', sent: [expecting, `[]${get()}`], answers: [100, 400, 200] },
  { name: 'an unknown expectation', sent: get(['Expect: 200-ok']), answers: [200] },
  {
    name: 'a body that is too large is refused before it comes',
    sent: post('Expect: 100-continue', 'Content-Length: 99999999'),
    answers: [100, 413],
    end: 'closed',
  },
]
