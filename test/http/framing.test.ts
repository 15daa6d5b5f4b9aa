import { afterAll, expect, test } from 'vitest'
import { openHttp, route } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const http = await openHttp({
  bindings: [
    route('GET', '/plain', () => ({ status: 200, json: 'plain' })),
    route('GET', '/later', async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return { status: 200, json: 'later' }
    }),
    route('POST', '/plain', () => ({ status: 200, json: 'posted' })),
  ],
})
afterAll(() => http.server.close())

const smuggled = 'GET /api/v1/plain HTTP/1.1\r\nHost: smuggled\r\n\r\n'

test('a refusal by the framing check names the fault', async () => {
  const client = new RawClient(http.port).send('GET /api/v1/plain HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')
  expect(await client.closed()).toMatch(/X-Request-Id: .*\r\n(.*\r\n)+\{"error":"one Host header is needed"\}$/)
})

test('a pipelined request before the answer to the previous one closes the connection, and the server stays intact', async () => {
  const later = 'GET /api/v1/later HTTP/1.1\r\nHost: a\r\n\r\n'
  await new RawClient(http.port).send(later + smuggled).closed()
  expect((await fetch(`${http.base}/later`)).status).toBe(200)
  expect(http.server.inFlight()).toBe(0)
})

test('a connection serves one request after the other, including HEAD', async () => {
  const client = new RawClient(http.port)
  for (const [index, method] of ['HEAD', 'GET', 'OPTIONS', 'HEAD', 'GET'].entries()) {
    client.send(`${method} /api/v1/later HTTP/1.1\r\nHost: a\r\n\r\n`)
    await client.answers(index + 1)
  }
  expect(client.statuses).toEqual([200, 200, 204, 200, 200])
  client.socket.destroy()
})

test.each([
  ['a request with Connection: close', 'GET /api/v1/plain HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 200],
  [
    'a request with an unknown Connection option',
    'GET /api/v1/plain HTTP/1.1\r\nHost: a\r\nConnection: hello\r\n\r\n',
    200,
  ],
  ['a body in chunks', 'POST /api/v1/plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  ['invalid framing', 'GET /api/v1/plain HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
])('a client that half-closes after %s is answered', async (_, request, status) => {
  for (let time = 0; time < 20; time++) {
    const client = new RawClient(http.port)
    client.socket.end(request)
    await client.closed()
    expect(client.statuses, client.text).toEqual([status])
  }
})
