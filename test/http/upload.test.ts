import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RequestEnded } from '#http/body-stream'
import type { Call } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { admin, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const limit = 4 * 1024 * 1024
const deadlineMs = 400

interface ReadResult {
  bytes: number
  hash: string | undefined
  error: unknown
}

let reads: ReadResult[] = []
let isCurrent = true
/** Callbacks that let `/slow` read its next piece. */
let allow: (() => void)[] = []
const body = { schema: z.unknown(), contentTypes: 'any', isStreamed: true } as const
const caller: Caller = { ...admin, isCurrent: () => isCurrent, now: () => undefined }

/** Reads the whole upload, and records the result. */
async function readUpload(call: Call, between: () => unknown = () => undefined): Promise<ReadResult> {
  const found: ReadResult = { bytes: 0, hash: undefined, error: undefined }
  reads.push(found)
  const hash = createHash('sha256')
  try {
    for await (const piece of call.upload ?? []) {
      hash.update(piece)
      found.bytes += piece.byteLength
      await between()
    }
    found.hash = hash.digest('hex')
    return found
  } catch (error) {
    found.error = error
    throw error
  }
}

const slowRoute = route(
  'PUT',
  '/slow',
  async (call) => {
    const { bytes } = await readUpload(call, () => new Promise<void>((go) => allow.push(go)))
    return { status: 200, json: bytes }
  },
  { body },
)

/** Lets `/slow` read until the condition holds. */
async function readUntil(holds: () => boolean): Promise<void> {
  const reading = setInterval(() => allow.shift()?.(), 1)
  await until(holds)
  clearInterval(reading)
}

const http = await openHttp({
  streamedBytesMax: limit,
  requestDeadlineMs: deadlineMs,
  bindings: [
    route(
      'PUT',
      '/take',
      async (call) => {
        const { bytes, hash } = await readUpload(call)
        return {
          status: 200,
          json: { bytes, hash, length: call.upload?.lengthBytes, isEmpty: call.bodyBytes.length },
        }
      },
      { access: 'session', body },
    ),
    route(
      'PUT',
      '/judged',
      async (call) => {
        await readUpload(call)
        return { status: 200, json: call.upload?.stillPermitted() === caller }
      },
      { access: 'session', body },
    ),
    slowRoute,
    route(
      'PUT',
      '/late',
      async (call) => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        return { status: 200, json: (await readUpload(call)).hash }
      },
      { body },
    ),
    route(
      'PUT',
      '/some',
      async (call) => {
        for await (const _ of call.upload ?? []) throw new Problem('conflict', 'enough')
        return { status: 200 }
      },
      { body },
    ),
    route('PUT', '/none', () => ({ status: 200, json: 'unread' }), { body }),
    route('PUT', '/never', () => new Promise(() => {}), { body }),
    route('PUT', '/narrow', async (call) => ({ status: 200, json: (await readUpload(call)).bytes }), {
      body: { ...body, bytesMax: 10, contentTypes: ['application/octet-stream'] },
    }),
    route('GET', '/next', () => ({ status: 204 })),
  ],
  authenticate: ({ path }) => (path.endsWith('/judged') ? caller : admin),
  idempotency: {
    async run() {
      throw new Error('a streamed body was to be compared')
    },
  },
})
beforeEach(() => {
  reads = []
  allow = []
  isCurrent = true
})
afterAll(() => http.server.close())

/** Varying bytes, so that their order matters. */
const bytesOf = (count: number) => Uint8Array.from({ length: count }, (_, index) => (index * 31 + (index >> 8)) & 0xff)
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const head = (path: string, length: number | 'chunked') =>
  `PUT /api/v1${path} HTTP/1.1\r\nHost: a\r\n${length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n\r\n`
const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
const next = 'GET /api/v1/next HTTP/1.1\r\nHost: a\r\n\r\n'
const errors = () => http.log.lines.filter(({ level }) => level === 'error')

