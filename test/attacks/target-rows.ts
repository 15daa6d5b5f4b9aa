import { canary, get, type HttpAttack, request } from '#test/attacks/http-attack'

const host = ['Host: localhost']
const unknown = { answers: [404], end: 'open' } as const
/** The parser looks for the version where the target ends. */
const noVersion = { answers: [505], end: 'closed' } as const
/** Nothing more comes of it, until the connection was silent for ten seconds. */
const waiting = { answers: [], end: 'waiting' } as const

/** Paths that are not what they look like. One thing has one address; what is unknown is 404. RFC 9112 §3.2. */
export const targetRows: readonly HttpAttack[] = [
  ...[
    ['two slashes', '//api/v1/health'],
    ['two slashes inside', '/api//v1/health'],
    ['a slash behind', '/api/v1/health/'],
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
    ['an escape of no digits', '/api/v1/devices/%zz'],
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
  ].map(([what = '', target = '']) => ({ what, sent: get([], target), ...unknown })),
  { what: 'a fragment', sent: get([], '/api/v1/health#x'), ...unknown },
  { what: 'a fragment in a query', sent: get([], '/api/v1/health?#x'), answers: [200], end: 'open' },
  { what: 'a query of signs', sent: get([], '/api/v1/health?&&==&%&%zz=%00&a[]=b?c'), answers: [200], end: 'open' },
  { what: 'a query of nothing', sent: get([], '/api/v1/health?'), answers: [200], end: 'open' },
  { what: 'an absolute target', sent: get([], 'http://a/api/v1/health'), ...noVersion },
  { what: 'an absolute target of elsewhere', sent: get([], 'http://evil.example/api/v1/health'), ...noVersion },
  { what: 'an absolute target of another scheme', sent: get([], 'ftp://a/api/v1/health'), ...noVersion },
  { what: 'no slash', sent: get([], 'api/v1/health'), ...noVersion },
  { what: 'only a query', sent: get([], '?a=b'), ...noVersion },
  { what: 'an asterisk', sent: request('OPTIONS', '*', host), ...noVersion },
  { what: 'an authority', sent: request('CONNECT', 'a:80', host), ...noVersion },
  { what: 'an authority for GET', sent: get([], 'a:80'), ...noVersion },
  { what: 'no target', sent: `GET HTTP/1.1\r\nHost: localhost\r\n\r\n`, ...noVersion },
  { what: 'a target with a space', sent: get([], '/api/v1/health /x'), ...noVersion },
  { what: 'a target with a tab', sent: get([], '/api/v1/\thealth'), ...noVersion },
  { what: 'a target with a NUL', sent: get([], '/api/v1/health\0'), ...noVersion },
  { what: 'a target with a bare LF', sent: get([], '/api/v1/health\n'), ...noVersion },
  { what: 'a target with a bare CR', sent: get([], '/api/v1/health\r'), ...waiting },
  { what: 'a canary in the target', sent: get([], `/api/v1/health HTTP/1.1\r\n\r\n${canary}`), ...waiting },
]

/** RFC 9110 §9. A method is what it is to the letter. */
export const methodRows: readonly HttpAttack[] = [
  ...[
    'get',
    'Get',
    'GETX',
    'XGET',
    'TRACE',
    'TRACK',
    'PROPFIND',
    'PURGE',
    'DEBUG',
    'PRI',
    'QUERY',
    'X'.repeat(4000),
  ].map((method) => ({
    what: method.slice(0, 10),
    sent: request(method, '/api/v1/health', host),
    answers: [405],
    end: 'open' as const,
    says: /Allow: GET, HEAD, OPTIONS\r\n/,
  })),
  { what: 'CONNECT to a path', sent: request('CONNECT', '/api/v1/health', host), answers: [405], end: 'open' },
  { what: 'no method', sent: ` /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n`, answers: [405], end: 'open' },
  { what: 'a method with a colon', sent: request('GE:T', '/api/v1/health', host), answers: [405], end: 'open' },
  { what: 'a method with a NUL', sent: request('GE\0T', '/api/v1/health', host), ...noVersion },
  { what: 'a method beyond ASCII', sent: request('G\xc3\xa4T', '/api/v1/health', host), ...noVersion },
  {
    what: 'two spaces behind the method',
    sent: `GET  /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ...noVersion,
  },
  { what: 'a tab behind the method', sent: `GET\t/api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n`, ...noVersion },
]

/** Other protocols than HTTP/1.1 on its port. */
export const protocolRows: readonly HttpAttack[] = [
  { what: 'HTTP/1.0', sent: 'GET /api/v1/health HTTP/1.0\r\nHost: localhost\r\n\r\n', answers: [505], end: 'closed' },
  {
    what: 'HTTP/1.0 that is to be kept',
    sent: 'GET /api/v1/health HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n',
    answers: [505],
    end: 'closed',
  },
  { what: 'HTTP/1.2', sent: 'GET /api/v1/health HTTP/1.2\r\nHost: localhost\r\n\r\n', answers: [505], end: 'closed' },
  {
    what: 'HTTP/2.0 in words',
    sent: 'GET /api/v1/health HTTP/2.0\r\nHost: localhost\r\n\r\n',
    answers: [505],
    end: 'closed',
  },
  {
    what: 'HTTP/1.1 in lower case',
    sent: 'GET /api/v1/health http/1.1\r\nHost: localhost\r\n\r\n',
    answers: [505],
    end: 'closed',
  },
  { what: 'HTTP/1.10', sent: 'GET /api/v1/health HTTP/1.10\r\nHost: localhost\r\n\r\n', ...noVersion },
  { what: 'HTTP/0.9', sent: 'GET /api/v1/health\r\n', ...waiting },
  { what: 'the preface of HTTP/2', sent: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', ...noVersion },
  { what: 'the hello of TLS', sent: `\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03${'\x5a'.repeat(507)}`, ...noVersion },
  { what: 'SSH', sent: 'SSH-2.0-OpenSSH_9.2\r\n', ...waiting },
  { what: 'a line of PROXY', sent: `PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n${get()}`, ...noVersion },
  {
    what: 'a header of PROXY version 2, read over',
    sent: `\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c${'\0'.repeat(12)}${get()}`,
    answers: [200],
    end: 'open',
  },
  { what: 'a command of Redis', sent: '*1\r\n$4\r\nPING\r\n', ...waiting },
  { what: 'a greeting of SMTP', sent: 'EHLO a\r\n', ...noVersion },
  { what: 'random bytes', sent: '\x9f\x12\xa8\x00\x7f\xfe\x01\x80\r\n\r\n', ...noVersion },
  { what: 'an empty line before a request', sent: `\r\n${get()}`, ...waiting },
]
