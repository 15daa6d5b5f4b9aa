import { afterEach, expect, test } from 'vitest'
import type { Call } from '#http/call'
import { type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

let http: HttpFixture
afterEach(() => http.server.close())

const calls: Call[] = []
async function* slowly() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    yield 'x'
  }
}

function open(requestDeadlineMs: number): Promise<HttpFixture> {
  return openHttp({
    requestDeadlineMs,
    bindings: [
      route('GET', '/never', (call) => {
        calls.push(call)
        return new Promise(() => {})
      }),
      route('GET', '/late', async () => {
        await new Promise((resolve) => setTimeout(resolve, 150))
        return { status: 200, chunks: slowly() }
      }),
      route('GET', '/slowly', () => ({ status: 200, chunks: slowly() })),
      route('POST', '/none', () => ({ status: 200 })),
    ],
  })
}

test('an answer that does not begin in time is 503', async () => {
  http = await open(50)
  const responses = await Promise.all([fetch(`${http.base}/never`), fetch(`${http.base}/never`)])
  for (const response of responses) {
    expect([response.status, await response.json()]).toEqual([503, { error: 'the answer took too long' }])
    expect(response.headers.get('retry-after')).not.toBeNull()
  }
  expect(http.server.inFlight()).toBe(0)
})

test('the signal aborts at the deadline and when the client disconnects', async () => {
  http = await open(50)
  calls.length = 0
  const early = fetch(`${http.base}/never`)
  await until(() => calls.length === 1)
  const signal = calls[0]?.signal
  expect(signal?.aborted).toBe(false)
  await early
  expect(signal?.aborted).toBe(true)
  expect(calls[0]?.signal).toBe(signal)

  const client = new RawClient(http.port).send('GET /api/v1/never HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => calls.length === 2)
  client.socket.destroy()
  await until(() => http.server.inFlight() === 0)
  expect(calls[1]?.signal.aborted).toBe(true)
})

test('an answer after the deadline is discarded', async () => {
  http = await open(50)
  expect((await fetch(`${http.base}/late`)).status).toBe(503)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(http.log.lines.filter((line) => line.message === 'request failed')).toEqual([])
})

test('an answer that has begun may exceed the deadline', async () => {
  http = await open(50)
  const client = new RawClient(http.port).send('GET /api/v1/slowly HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => client.text.split('x').length > 10)
  expect(client.text).toContain('200 OK')
  client.socket.destroy()
})

test('a body that never arrives closes the connection', async () => {
  http = await open(50)
  const client = new RawClient(http.port).send('POST /api/v1/none HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab')
  expect(await client.closed()).toContain('503 Service Unavailable')
})
