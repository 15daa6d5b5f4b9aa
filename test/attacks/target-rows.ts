import { canary, get, type HttpAttack, request } from '#test/attacks/http-attack'

const host = ['Host: localhost']
const unknown = { answers: [404] } as const
/** The parser expects the version after the target. */
const noVersion = { answers: [505], end: 'closed' } as const
/** The parser waits for more until the connection has been idle for ten seconds. */
const waiting = { answers: [], end: 'waiting' } as const

const health = 'GET /api/v1/health'
const hostEnd = '\r\nHost: localhost\r\n\r\n'

/** Deceptive paths. Each resource has exactly one path, and unknown paths are 404. RFC 9112 §3.2. */
export const targetRows: readonly HttpAttack[] = [
  ...[
    ['two slashes', '//api/v1/health'],
    ['two slashes within the path', '/api//v1/health'],
    ['a slash at the end', '/api/v1/health/'],
    ['a dot', '/api/./v1/health'],
    ['two dots', '/api/v1/x/../health'],
    ['two dots, encoded', '/api/v1/x/%2e%2e/health'],
    ['two dots, half encoded', '/api/v1/x/.%2e/health'],
    ['dots above the root', '/../../../../etc/passwd'],
    ['dots above the root, encoded', '/%2e%2e/%2e%2e/etc/passwd'],
    ['dots behind pages', '/assets/../../package.json'],
    ['backslashes', '/api\\v1\\health'],
    ['an encoded slash', '/api%2fv1/health'],
    ['an encoded letter', '/api/v1/h%65alth'],
    ['an encoded NUL', '/api/v1/health%00'],
    ['a NUL in a name', '/api/v1/devices/%00'],
    ['half an escape', '/api/v1/devices/%4'],
    ['an escape without digits', '/api/v1/devices/%zz'],
    ['an escape of an escape', '/api/v1/devices/%2541'],
    ['an overlong slash', '/api/v1/devices/%c0%af'],
    ['an encoded surrogate', '/api/v1/devices/%ed%a0%80'],
    ['half a character', '/api/v1/devices/%e2%82'],
    ['a byte beyond ASCII', '/api/v1/devices/\xe4'],
    ['characters beyond ASCII', '/api/v1/devices/\xe2\x82\xac'],
    ['a parameter of a path', '/api/v1/health;a=b'],
    ['another version', '/api/v2/health'],
    ['another case', '/API/v1/health'],
    ['a property of every object', '/api/v1/__proto__'],
    ['a function of every object', '/api/v1/devices/constructor/services'],
    ['a name with an encoded slash', '/api/v1/devices/A%2fB'],
    ['a name of 8 KiB', `/api/v1/devices/${'A'.repeat(8192)}`],
    ['two thousand segments', `/api/v1${'/a'.repeat(2000)}`],
  ].map(([name = '', target = '']) => ({ name, sent: get([], target), ...unknown })),
  { name: 'a fragment', sent: get([], '/api/v1/health#x'), ...unknown },
  { name: 'a fragment in a query', sent: get([], '/api/v1/health?#x'), answers: [200] },
  { name: 'a query of signs', sent: get([], '/api/v1/health?&&==&%&%zz=%00&a[]=b?c'), answers: [200] },
  { name: 'an empty query', sent: get([], '/api/v1/health?'), answers: [200] },
  { name: 'an absolute target', sent: get([], 'http://a/api/v1/health'), ...noVersion },
  { name: 'an absolute target on another host', sent: get([], 'http://evil.example/api/v1/health'), ...noVersion },
  { name: 'an absolute target with another scheme', sent: get([], 'ftp://a/api/v1/health'), ...noVersion },
  { name: 'a target without a slash', sent: get([], 'api/v1/health'), ...noVersion },
  { name: 'a target that is only a query', sent: get([], '?a=b'), ...noVersion },
  { name: 'an asterisk', sent: request('OPTIONS', '*', host), ...noVersion },
  { name: 'an authority', sent: request('CONNECT', 'a:80', host), ...noVersion },
  { name: 'an authority for GET', sent: get([], 'a:80'), ...noVersion },
  { name: 'no target', sent: `GET HTTP/1.1\r\nHost: localhost\r\n\r\n`, ...noVersion },
  { name: 'a target with a space', sent: get([], '/api/v1/health /x'), ...noVersion },
  { name: 'a target with a tab', sent: get([], '/api/v1/\thealth'), ...noVersion },
  { name: 'a target with a NUL', sent: get([], '/api/v1/health\0'), ...noVersion },
  { name: 'a target with a bare LF', sent: get([], '/api/v1/health\n'), ...noVersion },
  { name: 'a target with a bare CR', sent: get([], '/api/v1/health\r'), ...waiting },
  { name: 'a canary in the target', sent: get([], `/api/v1/health HTTP/1.1\r\n\r\n${canary}`), ...waiting },
]

