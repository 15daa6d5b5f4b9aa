import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Forwarder } from '#cluster/forwarder'
import { nodeKeyHeader } from '#cluster/node'
import type { Call } from '#http/call'
import { Problem } from '#model/problem'
import type { World } from '#runtime/world'
import { clusterNode } from '#test/cluster/cluster-node'
import { admin, type HttpFixture, openHttp, route, until, world } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { type Answer, RecordingServer } from '#test/http/recording-server'

const bodyBytesMax = 1024
const uploadBytesMax = 64 * 1024
const anyBody = { schema: z.unknown(), contentTypes: 'any' } as const

let owner: RecordingServer
/** The answers of the owner, in order. It repeats the last one. */
let answers: Answer[]
let edge: HttpFixture
let forwarder: Forwarder
/** Where the edge, the forwarding node, finds the owner. `here` means that the edge is the owner. */
let ownerUrl: string | undefined
/** If set, the next request that the edge handles fails. Then the owner has the address that this function returns. */
let ownerAfterFailure: (() => string | undefined) | undefined
let authentications = 0
/** If set, the next request that the edge handles waits for this promise. */
let stuck: Promise<void> | undefined
/** By how much the time of the edge is ahead of the clock. */
let skippedMs = 0
/** By how much each timer of the edge increases `skippedMs`. */
let skipMs = 0

async function openEdge(isProxyTrusted = false): Promise<void> {
  const edgeWorld: World = {
    ...world,
    monotonic: () => world.monotonic() + skippedMs,
    after(delayMs, task) {
      skippedMs += skipMs
      return world.after(delayMs, task)
    },
  }
  const node = clusterNode({ ownerUrl: () => ownerUrl, world: edgeWorld })
  forwarder = new Forwarder(node)
  const handle = async ({ bodyBytes }: Call) => {
    const waits = stuck
    stuck = undefined
    await waits
    const replaced = ownerAfterFailure
    if (replaced === undefined) return { status: 200, json: bodyBytes.length > 0 ? 'with a body' : 'of the edge' }
    ownerAfterFailure = undefined
    ownerUrl = replaced()
    throw new Problem('storage')
  }
  edge = await openHttp({
    world: edgeWorld,
    isProxyTrusted,
    bodyBytesMax,
    streamedBytesMax: uploadBytesMax,
    otherNodes: forwarder,
    authenticate: () => {
      authentications++
      return admin
    },
    bindings: [
      route('GET', '/devices', handle),
      route('GET', '/any/:name', handle),
      route('POST', '/free', handle, { body: anyBody }),
      route('POST', '/keyed', handle, { body: anyBody, access: 'session' }),
      route('PUT', '/upload', handle, { body: { ...anyBody, isStreamed: true } }),
    ],
  })
}

async function closeEdge(): Promise<void> {
  forwarder.close()
  await edge.server.close()
}

beforeEach(async () => {
  skipMs = 0
  ownerAfterFailure = undefined
  answers = [(response) => response.end('{}')]
  owner = await RecordingServer.open((response, request) => {
    response.setHeader('Content-Type', 'application/json')
    const [answer] = answers.length > 1 ? answers.splice(0, 1) : answers
    answer?.(response, request)
  })
  ownerUrl = owner.url
  await openEdge()
})

afterEach(async () => {
  await owner.close()
  await closeEdge()
})

/** The values of a header of the last request that the owner received. */
const valuesOf = (name: string) =>
  owner.received.at(-1)?.lines.flatMap(([header, value]) => (header === name ? [value] : [])) ?? []

