import { afterAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import type { Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { admin, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

/** Requests with asynchronous authentication, such as signatures. */

let verdicts: { readonly give: (caller: Caller) => void; readonly refuse: (error: unknown) => void }[]
let answers: ((reply: Reply) => void)[]
const deadlineMs = 300
const streamed = { schema: z.unknown(), contentTypes: 'any', isStreamed: true } as const

const http = await openHttp({
  requestDeadlineMs: deadlineMs,
  requestsPerUserMax: 2,
  bindings: [
    route('GET', '/slow', () => new Promise((give) => answers.push(give)), { access: 'session' }),
    route('POST', '/whole', ({ body }) => ({ status: 200, json: body }), {
      access: 'session',
      body: { schema: z.unknown() },
    }),
    route(
      'PUT',
      '/streamed',
      async ({ upload }) => {
        let bytes = 0
        for await (const piece of upload ?? []) bytes += piece.byteLength
        return { status: 200, json: [bytes, upload?.stillPermitted() === admin] }
      },
      { access: 'session', body: streamed },
    ),
  ],
  authenticate: () => new Promise((give, refuse) => verdicts.push({ give, refuse })),
})
beforeEach(() => {
  verdicts = []
  answers = []
})
afterAll(() => http.server.close())

const ask = (path: string, init: RequestInit = {}) => fetch(`${http.base}${path}`, init)

async function authenticated(asked: Promise<Response>, caller: Caller = admin): Promise<Response> {
  await until(() => verdicts.length > 0)
  verdicts.shift()?.give(caller)
  return asked
}

test('a body that arrives during authentication is kept, whole or streamed', async () => {
  const json = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' }
  expect(await (await authenticated(ask('/whole', json))).json()).toEqual({ a: 1 })
  const put = { method: 'PUT', body: new Uint8Array(100_000) }
  expect(await (await authenticated(ask('/streamed', put))).json()).toEqual([100_000, true])
})

test('a streamed body is held back during authentication', async () => {
  const bytes = 64 * 1024 * 1024
  const client = new RawClient(http.port).send(
    `PUT /api/v1/streamed HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`,
  )
  client.socket.write(new Uint8Array(bytes))
  await until(() => verdicts.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(client.socket.writableLength).toBeGreaterThan(0)
  verdicts.shift()?.give(admin)
  await until(() => client.text.includes(`[${bytes},true]`))
  client.socket.destroy()
})

test('a refusal is answered, and the body discarded', async () => {
  const asked = ask('/streamed', { method: 'PUT', body: new Uint8Array(100_000) })
  await until(() => verdicts.length > 0)
  verdicts.shift()?.refuse(new Problem('unauthorized', 'no'))
  const answer = await asked
  expect([answer.status, await answer.json()]).toEqual([401, { error: 'no' }])
})

test('a request that was aborted or exceeded its deadline does not reach its route', async () => {
  const aborter = new AbortController()
  const gone = ask('/slow', { signal: aborter.signal }).catch(() => undefined)
  await until(() => verdicts.length === 1)
  aborter.abort()
  await gone
  await until(() => http.server.inFlight() === 0)
  expect((await ask('/slow')).status).toBe(503)
  for (const { give } of verdicts) give(admin)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(answers).toEqual([])
})

test('a request counts for its user from authentication to its end', async () => {
  const caller: Caller = { ...admin, session: { kind: 'session', tenant: 'default', id: 'a' } }
  for (let round = 0; round < 3; round++) {
    const head = 'POST /api/v1/whole HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n'
    const slow = [new RawClient(http.port).send(head), new RawClient(http.port).send(head)]
    await until(() => verdicts.length === 2)
    for (const { give } of verdicts.splice(0)) give(caller)
    expect((await authenticated(ask('/slow'), caller)).status).toBe(429)
    for (const { socket } of slow) socket.destroy()
    await until(() => http.server.inFlight() === 0)
  }
})
