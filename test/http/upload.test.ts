import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RequestEnded } from '#http/body-stream'
import type { Call } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { admin, type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const limit = 4 * 1024 * 1024
const deadlineMs = 400

interface Taken {
  bytes: number
  hash: string | undefined
  error: unknown
}

let http: HttpFixture
let taken: Taken[] = []
let isCurrent = true
/** Lets the slow answerer take a piece. */
let allow: (() => void)[] = []
const body = { schema: z.unknown(), contentTypes: 'any', isStreamed: true } as const
const caller: Caller = { ...admin, isCurrent: () => isCurrent, now: () => undefined }

/** Takes all of it, and says what came of that. */
async function take(call: Call, between: () => unknown = () => undefined): Promise<Taken> {
  const found: Taken = { bytes: 0, hash: undefined, error: undefined }
  taken.push(found)
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

beforeAll(async () => {
  http = await openHttp({
    streamedBytesMax: limit,
    requestDeadlineMs: deadlineMs,
    bindings: [
      route(
        'PUT',
        '/take',
        async (call) => {
          const { bytes, hash } = await take(call)
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
          await take(call)
          return { status: 200, json: call.upload?.stillPermitted() === caller }
        },
        { access: 'session', body },
      ),
      route(
        'PUT',
        '/slow',
        async (call) => {
          const { bytes } = await take(call, () => new Promise<void>((go) => allow.push(go)))
          return { status: 200, json: bytes }
        },
        { body },
      ),
      route(
        'PUT',
        '/late',
        async (call) => {
          await new Promise((resolve) => setTimeout(resolve, 30))
          return { status: 200, json: (await take(call)).hash }
        },
        { body },
      ),
      route(
        'PUT',
        '/some',
        async (call) => {
          for await (const _ of call.upload ?? []) throw new Problem('conflict', 'that will do')
          return { status: 200 }
        },
        { body },
      ),
      route('PUT', '/none', () => ({ status: 200, json: 'not wanted' }), { body }),
      route('PUT', '/never', () => new Promise(() => {}), { body }),
      route('PUT', '/narrow', async (call) => ({ status: 200, json: (await take(call)).bytes }), {
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
})
beforeEach(() => {
  taken = []
  allow = []
  isCurrent = true
})
afterAll(() => http.server.close())

/** Differs from byte to byte, so that order counts. */
const bytesOf = (count: number) => Uint8Array.from({ length: count }, (_, index) => (index * 31 + (index >> 8)) & 0xff)
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const head = (path: string, length: number | 'chunked') =>
  `PUT /api/v1${path} HTTP/1.1\r\nHost: a\r\n${length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n\r\n`
const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
const next = 'GET /api/v1/next HTTP/1.1\r\nHost: a\r\n\r\n'
const errors = () => http.log.lines.filter(({ level }) => level === 'error')

describe('all of it arrives, in order', () => {
  test.each([0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, limit])('%i bytes with a length', async (count) => {
    const bytes = bytesOf(count)
    const answer = await request(`${http.base}/take`, { method: 'PUT', body: bytes })
    expect(await answer.body.json()).toEqual({ bytes: count, hash: hashOf(bytes), length: count, isEmpty: 0 })
  })

  test.each([1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, limit])('%i bytes in chunks', async (count) => {
    const bytes = bytesOf(count)
    async function* pieces() {
      for (let at = 0; at < count; at += 5000) yield bytes.subarray(at, at + 5000)
    }
    const answer = await request(`${http.base}/take`, { method: 'PUT', body: Readable.from(pieces()) })
    expect(await answer.body.json()).toEqual({ bytes: count, hash: hashOf(bytes), isEmpty: 0 })
  })

  test('no bytes in chunks', async () => {
    const client = new RawClient(http.port).send(head('/take', 'chunked')).send('0\r\n\r\n')
    expect(await client.answers(1)).toContain(`{"bytes":0,"hash":"${hashOf(bytesOf(0))}","isEmpty":0}`)
    client.socket.destroy()
  })

  test('what came before it was asked for', async () => {
    const bytes = bytesOf(2 * 1024 * 1024)
    const answer = await request(`${http.base}/late`, { method: 'PUT', body: bytes })
    expect(await answer.body.json()).toBe(hashOf(bytes))
  })

  test('an Idempotency-Key is no key to it', async () => {
    const headers = { 'Idempotency-Key': 'a' }
    const answer = await request(`${http.base}/take`, { method: 'PUT', body: 'abc', headers })
    expect([answer.statusCode, ((await answer.body.json()) as Taken).bytes]).toEqual([200, 3])
  })
})

describe('limits', () => {
  test('a length above is refused before a byte of it was sent', async () => {
    const client = new RawClient(http.port).send(head('/take', limit + 1))
    expect(await client.answers(1)).toContain(`{"error":"the body is larger than ${limit} bytes"}`)
    expect(taken).toEqual([])
    client.socket.destroy()
  })

  test('chunks above are refused in the middle', async () => {
    const client = new RawClient(http.port).send(head('/take', 'chunked'))
    client.send(chunk(bytesOf(limit)))
    client.send(chunk(Uint8Array.of(1))).send('0\r\n\r\n')
    await client.closed()
    expect(client.statuses).toEqual([413])
    expect(taken[0]?.error).toMatchObject({ code: 'too_large' })
  })

  test("an entry's own limit and types", async () => {
    const put = (text: string, type: string) =>
      request(`${http.base}/narrow`, { method: 'PUT', body: text, headers: { 'Content-Type': type } })
    expect((await put('0123456789', 'application/octet-stream')).statusCode).toBe(200)
    expect((await put('0123456789a', 'application/octet-stream')).statusCode).toBe(413)
    expect((await put('0', 'text/plain')).statusCode).toBe(415)
  })
})

describe('one who takes slowly', () => {
  test('holds the sender back, and hears the rest when he goes on', async () => {
    const count = limit
    const bytes = bytesOf(count)
    const client = new RawClient(http.port).send(head('/slow', count)).send(bytes)
    const going = setInterval(() => allow.shift()?.(), 1)
    await until(() => taken[0]?.bytes === count)
    clearInterval(going)
    await until(() => {
      allow.shift()?.()
      return client.text.includes(`\r\n\r\n${count}`)
    })
    client.send(next)
    await client.answers(2)
    expect(client.statuses).toEqual([200, 204])
    client.socket.destroy()
  })

  test('little of what he has not taken is in memory', async () => {
    const count = 64 * 1024 * 1024
    const slow = await openHttp({
      streamedBytesMax: count,
      bindings: [
        route(
          'PUT',
          '/slow',
          async (call) => {
            await take(call, () => new Promise<void>((go) => allow.push(go)))
            return { status: 200 }
          },
          { body },
        ),
      ],
    })
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
    // The rest is in the two kernels, or with the sender.
    expect(sent).toBeLessThan(24 * 1024 * 1024)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
    client.socket.destroy()
    const going = setInterval(() => allow.shift()?.(), 1)
    await until(() => taken[0]?.error !== undefined && slow.server.inFlight() === 0)
    clearInterval(going)
    expect(taken[0]?.error).toBeInstanceOf(RequestEnded)
    await slow.server.close()
  })
})

describe('one who goes away', () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])('after %i tenths: what came is taken, then it is over', async (tenths) => {
    const logged = errors().length
    const count = tenths * 10_000
    const client = new RawClient(http.port).send(head('/take', 100_000)).send(bytesOf(count))
    await until(() => taken[0]?.bytes === count)
    client.socket.destroy()
    await until(() => taken[0]?.error !== undefined)
    expect(taken[0]).toMatchObject({ bytes: count, error: expect.any(RequestEnded) })
    expect([http.server.inFlight(), errors().length - logged]).toEqual([0, 0])
  })

  test('while he is held back: no more is asked of him', async () => {
    const client = new RawClient(http.port).send(head('/slow', limit)).send(bytesOf(limit - 1))
    await until(() => allow.length === 1)
    client.socket.destroy()
    const going = setInterval(() => allow.shift()?.(), 1)
    await until(() => taken[0]?.error !== undefined)
    clearInterval(going)
    expect(taken[0]?.error).toBeInstanceOf(RequestEnded)
    expect((await request(`${http.base}/next`)).statusCode).toBe(204)
  })
})

describe('an answer before its end', () => {
  test.each([
    ['/none', 200],
    ['/some', 409],
  ])('%s leaves the connection good', async (path, status) => {
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
  ])('%s, in chunks, is the last of its connection', async (path, status) => {
    const client = new RawClient(http.port).send(head(path, 'chunked')).send(chunk(bytesOf(1000)))
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.send('0\r\n\r\n')
    await client.closed()
    expect(client.statuses).toEqual([status])
  })
})

describe('the deadline', () => {
  test('counts from the last piece', async () => {
    const client = new RawClient(http.port).send(head('/take', 8))
    for (const byte of bytesOf(8)) {
      await new Promise((resolve) => setTimeout(resolve, deadlineMs / 4))
      client.send(Uint8Array.of(byte))
    }
    expect(await client.answers(1)).toContain('200 OK')
    client.socket.destroy()
  })

  test('passes when no piece comes, and whoever takes them hears it', async () => {
    const client = new RawClient(http.port).send(head('/take', 8)).send('abc')
    expect(await client.closed()).toContain('503 Service Unavailable')
    await until(() => taken[0]?.error !== undefined)
    expect(taken[0]).toMatchObject({ bytes: 3, error: expect.any(RequestEnded) })
  })

  test('passes for one who is held back and whom nobody takes from', async () => {
    const client = new RawClient(http.port).send(head('/never', limit)).send(bytesOf(limit))
    await client.answers(1)
    expect(client.statuses).toEqual([503])
    client.socket.destroy()
    await until(() => http.server.inFlight() === 0)
  })
})

describe('rights that end meanwhile', () => {
  test.each([
    [true, 200],
    [false, 401],
  ])('still there: %s, %i', async (isStillThere, status) => {
    const client = new RawClient(http.port).send(head('/judged', 2)).send('a')
    await until(() => taken[0]?.bytes === 1)
    isCurrent = isStillThere
    client.send('b')
    await client.answers(1)
    expect(client.statuses).toEqual([status])
    client.socket.destroy()
  })
})
