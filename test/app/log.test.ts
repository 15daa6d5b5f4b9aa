import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createLog, redactPath } from '#app/log'

describe('the log contains no secrets', () => {
  const secret = 'hunter2-hunter2'

  test.each([
    ['a header', { headers: { authorization: secret } }],
    ['a header in upper and lower case', { headers: { Authorization: secret, DPoP: secret, 'X-API-Key': secret } }],
    ['cookies', { cookie: secret, cookies: [secret], 'set-cookie': [secret] }],
    ['a password', { body: { password: secret } }],
    ['a secret', { secret }],
    ['tokens', { token: secret, refreshToken: secret, refresh_token: secret }],
    ['a ticket', { ticket: secret }],
    ['an invitation code', { body: { code: secret } }],
    ['the answer of an enrolment', { otpauthUri: secret, recoveryCodes: [secret] }],
    ['the current password', { body: { current: secret } }],
    ['keys', { provisioningKey: secret, operatorToken: secret, key: secret.padEnd(32, '.') }],
    ['a list', { users: [{ name: 'a', password: secret }] }],
    ['a secret that is an object', { token: { value: secret } }],
    ['a path', { path: `/api/v1/events/${secret}` }],
    ['an address with a query', { url: `wss://a.example/prefix/api/v1/events/${secret}?offset=now` }],
    ['an error', { err: new Error(`GET /api/v1/events/${secret}`) }],
    ['a deeply nested field', { a: { b: { c: { d: { e: { f: { g: { h: { i: { password: secret } } } } } } } } } }],
  ])('that are in %s', (_, fields) => {
    const { log, lines } = logToMemory()
    log.info(fields, 'message')
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toContain(secret)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', msg: 'message' })
  })

  test('that are in a message, in JSON and in readable form', () => {
    const { log, lines } = logToMemory()
    log.info(`upgrade /api/v1/events/${secret}`)
    const pretty = logToMemory({ isPretty: true })
    pretty.log.info({ password: secret }, `upgrade /api/v1/events/${secret}`)
    expect([...lines, ...pretty.lines].join('\n')).not.toContain(secret)
    expect(lines).toHaveLength(1)
    expect(pretty.lines.join('')).toContain('/api/v1/events/[redacted]')
  })
})

test('other fields are logged unchanged', () => {
  const { log, lines } = logToMemory()
  const cause = Object.assign(new Error('no route'), { code: 'ENETUNREACH' })
  log.error(
    { code: 4401, key: 'short', name: 'a', missing: undefined, nothing: null, list: [1, { b: true }], err: cause },
    'closed',
  )
  const line = JSON.parse(lines[0] ?? '')
  expect(line).toMatchObject({
    code: 4401,
    key: 'short',
    name: 'a',
    nothing: null,
    list: [1, { b: true }],
    msg: 'closed',
  })
  expect(line.err).toMatchObject({
    message: 'no route',
    code: 'ENETUNREACH',
    stack: expect.stringContaining('log.test'),
  })
})

test('messages below the level are dropped', () => {
  const { log, lines } = logToMemory({ level: 'warn' })
  log.info('no')
  log.warn('yes')
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['yes'])
})

test.each([
  ['/api/v1/events/abc', '/api/v1/events/[redacted]'],
  ['/api/v1/events/abc?offset=now', '/api/v1/events/[redacted]?offset=now'],
  ['/api/v1/events/ticket', '/api/v1/events/ticket'],
  ['/api/v1/events/ticket?x=1', '/api/v1/events/ticket?x=1'],
  ['/api/v1/events/ticketABC', '/api/v1/events/[redacted]'],
  ['/api/v1/events/ticket-1', '/api/v1/events/[redacted]'],
  ['/api/v1/events', '/api/v1/events'],
  ['/api/v1/events?types=PONG', '/api/v1/events?types=PONG'],
  ['/api/v1/devices/events', '/api/v1/devices/events'],
  ['/api/v1//events/0123456789-_0123456789_012345678', '/api/v1//events/[redacted]'],
  ['/api/v1/Events/0123456789-_0123456789_012345678', '/api/v1/Events/[redacted]'],
  ['/events//0123456789-_0123456789_012345678?offset=now', '/events//[redacted]?offset=now'],
  ['at file:///app/dist/src/events/hub.js:1:2', 'at file:///app/dist/src/events/hub.js:1:2'],
  ['/api/v1/events/a b /api/v1/events/c', '/api/v1/events/[redacted] b /api/v1/events/[redacted]'],
])('the log shows %j without its ticket', (path, redacted) => {
  expect(redactPath(path)).toBe(redacted)
})

function logToMemory({ level = 'info', isPretty = false } = {}) {
  const lines: string[] = []
  const stream = new Writable({
    write(line, _, written) {
      lines.push(String(line))
      written()
    },
  })
  return { log: createLog({ level, isPretty, stream }), lines }
}
