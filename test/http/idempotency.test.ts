import { request } from 'undici'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Method } from '#api/route-entry'
import type { Call } from '#http/call'
import { Problem } from '#model/problem'
import { admin, openHttp, route, world } from '#test/http/http-fixture'

/**
 * Which requests reach the guard of Idempotency-Key. test/routes/idempotency.test.ts tests the guard, and
 * test/routes/idempotent-routes.test.ts which routes have it.
 */

const guarded: string[] = []
let drawn = 0

const seedOf = (call: Call) => Buffer.from(call.seed).toString('hex')
const all = { resource: 'alarms', action: 'update', within: 'tenant' } as const

const http = await openHttp({
  world: {
    ...world,
    random(byteCount) {
      if (byteCount === 16) drawn++
      return world.random(byteCount)
    },
  },
  bindings: [
    route('PUT', '/session', () => ({ status: 200, json: 'done' }), { access: 'session' }),
    route('POST', '/seed', (call) => ({ status: 200, json: [seedOf(call), seedOf(call), call.isRepeated] }), {
      access: all,
    }),
    route('POST', '/body', (call) => ({ status: 200, json: call.body }), {
      access: all,
      query: z.object({ depth: z.string().max(1).optional() }),
      body: { schema: z.strictObject({ a: z.int() }) },
    }),
  ],
  idempotency: {
    async run(call, entry, proceed) {
      guarded.push(`${entry.method} ${entry.path} ${call.header('idempotency-key')}`)
      if (call.header('idempotency-key') === 'refused') throw new Problem('unprocessable')
      return proceed({ seed: new Uint8Array(16).fill(7), isRepeated: true })
    },
  },
  authenticate: (asked) => {
    if (asked.header('authorization') === 'unknown') throw new Problem('unauthorized')
    return admin
  },
})
afterAll(() => http.server.close())
beforeEach(() => {
  guarded.length = 0
  drawn = 0
})

const send = async (method: Method, path: string, headers: Record<string, string>, body?: string) => {
  const response = await request(http.base + path, { method, headers, ...(body !== undefined && { body }) })
  return { status: response.statusCode, text: await response.body.text() }
}

describe('a request with a key', () => {
  test('is guarded, and a request without a key is not', async () => {
    for (const headers of [{ 'idempotency-key': 'k' }, {}])
      expect(await send('PUT', '/session', headers)).toEqual({ status: 200, text: '"done"' })
    expect(guarded).toEqual(['PUT /session k'])
  })

  test('may have an empty key, and two keys are joined', async () => {
    await send('PUT', '/session', { 'idempotency-key': '' })
    await request(`${http.base}/session`, { method: 'PUT', headers: ['idempotency-key', 'a', 'idempotency-key', 'b'] })
    expect(guarded).toEqual(['PUT /session ', 'PUT /session a, b'])
  })

  const json = { 'content-type': 'application/json', 'idempotency-key': 'k' }
  test.each([
    ['an unauthenticated caller', '/body', { ...json, authorization: 'unknown' }, '{"a":1}', 401],
    ['an unknown path', '/bodies', json, '{"a":1}', 404],
    ['a wrong query', '/body?depth=10', json, '{"a":1}', 400],
    ['another type', '/body', { 'idempotency-key': 'k', 'content-type': 'text/plain' }, '{"a":1}', 415],
    ['a body that does not fit', '/body', json, '{"a":"1"}', 400],
    ['a body that is not JSON', '/body', json, '{', 400],
  ])('for %s is refused before the key is used', async (_, path, headers, body, status) => {
    expect((await send('POST', path, headers, body)).status).toBe(status)
    expect(guarded).toEqual([])
  })

  test('gets the answer or the refusal of the guard', async () => {
    expect(await send('POST', '/body', json, '{"a":1}')).toEqual({ status: 200, text: '{"a":1}' })
    expect(await send('POST', '/body', { ...json, 'idempotency-key': 'refused' }, '{"a":1}')).toEqual({
      status: 422,
      text: '{"error":"Unprocessable Content"}',
    })
  })
})

test('the seed of a request has 16 random bytes, never changes, and is drawn when it is first read', async () => {
  await send('PUT', '/session', {})
  expect(drawn).toBe(0)
  const [first, again, isRepeated] = JSON.parse((await send('POST', '/seed', {})).text)
  expect(first).toMatch(/^[0-9a-f]{32}$/)
  expect([again, isRepeated, drawn]).toEqual([first, false, 1])
  expect(JSON.parse((await send('POST', '/seed', {})).text)[0]).not.toBe(first)
})

test('a request with a key gets the seed that is stored under that key', async () => {
  const seed = '07'.repeat(16)
  expect(JSON.parse((await send('POST', '/seed', { 'idempotency-key': 'k' })).text)).toEqual([seed, seed, true])
  expect(drawn).toBe(0)
})
