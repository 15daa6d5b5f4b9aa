import { connect } from 'node:net'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const piece = Buffer.alloc(256 * 1024, 'x')
const big = 'y'.repeat(30 * 1024 * 1024)
let yielded = 0
let returned = 0

/** Yields `count` chunks. `yielded` counts the requested chunks, and `returned` the ended iterators. */
async function* chunksOf(count: number, chunk: string | Uint8Array = piece) {
  try {
    for (let index = 0; index < count; index++) {
      yielded++
      yield chunk
    }
  } finally {
    returned++
  }
}
async function* failing(after: number, error: Error = new Error('broken')) {
  for (let index = 0; index < after; index++) yield 'part'
  throw error
}
async function* never() {
  try {
    await new Promise(() => {})
    yield ''
  } finally {
    returned++
  }
}

const http = await openHttp({
  bindings: [
    route('GET', '/few', () => ({ status: 200, chunks: chunksOf(3, 'añ') })),
    route('GET', '/empty', () => ({ status: 200, chunks: chunksOf(0) })),
    route('GET', '/blanks', () => ({ status: 200, chunks: chunksOf(2, '') })),
    route('GET', '/large', () => ({ status: 200, chunks: chunksOf(200) })),
    route('GET', '/endless', () => ({ status: 200, chunks: chunksOf(100_000) })),
    route('GET', '/counted', () => ({
      status: 206,
      headers: { 'Content-Length': String(100 * piece.length), 'Content-Type': 'image/png' },
      chunks: chunksOf(100),
    })),
    route('GET', '/short', () => ({ status: 200, headers: { 'content-length': '10' }, chunks: chunksOf(1, 'abc') })),
    route('GET', '/long', () => ({ status: 200, headers: { 'content-length': '4' }, chunks: chunksOf(2, 'abc') })),
    route('GET', '/nothing', () => ({ status: 200, headers: { 'content-length': '0' }, chunks: chunksOf(0) })),
    route('GET', '/fails-midway', () => ({ status: 200, chunks: failing(2) })),
    route('GET', '/refuses-midway', () => ({ status: 200, chunks: failing(1, new Problem('storage')) })),
    route('GET', '/overloaded-midway', () => ({
      status: 200,
      chunks: failing(1, new Problem('overloaded', 'moved')),
    })),
    route('GET', '/fails-first', () => ({ status: 200, chunks: failing(0) })),
    route('GET', '/refuses-first', () => ({ status: 200, chunks: failing(0, new Problem('not_found')) })),
    route('GET', '/unmodified', () => ({ status: 304, chunks: chunksOf(1) })),
    route('GET', '/never', () => ({ status: 200, chunks: never() })),
    route('GET', '/big', () => ({ status: 200, json: big })),
    route('GET', '/big-later', async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { status: 200, json: big }
    }),
  ],
})
beforeEach(() => {
  yielded = 0
  returned = 0
})
afterAll(() => http.server.close())

const get = (path: string, init: RequestInit = {}) => fetch(http.base + path, init)
const ask = (path: string) => `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`

describe('complete answers', () => {
  test.each([
    ['/few', 'añañañ'],
    ['/empty', ''],
    ['/blanks', ''],
    ['/nothing', ''],
  ])('the answer of %s arrives complete', async (path, text) => {
    expect(await (await get(path)).text()).toBe(text)
    await until(() => returned === 1)
  })

  test('a large answer arrives complete', async () => {
    expect((await (await get('/large')).arrayBuffer()).byteLength).toBe(200 * piece.length)
  })

  test('a given Content-Length is kept', async () => {
    const response = await get('/counted')
    expect(response.status).toBe(206)
    expect(response.headers.get('content-length')).toBe(String(100 * piece.length))
    expect(response.headers.get('transfer-encoding')).toBeNull()
    expect((await response.arrayBuffer()).byteLength).toBe(100 * piece.length)
  })

  test.each(['/big', '/big-later'])('the large JSON answer of %s arrives complete', async (path) => {
    const response = await get(path)
    expect(response.headers.get('content-length')).toBe(String(big.length + 2))
    expect((await response.text()).length).toBe(big.length + 2)
    await until(() => http.server.inFlight() === 0)
  })

  test('HEAD reads only the first chunk, because an error there decides the status', async () => {
    const response = await get('/counted', { method: 'HEAD' })
    expect([response.status, response.headers.get('content-length')]).toEqual([206, String(100 * piece.length)])
    await until(() => returned === 1)
    expect(yielded).toBe(1)
    expect((await get('/refuses-first', { method: 'HEAD' })).status).toBe(404)
    expect((await get('/unmodified')).status).toBe(304)
  })
})

describe('failing answers', () => {
  test('an error before the first chunk has its own status', async () => {
    expect((await get('/fails-first')).status).toBe(500)
    const refused = await get('/refuses-first')
    expect([refused.status, await refused.json()]).toEqual([404, { error: 'Not Found' }])
  })

  test.each(['/fails-midway', '/refuses-midway', '/short', '/long'])(
    'the incomplete answer of %s is an error for the client',
    async (path) => {
      const before = http.log.lines.length
      await expect(get(path).then((response) => response.text())).rejects.toThrow()
      const errors = http.log.lines.slice(before).filter((line) => line.level === 'error')
      expect(errors.map((line) => line.message)).toEqual(['request failed'])
      expect(http.server.inFlight()).toBe(0)
    },
  )

  test('a temporary problem aborts an answer that has begun, and is logged as a warning', async () => {
    const before = http.log.lines.length
    await expect(get('/overloaded-midway').then((response) => response.text())).rejects.toThrow()
    const logged = http.log.lines.slice(before).filter(({ level }) => level !== 'debug')
    expect(logged).toEqual([
      {
        level: 'warn',
        message: 'request',
        fields: { method: 'GET', path: '/api/v1/overloaded-midway', brokenOff: 'moved', requestId: expect.any(String) },
      },
    ])
    expect(http.server.inFlight()).toBe(0)
  })
})

describe('a client', () => {
  test.each(['/endless', '/counted'])('that does not read pauses the answer of %s', async (path) => {
    const socket = connect(http.port, '127.0.0.1').pause()
    socket.write(ask(path))
    await until(() => yielded > 0)
    let before = -1
    while (before !== yielded) {
      before = yielded
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    // Only the buffers of the two sockets fill up: /endless has 26 GB.
    expect(yielded * piece.length).toBeLessThan(24 * 1024 * 1024)
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(200 * 1024 * 1024)
    const held = yielded
    socket.resume()
    await until(() => yielded > held)
    socket.destroy()
    await until(() => returned === 1 && http.server.inFlight() === 0)
  })

  test('that disconnects ends the iterator', async () => {
    const client = new RawClient(http.port).send(ask('/endless'))
    await until(() => client.receivedBytes > 1_000_000)
    client.socket.destroy()
    await until(() => returned === 1)
    const after = yielded
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(yielded).toBe(after)
    expect(http.server.inFlight()).toBe(0)
  })

  test('that disconnects during a large JSON answer ends the request', async () => {
    const socket = connect(http.port, '127.0.0.1').pause()
    socket.write(ask('/big'))
    await until(() => http.server.inFlight() === 1)
    socket.destroy()
    await until(() => http.server.inFlight() === 0)
  })

  test('that disconnects before the first chunk ends the request', async () => {
    const client = new RawClient(http.port).send(ask('/never'))
    await until(() => http.server.inFlight() === 1)
    client.socket.destroy()
    await until(() => http.server.inFlight() === 0)
  })
})
