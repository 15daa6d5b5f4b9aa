import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const head = (method: string, path: string, ...lines: readonly string[]) =>
  `${[`${method} /api/v1${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', ...lines].join('\r\n')}\r\n\r\n`

let http: HttpFixture
/** Callbacks that let the route read its next piece. */
let allow: (() => void)[] = []
let isEnded = false

beforeEach(async () => {
  allow = []
  isEnded = false
  http = await openHttp({
    bodyPaceMs: 60,
    streamedBytesMax: 8 * 1024 * 1024,
    bindings: [
      route('POST', '/json', ({ body }) => ({ status: 200, json: body }), { body: { schema: z.unknown() } }),
      route(
        'PUT',
        '/upload',
        async ({ upload }) => {
          let bytes = 0
          try {
            for await (const piece of upload ?? []) {
              bytes += piece.byteLength
              await new Promise<void>((go) => allow.push(go))
            }
          } catch (error) {
            isEnded = true
            throw error
          }
          return { status: 200, json: bytes }
        },
        { body: { schema: z.unknown(), contentTypes: 'any', isStreamed: true } },
      ),
    ],
  })
})
afterEach(() => http.server.close())

test.each([
  ['with a length', head('POST', '/json', 'Content-Length: 1000'), '{'],
  ['in chunks', head('POST', '/json', 'Transfer-Encoding: chunked'), '3e8\r\n{'],
  ['without any byte', head('POST', '/json', 'Content-Length: 1000'), ''],
])('a body %s that stalls is answered 408, and the connection ends', async (_, lines, begun) => {
  const client = new RawClient(http.port).send(lines + begun)
  const text = await client.closed()
  expect(client.statuses).toEqual([408])
  expect(text).toContain('{"error":"Request Timeout"}')
  expect(http.server.inFlight()).toBe(0)
})

test('a body that arrives byte by byte is too slow', async () => {
  const client = new RawClient(http.port).send(head('POST', '/json', 'Content-Length: 1000'))
  const drip = setInterval(() => client.socket.writable && client.send(' '), 5)
  await client.closed().finally(() => clearInterval(drip))
  expect(client.statuses).toEqual([408])
})

test('a stalled upload is answered 408, and the reading route gets an error', async () => {
  const client = new RawClient(http.port).send(`${head('PUT', '/upload', 'Content-Length: 1000')}a`)
  await until(() => allow.length === 1)
  allow[0]?.()
  await client.closed()
  expect(client.statuses).toEqual([408])
  await until(() => isEnded)
})

test('the pace is not measured while the sender is held back', async () => {
  const bytes = 4 * 1024 * 1024
  const client = new RawClient(http.port).send(head('PUT', '/upload', `Content-Length: ${bytes}`))
  client.send(Buffer.alloc(bytes))
  await until(() => allow.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(client.text).toBe('')
  const taking = setInterval(() => {
    for (const go of allow.splice(0)) go()
  }, 1)
  await client.answers(1).finally(() => clearInterval(taking))
  expect(client.statuses).toEqual([200])
  expect(client.text).toContain(String(bytes))
  client.socket.destroy()
})

test('a request that was answered before its body is not answered again', async () => {
  const client = new RawClient(http.port).send(head('POST', '/none', 'Content-Length: 100000'))
  await client.answers(1)
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(client.statuses).toEqual([404])
  client.socket.destroy()
})