/** Sends a request with these lines as headers, and returns the text of the first answer. */
async function send(first: string, headers: readonly string[] = [], body = ''): Promise<string> {
  const client = new RawClient(edge.port)
  const framing = body === '' || headers.some((line) => /^(?:content-length|transfer-encoding):/i.test(line))
  const lines = [...headers, ...(framing ? [] : [`Content-Length: ${Buffer.byteLength(body)}`])]
  client.send(`${first} HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`)
  const text = await client.answers(1)
  client.socket.destroy()
  return text
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
const get = '/api/v1/any/1'
const keyed = ['Idempotency-Key: k']

describe('the owner receives the headers of the client', () => {
  const proxy = ['X-Forwarded-For: 192.0.2.7', 'X-Forwarded-Proto: https', 'X-Forwarded-Host: devices.example']
  const ofConnection = ['Connection: keep-alive, x-note', 'Keep-Alive: 5', 'TE: trailers', 'Trailer: x', 'Upgrade: h2c']
  const ofNodes = ['X-Own-State: true', 'X-Not-Owner: true', 'X-Node-Key: forged']
  const anyText = [expect.any(String)]

  test.each<[string, readonly string[], Readonly<Record<string, readonly string[]>>, isProxyTrusted?: boolean]>([
    ['unchanged', ['If-None-Match: "1"', 'Cookie: a', 'Cookie: b'], { 'if-none-match': ['"1"'], cookie: ['a', 'b'] }],
    ['with its credentials and host', ['Authorization: Bearer x'], { authorization: ['Bearer x'], host: ['a'] }],
    ['with UTF-8 bytes', ['X-Note: a€čb'], { 'x-note': [Buffer.from('a€čb').toString('latin1')] }],
    ['with the request id of the client', ['X-Request-Id: mine'], { 'x-request-id': ['mine'] }],
    [
      'without headers that concern only one connection',
      ofConnection,
      { connection: ['keep-alive'], 'keep-alive': [], te: [], trailer: [], upgrade: [] },
    ],
    [
      'without Proxy-Connection and Expect',
      ['Proxy-Connection: close', 'Expect: 200-ok'],
      { 'proxy-connection': [], expect: [] },
    ],
    [
      'without headers that only nodes may send',
      ofNodes,
      { 'x-own-state': [], 'x-not-owner': [], 'x-node-key': [expect.not.stringMatching('forged')] },
    ],
    [
      'without forwarding headers of the client itself',
      [...proxy, 'X-Forwarded-Port: 1'],
      { 'x-forwarded-for': ['127.0.0.1'], 'x-forwarded-proto': [], 'x-forwarded-host': [], 'x-forwarded-port': [] },
    ],
    [
      'with the address and scheme from a trusted proxy',
      ['X-Forwarded-For: 203.0.113.1', ...proxy],
      { 'x-forwarded-for': ['192.0.2.7'], 'x-forwarded-proto': ['https'], 'x-forwarded-host': ['devices.example'] },
      true,
    ],
    [
      'with the headers of the edge, although Connection names them',
      ['Connection: x-forwarded-for, x-node-key, x-request-id'],
      { 'x-forwarded-for': ['127.0.0.1'], 'x-node-key': anyText, 'x-request-id': anyText },
    ],
  ])('%s', async (_, lines, received, isProxyTrusted = false) => {
    if (isProxyTrusted) {
      await closeEdge()
      await openEdge(true)
    }
    expect(statusOf(await send(`GET ${get}`, lines))).toBe(200)
    expect(owner.received).toHaveLength(1)
    const found = Object.fromEntries(Object.keys(received).map((name) => [name, valuesOf(name)]))
    expect(found).toEqual(received)
  })
})

describe('the owner receives exactly one request for', () => {
  const smuggled = 'GET /api/v1/any/smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
  const chunks = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`

  test.each<[string, string, readonly string[], string, string]>([
    ['a body that is a request', 'POST /api/v1/free', [], smuggled, smuggled],
    ['a chunked body that is a request', 'POST /api/v1/free', ['Transfer-Encoding: chunked'], chunks, smuggled],
    ['a streamed body that is a request', 'PUT /api/v1/upload', [], smuggled, smuggled],
    ['a GET with a body, without the body', `GET ${get}`, [], smuggled, ''],
    ['a path with UTF-8', 'GET /api/v1/any/€?a=€', [], '', ''],
    ['a path with escaped line breaks', 'GET /api/v1/any/%0d%0aX:%20y', [], '', ''],
  ])('%s', async (_, first, headers, body, received) => {
    expect(statusOf(await send(first, headers, body))).toBe(200)
    expect(owner.received).toHaveLength(1)
    const [{ method, target, body: found } = { method: '', target: '', body: '' }] = owner.received
    expect([`${method} ${target}`, found]).toEqual([first.replaceAll('€', '%E2%82%AC'), received])
    expect(valuesOf('content-length').length + valuesOf('transfer-encoding').length).toBe(1)
  })
})

describe('the owner receives no request that has', () => {
  test('a control character in a header', async () => {
    expect(statusOf(await send(`GET ${get}`, ['X-Note: a\x7fb']))).toBe(400)
    expect(owner.received).toEqual([])
  })

  test.each<[string, readonly string[], string]>([
    ['Content-Length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['two values of Content-Length', ['Content-Length: 5', 'Content-Length: 6'], 'hello'],
    ['another transfer encoding', ['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'],
  ])('%s', async (_, headers, body) => {
    expect(statusOf(await send('POST /api/v1/free', headers, body))).toBe(400)
    expect(owner.received).toEqual([])
  })

  test.each([
    ['a body', 'POST /api/v1/free', bodyBytesMax],
    ['a streamed body', 'PUT /api/v1/upload', uploadBytesMax],
  ])('%s above its limit', async (_, first, bytesMax) => {
    expect(statusOf(await send(first, [], 'x'.repeat(bytesMax + 1)))).toBe(413)
    expect(owner.received).toEqual([])
  })
})

describe('the client receives the answer of the owner', () => {
  test('with its headers, except those that concern one connection or only nodes', async () => {
    answers = [
      (response) => {
        const headers = { 'Retry-After': '7', ETag: '"1"', 'Stream-Offset': '3', 'Keep-Alive': 'timeout=1' }
        const ofNodes = { 'X-Node-Key': 'k', 'X-Own-State': 'true', 'Access-Control-Allow-Origin': '*' }
        const ofConnection = { Connection: 'close', 'X-Request-Id': 'other', 'Content-Length': 7 }
        response.writeHead(429, { ...headers, ...ofNodes, ...ofConnection }).end('{"a":1}')
      },
    ]
    const answer = await send(`GET ${get}`, ['X-Request-Id: mine'])
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    const [head = '', body] = answer.split('\r\n\r\n')
    const lines = head.split('\r\n').slice(1)
    const names = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
    expect(names).toEqual([...new Set(names)])
    const passedOn = ['Retry-After: 7', 'ETag: "1"', 'Stream-Offset: 3', 'X-Request-Id: mine', 'Content-Length: 7']
    expect(lines).toEqual(expect.arrayContaining(passedOn))
    for (const name of ['connection', 'keep-alive', 'x-node-key', 'x-own-state', 'access-control-allow-origin'])
      expect(names).not.toContain(name)
    expect(body).toBe('{"a":1}')
  })

  test('if the owner is too busy, with the time to wait', async () => {
    answers = [(response) => response.writeHead(503, { 'Retry-After': '5' }).end('{"error":"busy"}')]
    expect(await send('POST /api/v1/keyed', keyed)).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 5\r\n.*busy/s)
    expect(owner.received).toHaveLength(1)
  })

  test.each(['HEAD', 'GET'])('to %s with a large body', async (method) => {
    const body = JSON.stringify('x'.repeat(300_000))
    answers = [(response) => response.setHeader('Content-Length', body.length).end(body)]
    const answer = await fetch(`http://127.0.0.1:${edge.port}${get}`, { method })
    expect(answer.headers.get('content-length')).toBe(`${body.length}`)
    expect(await answer.text()).toBe(method === 'HEAD' ? '' : body)
  })
})

