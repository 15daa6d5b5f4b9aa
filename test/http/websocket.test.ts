import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { UpgradeRequest } from '#http/websocket-route'
import { Problem } from '#model/problem'
import { route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { handshake, openSocketHttp } from '#test/http/socket-fixture'

type SocketHttp = Awaited<ReturnType<typeof openSocketHttp>>
let http: SocketHttp
afterEach(() => http.server.close())

/** Connects, and tells how it went: open, or the status it was refused with. */
function connect(path: string, protocols: string[] = [], headers: Record<string, string> = {}) {
  const client = new WebSocket(http.ws + path, protocols, { headers })
  const messages: string[] = []
  client.on('message', (data, isBinary) => messages.push(isBinary ? `binary ${data}` : String(data)))
  const closed = new Promise<[number, string]>((resolve) => {
    client.on('close', (code, reason) => resolve([code, String(reason)]))
  })
  const begun = new Promise<string | number>((resolve) => {
    client.on('open', () => resolve('open'))
    client.on('unexpected-response', (_, response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    client.on('error', () => {})
  })
  return { client, messages, begun, closed }
}

describe('upgrading', () => {
  test('is given path, query, headers and address, and hands its decision to the room', async () => {
    let seen: UpgradeRequest | undefined
    http = await openSocketHttp({
      upgrade: (request) => {
        seen = request
        return { ticket: request.parameters.ticket, x: request.header('x-a') }
      },
    })
    const { begun, client } = connect('/events/%C3%A4?offset=now', [], { 'X-A': 'y' })
    expect(await begun).toBe('open')
    expect(http.room.get('opened')?.opening).toEqual({ ticket: 'ä', x: 'y' })
    expect(http.room.get('opened')?.socket.remoteAddress).toBe('127.0.0.1')
    expect(seen).toMatchObject({ query: 'offset=now', protocol: '', remoteAddress: '127.0.0.1' })
    client.terminate()
  })

  test('later, it opens and stays open', async () => {
    http = await openSocketHttp({
      upgrade: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return 'later'
      },
    })
    const { begun, client, messages } = connect('/events/t')
    expect(await begun).toBe('open')
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(client.readyState).toBe(WebSocket.OPEN)
    http.room.get('opened')?.socket.send('still here')
    await until(() => messages.length === 1)
    expect([http.server.openSockets(), http.server.inFlight()]).toEqual([1, 0])
    client.terminate()
  })

  test('later, for a client that has gone, opens nothing', async () => {
    let decide = (_: unknown) => {}
    http = await openSocketHttp({ upgrade: () => new Promise((resolve) => (decide = resolve)) })
    const client = new RawClient(http.port).send(handshake('/events/t'))
    await until(() => http.server.inFlight() === 1)
    client.socket.destroy()
    await until(() => http.server.inFlight() === 0)
    decide('too late')
    await new Promise((resolve) => setImmediate(resolve))
    expect(http.room.heard).toEqual([])
  })

  test.each([
    [
      () => {
        throw new Problem('unauthorized')
      },
      401,
    ],
    [
      async () => {
        throw new Problem('forbidden')
      },
      403,
    ],
    [
      () => {
        throw new Error('bug')
      },
      500,
    ],
    [
      async () => {
        throw new Error('bug')
      },
      500,
    ],
  ])('what is thrown is the answer: %s', async (upgrade, status) => {
    http = await openSocketHttp({ upgrade })
    expect(await connect('/events/t').begun).toBe(status)
    expect(http.room.heard).toEqual([])
  })

  test.each([
    ['/events/%ZZ', 404],
    ['/events/', 404],
    ['/events', 404],
    ['/other/t', 404],
  ])('%s is %i', async (path, status) => {
    http = await openSocketHttp()
    expect(await connect(path).begun).toBe(status)
  })

  test('a plain request hears that a websocket is spoken here, another method what is allowed', async () => {
    http = await openSocketHttp()
    const plain = await fetch(`${http.base}/events/t`)
    expect([plain.status, plain.headers.get('upgrade')]).toEqual([426, 'websocket'])
    const posted = await fetch(`${http.base}/events/t`, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('a route of the same path answers plain requests', async () => {
    const beside = route('GET', '/events/ticket', () => ({ status: 200, json: 'ticket' }))
    const same = route('GET', '/events/:ticket', () => ({ status: 200, json: 'plain' }))
    http = await openSocketHttp({}, { bindings: [beside, same] })
    expect(await (await fetch(`${http.base}/events/ticket`)).json()).toBe('ticket')
    expect(await (await fetch(`${http.base}/events/t`)).json()).toBe('plain')
    const { begun, client } = connect('/events/t')
    expect(await begun).toBe('open')
    client.terminate()
  })

  test.each([
    [{ Origin: 'http://evil.example' }, 403],
    [{ Origin: 'null' }, 403],
    [{ Origin: 'https://app.example' }, 'open'],
    [{}, 'open'],
  ])('origin %s: %s', async (headers, expected) => {
    http = await openSocketHttp({}, { cors: { corsOrigins: ['https://app.example'], publicUrls: [], iamOff: false } })
    const { begun, client } = connect('/events/t', [], headers)
    expect(await begun).toBe(expected)
    client.terminate()
  })

  test.each([
    ['evil.example', 421],
    ['localhost:1', 'open'],
    ['app.example', 'open'],
  ])('with IAM off, under the name %s: %s', async (host, expected) => {
    http = await openSocketHttp({}, { cors: { corsOrigins: ['https://app.example'], publicUrls: [], iamOff: true } })
    const { begun, client } = connect('/events/t', [], { Host: host })
    expect(await begun).toBe(expected)
    client.terminate()
  })

  test('the server’s own page may', async () => {
    http = await openSocketHttp()
    const { begun, client } = connect('/events/t', [], { Origin: `http://127.0.0.1:${http.port}` })
    expect(await begun).toBe('open')
    client.terminate()
  })

  test.each([
    [['link.v1.json'], 'link.v1.json'],
    [['x', 'link.v1.msgpack', 'link.v1.json'], 'link.v1.msgpack'],
    [['x'], 400],
    [[], 400],
  ])('of the subprotocols %s it takes %s', async (offered, expected) => {
    http = await openSocketHttp({
      protocols: ['link.v1.json', 'link.v1.msgpack'],
      upgrade: (request) => request.protocol,
    })
    const { begun, client } = connect('/events/t', offered)
    if (typeof expected === 'number') expect(await begun).toBe(expected)
    else {
      expect(await begun).toBe('open')
      expect(client.protocol).toBe(expected)
      expect(http.room.get('opened')?.opening).toBe(expected)
    }
    client.terminate()
  })
})

describe('an open socket', () => {
  test('carries text and binary both ways', async () => {
    http = await openSocketHttp()
    const { client, begun, messages } = connect('/events/t')
    await begun
    client.send('text')
    client.send(Buffer.from('bytes'))
    await until(() => http.room.count('received') === 2)
    const received = http.room.heard.filter((heard) => heard.what === 'received')
    expect(received.map(({ text, isBinary }) => [text, isBinary])).toEqual([
      ['text', false],
      ['bytes', true],
    ])
    const socket = http.room.get('opened')?.socket
    expect([socket?.send('a'), socket?.send(Buffer.from('b'))]).toEqual([true, true])
    await until(() => messages.length === 2)
    expect(messages).toEqual(['a', 'binary b'])
    client.terminate()
  })

  test('is pinged by its room, and the room hears the answer', async () => {
    http = await openSocketHttp()
    const { client, begun } = connect('/events/t')
    await begun
    http.room.get('opened')?.socket.ping()
    await until(() => http.room.count('ponged') === 1)
    client.terminate()
  })

  test('hears what is sent and published in the order of the calls', async () => {
    http = await openSocketHttp()
    http.room.does = ({ what, socket }) => {
      if (what === 'opened') socket.subscribe('topic')
    }
    const { client, begun, messages } = connect('/events/t')
    await begun
    const socket = http.room.get('opened')?.socket
    const expected: string[] = []
    for (let index = 0; index < 500; index++) {
      const text = `${index}${index % 50 === 0 ? 'x'.repeat(20_000) : ''}`
      expected.push(text)
      if (index % 3 === 0) socket?.send(text)
      else http.server.publisher.publish('topic', index % 3 === 1 ? text : Buffer.from(text))
      if (index % 100 === 99) await until(() => messages.length === expected.length)
    }
    expect(messages).toEqual(expected)
    socket?.unsubscribe('topic')
    http.server.publisher.publish('topic', 'unheard')
    socket?.send('last')
    await until(() => messages.includes('last'))
    expect(messages).not.toContain('unheard')
    client.terminate()
  })

  test('too large a message closes it', async () => {
    http = await openSocketHttp()
    const { client, begun, closed } = connect('/events/t')
    await begun
    client.send('x'.repeat(4097))
    await closed
    await until(() => http.room.count('closed') === 1)
    expect(http.room.count('received')).toBe(0)
  })

  test('is closed once, and nothing is called on it afterwards', async () => {
    http = await openSocketHttp()
    const { client, begun } = connect('/events/t')
    await begun
    client.close(4000, 'bye')
    await until(() => http.room.count('closed') === 1)
    expect(http.room.get('closed')?.code).toBe(4000)
    const socket = http.room.get('closed')?.socket
    expect([socket?.send('x'), socket?.bufferedBytes()]).toEqual([false, 0])
    socket?.subscribe('t')
    socket?.unsubscribe('t')
    socket?.ping()
    socket?.end(1000, '')
    expect(http.room.count('closed')).toBe(1)
    expect(http.server.openSockets()).toBe(0)
  })

  test.each([
    [4401, 'session over', 'session over'],
    [1012, 'ä'.repeat(100), 'ä'.repeat(61)],
    [4400, '€'.repeat(41), '€'.repeat(41)],
  ])('is ended with %i %s', async (code, reason, arrives) => {
    http = await openSocketHttp()
    http.room.does = ({ what, socket }) => {
      if (what === 'received') socket.end(code, reason)
    }
    const { client, begun, closed } = connect('/events/t')
    await begun
    client.send('go')
    client.send('and this is nobody’s any more')
    expect(await closed).toEqual([code, arrives])
    expect(http.room.get('closed')?.code).toBe(code)
    expect(http.room.count('received')).toBe(1)
  })

  test.each(['opened', 'received', 'ponged', 'drained'] as const)('may be ended in %s', async (where) => {
    http = await openSocketHttp()
    http.room.does = ({ what, socket }) => {
      if (what === where) socket.end(4000, where)
    }
    const { client, begun, closed } = connect('/events/t')
    await begun
    const socket = http.room.get('opened')?.socket
    if (where === 'received') client.send('go')
    if (where === 'ponged') client.pong()
    if (where === 'drained') {
      client.pause()
      while (socket?.bufferedBytes() === 0) socket.send('x'.repeat(100_000))
      client.resume()
    }
    expect(await closed).toEqual([4000, where])
    expect(http.room.heard.at(-1)).toMatchObject({ what: 'closed', code: 4000 })
    expect(http.room.count('closed')).toBe(1)
  })

  test('may be ended again from its own closed', async () => {
    http = await openSocketHttp()
    http.room.does = ({ what, socket }) => {
      if (what === 'closed') socket.end(4000, 'again')
    }
    const { client, begun } = connect('/events/t')
    await begun
    client.terminate()
    await until(() => http.room.count('closed') === 1)
    expect(http.log.lines.filter((line) => line.level === 'error')).toEqual([])
  })

  test.each(['opened', 'received', 'ponged', 'drained'] as const)('whose room throws in %s is ended', async (where) => {
    http = await openSocketHttp()
    http.room.does = ({ what }) => {
      if (what === where) throw new Error(`thrown in ${where}`)
    }
    const { client, begun, closed } = connect('/events/t')
    await begun
    client.send('go')
    client.pong()
    if (where === 'drained') {
      client.pause()
      const socket = http.room.get('opened')?.socket
      while (socket?.bufferedBytes() === 0) socket.send('x'.repeat(100_000))
      client.resume()
    }
    expect(await closed).toEqual([1011, 'internal error'])
    expect(http.log.lines.find((line) => line.level === 'error')?.fields.err).toMatchObject({
      message: `thrown in ${where}`,
    })
    expect(http.room.count('closed')).toBe(1)
  })

  test('whose room throws in closed is gone all the same', async () => {
    http = await openSocketHttp()
    http.room.does = ({ what }) => {
      if (what === 'closed') throw new Error('thrown in closed')
    }
    const { client, begun } = connect('/events/t')
    await begun
    client.terminate()
    await until(() => http.log.lines.some((line) => line.message === 'a socket room failed'))
    expect(http.server.openSockets()).toBe(0)
  })
})
