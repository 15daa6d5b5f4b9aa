import { expect, test } from 'vitest'
import { bugReply, replyOf } from '#http/reply'
import { Problem, type ProblemCode, problemKinds } from '#model/problem'

const bodies = {
  empty: undefined,
  error: { error: 'text' },
  message: { message: 'text' },
  details: { error: 'Validation Error', details: [{ path: 'a.0', message: 'no' }] },
  server_error: { error: 'Internal Server Error', message: expect.any(String), statusCode: 500 },
}

test.each(Object.keys(problemKinds) as ProblemCode[])('the problem %s has its status, body and headers', (code) => {
  const details = [{ path: 'a.0', message: 'no' }]
  const reply = replyOf(new Problem(code, 'text', { details, headers: { 'X-A': 'b' } }), '')
  expect(reply.status).toBe(problemKinds[code].status)
  expect(reply.json).toEqual(bodies[problemKinds[code].body])
  expect(reply.headers?.['X-A']).toBe('b')
  expect(reply.headers?.['Retry-After'] !== undefined).toBe([429, 503].includes(reply.status))
  expect(reply.headers?.['WWW-Authenticate'] !== undefined).toBe(reply.status === 401)
})

test('missing details are an empty list', () => {
  expect(replyOf(new Problem('invalid'), '').json).toEqual({ error: 'Validation Error', details: [] })
})

test('the message of a bug is not sent', () => {
  expect(JSON.stringify(replyOf(new Problem('bug', 'secret'), ''))).not.toContain('secret')
  expect(bugReply).toMatchObject({ status: 500, json: bodies.server_error })
})

test.each([
  ['', true],
  ['navigate', true],
  ['cors', false],
  ['no-cors', false],
  ['same-origin', false],
  ['websocket', false],
])('Sec-Fetch-Mode %s: Basic challenge %s', (mode, expected) => {
  const challenge = replyOf(new Problem('unauthorized'), mode).headers?.['WWW-Authenticate'] ?? ''
  expect(challenge.includes('Basic')).toBe(expected)
  expect(challenge).toContain('Bearer')
})

test.each(['WWW-Authenticate', 'www-authenticate'])('a %s of the problem replaces the default', (name) => {
  const { headers } = replyOf(new Problem('unauthorized', 'x', { headers: { [name]: 'DPoP error="x"' } }), '')
  expect(headers).toEqual({ [name]: 'DPoP error="x"' })
})

test('a Retry-After of the problem replaces the default', () => {
  const { headers } = replyOf(new Problem('too_many_requests', 'x', { headers: { 'retry-after': '7' } }), '')
  expect(headers).toEqual({ 'retry-after': '7' })
})