describe('if the owner fails, the client receives', () => {
  const dies: Answer = (response) => response.socket?.destroy()
  const diesInHead: Answer = (response) => response.socket?.end('HTTP/1.1 200 OK\r\nContent-Le')
  const diesInBody: Answer = (response) => {
    response.writeHead(200, { 'Content-Length': 10 }).write('{"a"')
    setImmediate(() => response.socket?.destroy())
  }
  const isNotOwner: Answer = (response) => response.writeHead(503, { 'X-Not-Owner': 'true' }).end()
  const answersNext: Answer = (response) => response.end('"of the next owner"')
  const kinds = { dies, diesInHead, diesInBody, isNotOwner }
  type Kind = keyof typeof kinds

  test.each<[what: string, first: string, headers: readonly string[], kinds: readonly Kind[], status: number]>([
    ['an answer to GET', `GET ${get}`, [], ['dies', 'diesInHead', 'diesInBody', 'isNotOwner'], 200],
    ['an answer to a POST with a key', 'POST /api/v1/keyed', keyed, ['dies', 'diesInBody', 'isNotOwner'], 200],
    ['503 to a POST without a key', 'POST /api/v1/keyed', [], ['dies'], 503],
    ['503 to a POST without a key', 'POST /api/v1/keyed', [], ['diesInHead'], 503],
    ['503 to a POST without a key', 'POST /api/v1/keyed', [], ['diesInBody'], 503],
    ['503 to a POST of a route without keys', 'POST /api/v1/free', keyed, ['dies'], 503],
    ['an answer to a POST that was not handled', 'POST /api/v1/free', [], ['isNotOwner'], 200],
    ['503 to an upload', 'PUT /api/v1/upload', [], ['dies'], 503],
    ['503 to an upload that was not handled', 'PUT /api/v1/upload', [], ['isNotOwner'], 503],
  ])('%s (%s %j: the owner %j)', async (_, first, headers, failures, status) => {
    answers = [...failures.map((kind) => kinds[kind]), answersNext]
    const answer = await send(first, headers, first.startsWith('GET') ? '' : 'x')
    expect(statusOf(answer)).toBe(status)
    expect(owner.received).toHaveLength(status === 200 ? failures.length + 1 : 1)
    if (status === 503) expect(answer).toContain('Retry-After: ')
  })

  describe('where this node was the owner,', () => {
    test.each<[what: string, first: string, headers: readonly string[], status: number]>([
      ['an answer to GET', `GET ${get}`, [], 200],
      ['an answer to a POST with a key', 'POST /api/v1/keyed', keyed, 200],
      ['503 to a POST without a key', 'POST /api/v1/keyed', [], 503],
      ['503 to an upload', 'PUT /api/v1/upload', [], 503],
    ])('%s', async (_, first, headers, status) => {
      ownerUrl = 'here'
      ownerAfterFailure = () => owner.url
      answers = [answersNext]
      const isGet = first.startsWith('GET')
      expect(statusOf(await send(first, headers, isGet ? '' : 'x'))).toBe(status)
      expect(owner.received.map(({ body }) => body)).toEqual(status === 200 ? [isGet ? '' : 'x'] : [])
    })

    test('the answer of this node if it becomes the owner again, after one authentication', async () => {
      ownerUrl = 'here'
      const before = authentications
      ownerAfterFailure = () => {
        setTimeout(() => {
          ownerUrl = 'here'
        }, 20)
        return undefined
      }
      expect(await send('POST /api/v1/keyed', keyed, 'x')).toContain('"with a body"')
      expect(authentications - before).toBe(1)
    })

    test('an answer to a state read that still waits for the log when the lease of this node ends', async () => {
      ownerUrl = 'here'
      let finish = () => {}
      stuck = new Promise((resolve) => {
        finish = resolve
      })
      const answer = send('GET /api/v1/devices')
      await until(() => stuck === undefined)
      ownerUrl = undefined
      expect(await answer).toContain('"of the edge"')
      finish()
    })

    test('the failure of a state read that this node answered from its own data, without a second attempt', async () => {
      ownerUrl = undefined
      let answers = 0
      ownerAfterFailure = () => {
        answers++
        return undefined
      }
      expect(statusOf(await send('GET /api/v1/devices'))).toBe(503)
      expect(answers).toBe(1)
    })

    test.each<[when: string, nextOwner: string | undefined]>([
      ['after 15 s without another owner', undefined],
      ['for a failure if this node is still the owner', 'here'],
    ])('503 %s', async (_, nextOwner) => {
      ownerUrl = 'here'
      ownerAfterFailure = () => nextOwner
      skipMs = 1_000
      expect(statusOf(await send('POST /api/v1/keyed', keyed, 'x'))).toBe(503)
    })

    test.each<[what: string, headers: readonly string[], isForNext: boolean]>([
      ['with a key, marked so that the other node asks the next owner', keyed, true],
      ['without a key, as the final answer', [], false],
    ])('503 to a POST that another node forwarded %s', async (_, headers, isForNext) => {
      ownerUrl = 'here'
      ownerAfterFailure = () => owner.url
      const key = clusterNode({ ownerUrl: () => ownerUrl }).key
      const answer = await send('POST /api/v1/keyed', [...headers, `${nodeKeyHeader}: ${key}`], 'x')
      expect(statusOf(answer)).toBe(503)
      expect(answer.toLowerCase().includes('x-not-owner')).toBe(isForNext)
      expect(owner.received).toEqual([])
    })
  })

  test('only part of a large answer, and a closed connection', async () => {
    answers = [
      (response) => {
        response.writeHead(200, { 'Content-Length': 100_000 }).write('x'.repeat(50_000))
        setTimeout(() => response.socket?.destroy(), 20)
      },
    ]
    const client = new RawClient(edge.port).send(`GET ${get} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const text = await client.closed()
    expect(client.statuses).toEqual([200])
    expect(text.split('\r\n\r\n')[1]?.length).toBeLessThan(100_000)
  })

  test('an answer of this node to a state read if the lease of the owner ends before the owner answers', async () => {
    answers = [() => {}]
    const answer = send('GET /api/v1/devices')
    await until(() => owner.received.length === 1)
    ownerUrl = undefined
    expect(await answer).toContain('"of the edge"')
  })

  test.each<[string, string, number, string]>([
    ['an answer of this node to a state read', '/api/v1/devices', 200, '"of the edge"'],
    ['503 to any other request after 15 s', get, 503, 'Retry-After: '],
  ])('if there is no owner, %s', async (_, target, status, text) => {
    ownerUrl = undefined
    skipMs = 1_000
    const answer = await send(`GET ${target}`)
    expect([statusOf(answer), answer]).toEqual([status, expect.stringContaining(text)])
  })
})
