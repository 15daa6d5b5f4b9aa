import { Readable } from 'node:stream'
import { request } from 'undici'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Call } from '#http/call'
import { commasMax, containersMax, keysMax, textsMax } from '#http/validation'
import { Problem } from '#model/problem'
import { admin, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

let calls: Call[] = []
const record = (call: Call) => {
  calls.push(call)
  return { status: 200, json: call.body ?? null }
}
const strict = z.strictObject({ a: z.array(z.strictObject({ b: z.number() })) })

const http = await openHttp({
  bodyBytesMax: 1000,
  bindings: [
    route('POST', '/strict', record, { body: { schema: strict } }),
    route('POST', '/any', record, { body: { schema: z.unknown() } }),
    route('POST', '/large', record, { body: { schema: z.strictObject({}), bytesMax: 1024 * 1024 } }),
    route('PATCH', '/merge', record, {
      body: { schema: z.unknown(), contentTypes: ['application/merge-patch+json'], bytesMax: 10 },
    }),
    route('PUT', '/raw', (call) => ({ status: 200, json: [(call.body as Uint8Array).length, call.bodyBytes.length] }), {
      access: 'session',
      body: { schema: z.instanceof(Uint8Array), contentTypes: ['application/octet-stream'], bytesMax: 100_000 },
    }),
    route('POST', '/any-type', (call) => ({ status: 200, json: Buffer.from(call.body as Uint8Array).toString() }), {
      body: { schema: z.instanceof(Uint8Array), contentTypes: 'any' },
    }),
    route('POST', '/none', record),
    route('POST', '/denied', record, { access: 'session', body: { schema: z.unknown() } }),
  ],
  authenticate({ path }) {
    if (path.endsWith('/denied')) throw new Problem('unauthorized')
    return admin
  },
})
beforeEach(() => {
  calls = []
})
afterAll(() => http.server.close())

async function post(path: string, body: string | Uint8Array, type = 'application/json', method = 'POST') {
  const response = await fetch(http.base + path, { method, body: body as string, headers: { 'Content-Type': type } })
  const text = await response.text()
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) }
}

test('a client that sends without reading gets 413', async () => {
  const piece = Buffer.alloc(65_536)
  const send = async (lines: string) => {
    const client = new RawClient(http.port).send(`POST /api/v1/strict HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`)
    const write = () => {
      while (client.socket.writable && client.socket.write(piece));
    }
    client.socket.on('drain', write)
    write()
    await client.closed()
    return client.statuses
  }
  for (let count = 0; count < 3; count++) {
    expect(await send('Content-Type: application/json\r\nContent-Length: 1073741824')).toEqual([413])
  }
})