describe('an upload arrives complete and in order', () => {
  test.each([0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, limit])('with %i bytes and a length', async (count) => {
    const bytes = bytesOf(count)
    const answer = await request(`${http.base}/take`, { method: 'PUT', body: bytes })
    expect(await answer.body.json()).toEqual({ bytes: count, hash: hashOf(bytes), length: count, isEmpty: 0 })
  })

  test.each([1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, limit])('with %i bytes in chunks', async (count) => {
    const bytes = bytesOf(count)
    async function* pieces() {
      for (let at = 0; at < count; at += 5000) yield bytes.subarray(at, at + 5000)
    }
    const answer = await request(`${http.base}/take`, { method: 'PUT', body: Readable.from(pieces()) })
    expect(await answer.body.json()).toEqual({ bytes: count, hash: hashOf(bytes), isEmpty: 0 })
  })

  test('with no bytes, in chunks', async () => {
    const client = new RawClient(http.port).send(head('/take', 'chunked')).send('0\r\n\r\n')
    expect(await client.answers(1)).toContain(`{"bytes":0,"hash":"${hashOf(bytesOf(0))}","isEmpty":0}`)
    client.socket.destroy()
  })

  test('if the bytes arrive before the route reads', async () => {
    const bytes = bytesOf(2 * 1024 * 1024)
    const answer = await request(`${http.base}/late`, { method: 'PUT', body: bytes })
    expect(await answer.body.json()).toBe(hashOf(bytes))
  })

  test('with an Idempotency-Key, which is ignored', async () => {
    const headers = { 'Idempotency-Key': 'a' }
    const answer = await request(`${http.base}/take`, { method: 'PUT', body: 'abc', headers })
    expect([answer.statusCode, ((await answer.body.json()) as ReadResult).bytes]).toEqual([200, 3])
  })
})

describe('limits', () => {
  test('a length above the limit is refused before the body is sent', async () => {
    const client = new RawClient(http.port).send(head('/take', limit + 1))
    expect(await client.answers(1)).toContain(`{"error":"the body is larger than ${limit} bytes"}`)
    expect(reads).toEqual([])
    client.socket.destroy()
  })

  test('chunks above the limit are refused during the upload', async () => {
    const client = new RawClient(http.port).send(head('/take', 'chunked'))
    client.send(chunk(bytesOf(limit)))
    client.send(chunk(Uint8Array.of(1))).send('0\r\n\r\n')
    await client.closed()
    expect(client.statuses).toEqual([413])
    expect(reads[0]?.error).toMatchObject({ code: 'too_large' })
  })

  test('a route may have its own limit and content types', async () => {
    const put = (text: string, type: string) =>
      request(`${http.base}/narrow`, { method: 'PUT', body: text, headers: { 'Content-Type': type } })
    expect((await put('0123456789', 'application/octet-stream')).statusCode).toBe(200)
    expect((await put('0123456789a', 'application/octet-stream')).statusCode).toBe(413)
    expect((await put('0', 'text/plain')).statusCode).toBe(415)
  })
})

