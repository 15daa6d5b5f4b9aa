import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { UpgradeRequest } from '#http/call'
import { Problem } from '#model/problem'
import { route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { handshake, openSocketHttp, type SocketEvent, type SocketHttp } from '#test/http/socket-fixture'

let http: SocketHttp
afterEach(() => http.server.close())

/** Connects; `begun` is `open` or the status of the refusal. */
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

/** Opens a server and a connected client. */
async function open(onEvent: (event: SocketEvent) => void = () => {}) {
  http = await openSocketHttp()
  http.recorder.onEvent = onEvent
  const connection = connect('/events/t')
  await connection.begun
  return connection
}

/** Opens a connection, causes an event of this type, and returns the code and reason of the close. */
async function closedIn(
  type: 'opened' | 'received' | 'ponged' | 'drained',
  onEvent: (event: SocketEvent) => void,
): Promise<[number, string]> {
  const { client, closed } = await open(onEvent)
  if (type === 'received') client.send('go')
  if (type === 'ponged') client.pong()
  if (type === 'drained') {
    client.pause()
    const socket = http.recorder.get('opened')?.socket
    while (socket?.bufferedBytes() === 0) socket.send('x'.repeat(100_000))
    client.resume()
  }
  return await closed
}

describe('upgrading', () => {
  test('gets path, query, headers and address, and passes its result to the handler', async () => {
    let seen: UpgradeRequest | undefined
    http = await openSocketHttp({
      upgrade: (request) => {
        seen = request
        return { ticket: request.parameters.ticket, x: request.header('x-a') }
      },
    })
    const { begun, client } = connect('/events/%C3%A4?offset=now', [], { 'X-A': 'y' })
    expect(await begun).toBe('open')
    expect(http.recorder.get('opened')?.opening).toEqual({ ticket: 'ä', x: 'y' })
    expect(http.recorder.get('opened')?.socket.remoteAddress).toBe('127.0.0.1')
    expect(seen).toMatchObject({ query: 'offset=now', protocol: '', remoteAddress: '127.0.0.1' })
    client.terminate()
  })

  test('an asynchronous upgrade opens and stays open', async () => {
    http = await openSocketHttp({
      upgrade: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return 'later'
      },
    })
    const { begun, client, messages } = connect('/events/t')
    expect(await begun).toBe('open')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(client.readyState).toBe(WebSocket.OPEN)
    http.recorder.get('opened')?.socket.send('still here')
    await until(() => messages.length === 1)
    expect([http.server.openSockets(), http.server.inFlight()]).toEqual([1, 0])
    client.terminate()
  })

  test('an asynchronous upgrade of a client that disconnected opens nothing', async () => {
    let decide = (_: unknown) => {}
    http = await openSocketHttp({ upgrade: () => new Promise((resolve) => (decide = resolve)) })
    const client = new RawClient(http.port).send(handshake('/events/t'))
    await until(() => http.server.inFlight() === 1)
    client.socket.destroy()
    await until(() => http.server.inFlight() === 0)
    decide('too late')
    await new Promise((resolve) => setImmediate(resolve))
    expect(http.recorder.events).toEqual([])
  })

  const thrown = (error: Error) => () => {
    throw error
  }
  test.each([
    [thrown(new Problem('unauthorized')), 401],
    [() => Promise.reject(new Problem('forbidden')), 403],
    [thrown(new Error('bug')), 500],
    [() => Promise.reject(new Error('bug')), 500],
  ])('an error is the answer: %s', async (upgrade, status) => {
    http = await openSocketHttp({ upgrade })
    expect(await connect('/events/t').begun).toBe(status)
    expect(http.recorder.events).toEqual([])
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

  test('a plain GET is answered 426, and another method 405', async () => {
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
    ['evil.example', 421],
    ['localhost:1', 'open'],
    ['app.example', 'open'],
  ])('with IAM off, under the name %s: %s', async (host, expected) => {
    http = await openSocketHttp({}, { cors: { corsOrigins: ['https://app.example'], publicUrls: [], iamOff: true } })
    const { begun, client } = connect('/events/t', [], { Host: host })
    expect(await begun).toBe(expected)
    client.terminate()
  })
})

describe('an open socket', () => {
  test('transmits text and binary in both directions', async () => {
    const { client, messages } = await open()
    client.send('text')
    client.send(Buffer.from('bytes'))
    await until(() => http.recorder.count('received') === 2)
    const received = http.recorder.events.filter(({ type }) => type === 'received')
    expect(received.map(({ text, isBinary }) => [text, isBinary])).toEqual([
      ['text', false],
      ['bytes', true],
    ])
    const socket = http.recorder.get('opened')?.socket
    expect([socket?.send('a'), socket?.send(Buffer.from('b'))]).toEqual([true, true])
    await until(() => messages.length === 2)
    expect(messages).toEqual(['a', 'binary b'])
    client.terminate()
  })

  test('is pinged, and reports the pong', async () => {
    const { client } = await open()
    http.recorder.get('opened')?.socket.ping()
    await until(() => http.recorder.count('ponged') === 1)
    client.terminate()
  })

  test('sends and publishes in the order of the calls', async () => {
    const { client, messages } = await open(({ type, socket }) => {
      if (type === 'opened') socket.subscribe('topic')
    })
    const socket = http.recorder.get('opened')?.socket
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
    http.server.publisher.publish('topic', 'after unsubscribe')
    socket?.send('last')
    await until(() => messages.includes('last'))
    expect(messages).not.toContain('after unsubscribe')
    client.terminate()
  })

  test('is closed once, and later calls do nothing', async () => {
    const { client } = await open()
    client.close(4000, 'bye')
    await until(() => http.recorder.count('closed') === 1)
    expect(http.recorder.get('closed')?.code).toBe(4000)
    const socket = http.recorder.get('closed')?.socket
    expect([socket?.send('x'), socket?.bufferedBytes()]).toEqual([false, 0])
    socket?.subscribe('t')
    socket?.unsubscribe('t')
    socket?.ping()
    socket?.end(1000, '')
    expect(http.recorder.count('closed')).toBe(1)
    expect(http.server.openSockets()).toBe(0)
  })

  test.each([
    [4401, 'session over', 'session over'],
    [1012, 'ä'.repeat(100), 'ä'.repeat(61)],
    [4400, '€'.repeat(41), '€'.repeat(41)],
  ])('is ended with %i %s', async (code, reason, arrives) => {
    const { client, closed } = await open(({ type, socket }) => {
      if (type === 'received') socket.end(code, reason)
    })
    client.send('go')
    client.send('after the end')
    expect(await closed).toEqual([code, arrives])
    expect(http.recorder.get('closed')?.code).toBe(code)
    expect(http.recorder.count('received')).toBe(1)
  })

  test.each(['opened', 'received', 'ponged', 'drained'] as const)('may be ended by handler %s', async (where) => {
    const close = ({ type, socket }: SocketEvent) => {
      if (type === where) socket.end(4000, where)
    }
    expect(await closedIn(where, close)).toEqual([4000, where])
    expect(http.recorder.events.at(-1)).toMatchObject({ type: 'closed', code: 4000 })
    expect(http.recorder.count('closed')).toBe(1)
  })

  test('may be ended again by handler closed', async () => {
    const { client } = await open(({ type, socket }) => {
      if (type === 'closed') socket.end(4000, 'again')
    })
    client.terminate()
    await until(() => http.recorder.count('closed') === 1)
    expect(http.log.lines.filter((line) => line.level === 'error')).toEqual([])
  })

  test.each(['opened', 'received', 'ponged', 'drained'] as const)(
    'is ended with 1011 when its handler throws in %s',
    async (where) => {
      const fail = ({ type }: SocketEvent) => {
        if (type === where) throw new Error(`thrown in ${where}`)
      }
      expect(await closedIn(where, fail)).toEqual([1011, 'internal error'])
      expect(http.log.lines.find((line) => line.level === 'error')?.fields.err).toMatchObject({
        message: `thrown in ${where}`,
      })
      expect(http.recorder.count('closed')).toBe(1)
    },
  )

  test('is closed when its handler throws in closed', async () => {
    const { client } = await open(({ type }) => {
      if (type === 'closed') throw new Error('thrown in closed')
    })
    client.terminate()
    await until(() => http.log.lines.some((line) => line.message === 'a websocket handler failed'))
    expect(http.server.openSockets()).toBe(0)
  })
})