describe('parsing and validation', () => {
  test('a valid body reaches the route', async () => {
    expect(await post('/strict', '{"a":[{"b":1}]}')).toEqual({ status: 200, json: { a: [{ b: 1 }] } })
  })

  test.each([
    ['{"a":[{"b":"x"}]}', ['a.0.b']],
    ['{"a":[{"b":1,"c":2,"d":3}]}', ['a.0.c', 'a.0.d']],
    ['{"a":[],"x":1}', ['x']],
    ['[]', ['']],
    ['', ['']],
  ])('%s is refused with the paths of its faults', async (body, paths) => {
    const { status, json } = await post('/strict', body)
    expect([status, json.error]).toEqual([400, 'Validation Error'])
    expect(json.details.map((detail: { path: string }) => detail.path)).toEqual(paths)
    expect(calls).toEqual([])
  })

  test.each(['', 'application/json', 'application/json; charset=latin1', 'text/plain', 'x'])(
    'a route for any content type gets the bytes: %j',
    async (type) => {
      expect(await post('/any-type', '{"a":', type)).toEqual({ status: 200, json: '{"a":' })
    },
  )

  test.each([
    ['not JSON', '{"a":'],
    ['two values', '{} {}'],
    ['invalid UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22])],
    ['an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['nested too deep', '['.repeat(65) + ']'.repeat(65)],
    ['objects nested too deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['a prototype', '{"__proto__":{"polluted":true}}'],
    ['a prototype inside', '[{"a":{"\\u005f_proto__":1}}]'],
  ])('%s is 400', async (_, body) => {
    expect(await post('/any', body)).toEqual({ status: 400, json: { error: expect.any(String) } })
    expect(calls).toEqual([])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  const pairs = (count: number) => Array.from({ length: count }, (_, place) => `"${place}":0`)
  test.each([
    [`more than ${keysMax} keys`, `{${pairs(keysMax + 1)}}`],
    [`more than ${containersMax} objects and arrays`, `[${Array(containersMax).fill('{}')}]`],
    [`more than ${commasMax} commas`, `[${Array(commasMax + 2).fill(0)}]`],
    [`more than ${textsMax} texts`, `[${Array(textsMax + 1).fill('""')}]`],
  ])('%s are refused before validation', async (limit, body) => {
    expect(await post('/large', body)).toEqual({ status: 400, json: { error: `the body has ${limit}` } })
  })

  test('punctuation inside strings is not counted', async () => {
    const text = JSON.stringify({ a: '[{:,"\\'.repeat(commasMax / 2) })
    expect((await post('/large', text)).json.details).toEqual([{ path: 'a', message: 'Unrecognized key: "a"' }])
  })

  test('at most 100 faults are listed, with long names cut', async () => {
    const { status, json } = await post('/large', `{${pairs(keysMax)}}`)
    expect([status, json.details.length]).toEqual([400, 100])
    expect(json.details[7]).toEqual({ path: '7', message: expect.stringMatching(/^Unrecognized keys: "0", "1"/) })
    const long = await post('/large', JSON.stringify({ [`k${'😀'.repeat(10_000)}`]: 0 }))
    for (const { path, message } of long.json.details) {
      expect(Math.max(path.length, message.length)).toBeLessThanOrEqual(256)
      expect(path.isWellFormed()).toBe(true)
    }
  })

  test('a nesting of 64 is accepted', async () => {
    expect((await post('/any', '['.repeat(64) + ']'.repeat(64))).status).toBe(200)
  })

  test.each([
    ['application/json', 200],
    ['Application/JSON; charset=UTF-8', 200],
    ['application/json;charset="utf-8"', 200],
    ['application/json; charset=latin1', 415],
    ['application/json, text/plain', 415],
    ['text/plain', 415],
    ['application/merge-patch+json', 415],
    ['', 415],
  ])('content type %s is %i', async (type, status) => {
    expect((await post('/any', '{}', type)).status).toBe(status)
  })

  test('a route may have its own content types and limit', async () => {
    expect((await post('/merge', '{"a":1}', 'application/merge-patch+json', 'PATCH')).json).toEqual({ a: 1 })
    expect((await post('/merge', '{"a":1}', 'application/json', 'PATCH')).status).toBe(415)
    expect((await post('/merge', '{"abcd":1} ', 'application/merge-patch+json', 'PATCH')).status).toBe(413)
  })

  test('other types are passed on as bytes, above the general limit too', async () => {
    const { json } = await post('/raw', Buffer.alloc(70_000), 'application/octet-stream', 'PUT')
    expect(json).toEqual([70_000, 70_000])
  })

  test('a schema may accept a missing body', async () => {
    const response = await fetch(`${http.base}/any`, { method: 'POST' })
    expect([response.status, await response.json()]).toEqual([200, null])
  })
})

describe('limits', () => {
  test.each([
    [1000, 200],
    [1001, 413],
    [100_000, 413],
  ])('%i bytes: %i', async (count, status) => {
    const body = `"${'x'.repeat(count - 2)}"`
    expect((await post('/any', body)).status).toBe(status)
    expect((await post('/none', body)).status).toBe(status)
  })

  test('a length over the limit is refused before the body is sent', async () => {
    const head =
      'POST /api/v1/any HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n'
    const client = new RawClient(http.port).send(head)
    expect(await client.answers(1)).toContain('413 ')
    client.send(`${'x'.repeat(5000)}${head}`)
    await client.answers(2)
    expect(client.statuses).toEqual([413, 413])
    client.socket.destroy()
  })

  test('a length above the discard limit closes the connection', async () => {
    const head = `POST /api/v1/unknown HTTP/1.1\r\nHost: a\r\nContent-Length: ${17 * 1024 * 1024}\r\n\r\n`
    const client = new RawClient(http.port).send(head)
    expect(await client.closed()).toContain('404 Not Found')
  })

  test.each(['any', 'none', 'denied', 'unknown'])('chunks over the limit are refused: %s', async (path) => {
    async function* chunks() {
      for (let index = 0; index < 40; index++) yield Buffer.from('"0123456789012345678901234567890123456789"')
    }
    const status = { none: 400, denied: 401, unknown: 404 }[path] ?? 413
    const headers = { 'Content-Type': 'application/json' }
    const answer = await request(`${http.base}/${path}`, { method: 'POST', headers, body: Readable.from(chunks()) })
    expect(answer.statusCode).toBe(status)
    await answer.body.dump()
    expect(calls).toEqual([])
  })

  test('endless chunks close the connection', async () => {
    const head =
      'POST /api/v1/any HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const client = new RawClient(http.port).send(head)
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    const sending = setInterval(() => client.socket.writable && client.send(chunk), 1)
    await client.closed()
    clearInterval(sending)
    expect(http.server.inFlight()).toBe(0)
  })

  test('the connection stays usable after an unread body was refused', async () => {
    const client = new RawClient(http.port)
    const head =
      'POST /api/v1/denied HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n'
    client.send(`${head}half`)
    await client.answers(1)
    client.send('x'.repeat(896)).send('OPTIONS /api/v1/any HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.answers(2)
    expect(client.statuses).toEqual([401, 204])
    client.socket.destroy()
  })
})

describe('bodies in pieces', () => {
  const head = (length: string) =>
    `POST /api/v1/any HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${length}\r\n\r\n`

  test('a slow body is assembled, also when a character is split', async () => {
    const body = Buffer.from('{"a":"ä€"}')
    const client = new RawClient(http.port).send(head(`Content-Length: ${body.length}`))
    for (const byte of body) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      client.send(Buffer.from([byte]))
    }
    await client.answers(1)
    expect(calls.map((call) => call.body)).toEqual([{ a: 'ä€' }])
    client.socket.destroy()
  })

  test('an aborted body never reaches the route', async () => {
    const client = new RawClient(http.port).send(`${head('Content-Length: 10')}{"a"`)
    await until(() => http.server.inFlight() === 1)
    client.socket.destroy()
    await until(() => http.server.inFlight() === 0)
    expect(calls).toEqual([])
    expect(http.log.lines.some((line) => line.fields.aborted === true)).toBe(true)
  })
})