describe('a slow reader', () => {
  test('holds the sender back, and reads the rest later', async () => {
    const count = limit
    const bytes = bytesOf(count)
    const client = new RawClient(http.port).send(head('/slow', count)).send(bytes)
    await readUntil(() => client.text.includes(`\r\n\r\n${count}`))
    expect(reads[0]?.bytes).toBe(count)
    client.send(next)
    await client.answers(2)
    expect(client.statuses).toEqual([200, 204])
    client.socket.destroy()
  })

  test('buffers few unread bytes in memory', async () => {
    const count = 64 * 1024 * 1024
    const slow = await openHttp({ streamedBytesMax: count, bindings: [slowRoute] })
    const before = process.memoryUsage().arrayBuffers
    const client = new RawClient(slow.port).send(head('/slow', count))
    let sent = 0
    const piece = Buffer.alloc(1024 * 1024)
    const send = () => {
      while (sent < count && !client.socket.writableNeedDrain) {
        client.socket.write(piece)
        sent += piece.length
      }
    }
    client.socket.on('drain', send)
    client.socket.once('connect', send)
    await until(() => allow.length === 1)
    let settled = -1
    while (settled !== sent) {
      settled = sent
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    // The rest is in the buffers of the two sockets, or still with the sender.
    expect(sent).toBeLessThan(24 * 1024 * 1024)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
    client.socket.destroy()
    await readUntil(() => reads[0]?.error !== undefined && slow.server.inFlight() === 0)
    expect(reads[0]?.error).toBeInstanceOf(RequestEnded)
    await slow.server.close()
  })
})

describe('a sender that disconnects', () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'after %i tenths of the body: the reader gets the received bytes, then an error',
    async (tenths) => {
      const logged = errors().length
      const count = tenths * 10_000
      const client = new RawClient(http.port).send(head('/take', 100_000)).send(bytesOf(count))
      await until(() => reads[0]?.bytes === count)
      client.socket.destroy()
      await until(() => reads[0]?.error !== undefined)
      expect(reads[0]).toMatchObject({ bytes: count, error: expect.any(RequestEnded) })
      expect([http.server.inFlight(), errors().length - logged]).toEqual([0, 0])
    },
  )

  test('while the sender is held back: the reader gets an error', async () => {
    const client = new RawClient(http.port).send(head('/slow', limit)).send(bytesOf(limit - 1))
    await until(() => allow.length === 1)
    client.socket.destroy()
    await readUntil(() => reads[0]?.error !== undefined)
    expect(reads[0]?.error).toBeInstanceOf(RequestEnded)
    expect((await request(`${http.base}/next`)).statusCode).toBe(204)
  })
})

describe('an answer before the end of the upload', () => {
  test.each([
    ['/none', 200],
    ['/some', 409],
  ])('of %s leaves the connection usable', async (path, status) => {
    const bytes = bytesOf(limit)
    const client = new RawClient(http.port).send(head(path, limit)).send(bytes.subarray(0, 3_000_000))
    await client.answers(1)
    client.send(bytes.subarray(3_000_000)).send(next)
    await client.answers(2)
    expect(client.statuses).toEqual([status, 204])
    client.socket.destroy()
  })

  test.each([
    ['/none', 200],
    ['/some', 409],
  ])('of %s to an upload in chunks closes the connection', async (path, status) => {
    const client = new RawClient(http.port).send(head(path, 'chunked')).send(chunk(bytesOf(1000)))
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.send('0\r\n\r\n')
    await client.closed()
    expect(client.statuses).toEqual([status])
  })
})

describe('the deadline', () => {
  test('is measured from the last piece', async () => {
    const client = new RawClient(http.port).send(head('/take', 8))
    for (const byte of bytesOf(8)) {
      await new Promise((resolve) => setTimeout(resolve, deadlineMs / 4))
      client.send(Uint8Array.of(byte))
    }
    expect(await client.answers(1)).toContain('200 OK')
    client.socket.destroy()
  })

  test('passes without a further piece, and the reader gets an error', async () => {
    const client = new RawClient(http.port).send(head('/take', 8)).send('abc')
    expect(await client.closed()).toContain('503 Service Unavailable')
    await until(() => reads[0]?.error !== undefined)
    expect(reads[0]).toMatchObject({ bytes: 3, error: expect.any(RequestEnded) })
  })

  test('passes while the sender is held back and the route does not read', async () => {
    const client = new RawClient(http.port).send(head('/never', limit)).send(bytesOf(limit))
    await client.answers(1)
    expect(client.statuses).toEqual([503])
    client.socket.destroy()
    await until(() => http.server.inFlight() === 0)
  })
})

test.each([
  [true, 200],
  [false, 401],
])('permissions are checked again at the end of an upload (permitted: %s): %i', async (isPermitted, status) => {
  const client = new RawClient(http.port).send(head('/judged', 2)).send('a')
  await until(() => reads[0]?.bytes === 1)
  isCurrent = isPermitted
  client.send('b')
  await client.answers(1)
  expect(client.statuses).toEqual([status])
  client.socket.destroy()
})