/** Methods are case-sensitive. RFC 9110 §9. */
export const methodRows: readonly HttpAttack[] = [
  ...[...'get Get GETX XGET TRACE TRACK PROPFIND PURGE DEBUG PRI QUERY'.split(' '), 'X'.repeat(4000)].map((method) => ({
    name: method.slice(0, 10),
    sent: request(method, '/api/v1/health', host),
    answers: [405],
    text: /Allow: GET, HEAD, OPTIONS\r\n/,
  })),
  { name: 'CONNECT to a path', sent: request('CONNECT', '/api/v1/health', host), answers: [405] },
  { name: 'no method', sent: ` /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n`, answers: [405] },
  { name: 'a method with a colon', sent: request('GE:T', '/api/v1/health', host), answers: [405] },
  { name: 'a method with a NUL', sent: request('GE\0T', '/api/v1/health', host), ...noVersion },
  { name: 'a method beyond ASCII', sent: request('G\xc3\xa4T', '/api/v1/health', host), ...noVersion },
  { name: 'two spaces behind the method', sent: `GET  /api/v1/health HTTP/1.1${hostEnd}`, ...noVersion },
  { name: 'a tab behind the method', sent: `GET\t/api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n`, ...noVersion },
]

/** Other protocols on the port. */
export const protocolRows: readonly HttpAttack[] = [
  { name: 'HTTP/1.0', sent: `${health} HTTP/1.0${hostEnd}`, ...noVersion },
  {
    name: 'HTTP/1.0 with keep-alive',
    sent: `${health} HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n`,
    ...noVersion,
  },
  { name: 'HTTP/1.2', sent: `${health} HTTP/1.2${hostEnd}`, ...noVersion },
  { name: 'HTTP/2.0 as text', sent: `${health} HTTP/2.0${hostEnd}`, ...noVersion },
  { name: 'HTTP/1.1 in lower case', sent: `${health} http/1.1${hostEnd}`, ...noVersion },
  { name: 'HTTP/1.10', sent: `${health} HTTP/1.10${hostEnd}`, ...noVersion },
  { name: 'HTTP/0.9', sent: 'GET /api/v1/health\r\n', ...waiting },
  { name: 'the preface of HTTP/2', sent: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', ...noVersion },
  { name: 'the hello of TLS', sent: `\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03${'\x5a'.repeat(507)}`, ...noVersion },
  { name: 'SSH', sent: 'SSH-2.0-OpenSSH_9.2\r\n', ...waiting },
  { name: 'a line of PROXY', sent: `PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n${get()}`, ...noVersion },
  {
    name: 'a header of PROXY version 2, read over',
    sent: `\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c${'\0'.repeat(12)}${get()}`,
    answers: [200],
  },
  { name: 'a command of Redis', sent: '*1\r\n$4\r\nPING\r\n', ...waiting },
  { name: 'a greeting of SMTP', sent: 'EHLO a\r\n', ...noVersion },
  { name: 'random bytes', sent: '\x9f\x12\xa8\x00\x7f\xfe\x01\x80\r\n\r\n', ...noVersion },
  { name: 'an empty line before a request', sent: `\r\n${get()}`, ...waiting },
]
