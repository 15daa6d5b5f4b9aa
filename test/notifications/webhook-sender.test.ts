import { Resolver } from 'node:dns/promises'
import type { Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { realWorld } from '#app/world'
import type { StoredWebhook, WebhookAnswer } from '#model/webhook'
import { webhookPostOf } from '#notifications/prepared-webhook'
import { type HttpWebhookSenderOptions, httpWebhookSender, type WebhookPost } from '#notifications/webhook-sender'
import { until } from '#test/blackbox/until'
import { type Answer, type ReceivedRequest, RecordingServer } from '#test/http/recording-server'

/** Webhooks to a real HTTP server. Contract 12. */

let receiver: RecordingServer
const sockets = new Set<Socket>()

beforeEach(async () => {
  receiver = await RecordingServer.open((response) => response.writeHead(204).end())
  receiver.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
})
afterEach(() => receiver.close())

const post = (host = '127.0.0.1', path = '/hook'): WebhookPost => ({
  url: `http://${host}:${receiver.port}${path}`,
  headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' },
  body: '{"type":"status.changed"}',
})

function send(what = post(), more: Partial<HttpWebhookSenderOptions> = {}): Promise<WebhookAnswer> {
  return httpWebhookSender({ world: realWorld, allowed: ['127.0.0.1'], ...more }).post(what)
}

test('a webhook arrives with its headers and its body, and a signature that the library of the standard verifies', async () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const webhook: StoredWebhook = {
    ...{ id: 'msg_abc', at: 1_700_000_000_000, device: 'OVEN', node: 'hook', value: 31.5, previous: null },
    ...{ cause: { on: 'property', service: 'climate', propId: 8192 }, attempts: 0, nextAt: 0, result: null },
  }
  const to = { url: post().url, secret }
  const signed = webhookPostOf(webhook, { functionName: 'Wärme ✓', meta: { site: 'x' } }, to, Date.now())
  expect(await send(signed)).toBe(204)
  const [{ target, headers, body }] = receiver.received as [ReceivedRequest]
  expect([target, headers['content-type'], headers['webhook-id']]).toEqual(['/hook', 'application/json', 'msg_abc'])
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({
    type: 'property.changed',
    timestamp: '2023-11-14T22:13:20.000Z',
    data: {
      function: 'Wärme ✓',
      device: 'OVEN',
      service: 'climate',
      property: '0x2000',
      value: 31.5,
      meta: { site: 'x' },
    },
  })
  const other = 'whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB'
  expect(() => new Webhook(other).verify(body, headers as Record<string, string>)).toThrow('No matching signature')
})

describe('an answer counts by its status', () => {
  test.each([200, 299, 400, 410, 429, 500])('%i', async (status) => {
    receiver.answer = (response) => response.writeHead(status).end('anything')
    expect(await send()).toBe(status)
  })

  test.each([301, 302, 303, 307, 308])('%i: a redirect is not followed', async (status) => {
    receiver.answer = (response) =>
      response.writeHead(status, { Location: `http://127.0.0.1:${receiver.port}/elsewhere` }).end()
    expect(await send()).toBe(status)
    expect(receiver.received.map(({ target }) => target)).toEqual(['/hook'])
  })
})

describe('an attempt ends in time', () => {
  /** Ends the time of the attempt. */
  let expire = () => {}
  const world = {
    ...realWorld,
    after(_: number, task: () => void) {
      expire = task
      return () => {}
    },
  }
  const slowly = (what = post(), more: Partial<HttpWebhookSenderOptions> = {}) => send(what, { world, ...more })
  const ended = () => until(() => sockets.size === 0, 'the end of the connection')

  /** Calls `drip` again and again while the connection is open. Returns how often it was called. */
  function dripping(socket: Socket, drip: () => void): () => number {
    let count = 0
    const interval = setInterval(() => {
      drip()
      count++
    }, 2)
    socket.on('close', () => clearInterval(interval))
    return () => count
  }

  test('when the receiver does not answer', async () => {
    receiver.answer = () => {}
    const sent = slowly()
    await until(() => receiver.received.length === 1, 'the request')
    expire()
    expect(await sent).toBe('timeout')
    await ended()
  })

  test('when the headers of the answer come in drops', async () => {
    let count = () => 0
    receiver.answer = (_, { socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      count = dripping(socket, () => socket.write('x: y\r\n'))
    }
    const sent = slowly()
    await until(() => count() > 5, 'some drops')
    expire()
    expect(await sent).toBe('timeout')
    await ended()
  })

  test('when the body comes in drops: the status counts', async () => {
    let count = () => 0
    receiver.answer = (response, { socket }) => {
      response.writeHead(200).flushHeaders()
      count = dripping(socket, () => response.write('x'))
    }
    const sent = slowly()
    await until(() => count() > 20, 'some drops')
    expire()
    expect(await sent).toBe(200)
    await ended()
  })

  test('and much earlier when the body has no end', async () => {
    receiver.answer = (response) => {
      const more = () => response.writableLength < 1e6 && response.write('x'.repeat(16_384), more)
      response.writeHead(200)
      more()
    }
    expect(await send()).toBe(200)
    await until(() => sockets.size === 0, 'the end of the connection')
  })

  test('when a name is not resolved', async () => {
    const resolve = () => new Promise<never>(() => {})
    const sent = slowly(post('hooks.example'), { resolve })
    expire()
    expect(await sent).toBe('timeout')
  })

  test('when the server stops', async () => {
    receiver.answer = () => {}
    const sender = httpWebhookSender({ world: realWorld, allowed: ['127.0.0.1'] })
    const sent = sender.post(post())
    await until(() => receiver.received.length === 1, 'the request')
    sender.close()
    expect(await sent).toBe('timeout')
  })
})

describe('only checked addresses are connected to', () => {
  const addresses = (...all: string[]) => all.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

  test('a name that changes between check and connection', async () => {
    const answers = [addresses('127.0.0.1'), addresses('10.0.0.1')]
    const resolve = async () => answers.shift() ?? []
    expect(await send(post('hooks.example'), { resolve })).toBe(204)
    expect(await send(post('hooks.example'), { resolve })).toBe('address')
    expect(receiver.received).toHaveLength(1)
  })

  test('a name with private and other addresses', async () => {
    const resolve = async () => addresses('10.0.0.1', 'fe80::1', '127.0.0.1')
    expect(await send(post('hooks.example'), { resolve })).toBe(204)
  })

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['localhost', '127.0.0.1'],
    ['a.localhost', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['[::ffff:127.0.0.1]', '::ffff:127.0.0.1'],
  ])('%s is loopback, which is refused unless it is allowed', async (host) => {
    expect(await send(post(host), { allowed: [] })).toBe('address')
    expect(await send(post(host), { allowed: ['127.0.0.0/8'] })).toBe(204)
    expect(receiver.received).toHaveLength(1)
  })

  test('a host that is named is resolved by the system', async () => {
    expect(await send(post('localhost'), { allowed: ['localhost'] })).toBe(204)
  })
})

describe('a webhook fails if', () => {
  test('nothing listens', async () => {
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    expect(await send({ ...post(), url: 'http://hooks.example:1/' }, { resolve })).toBe('connection')
  })

  test('the connection ends without an answer', async () => {
    receiver.answer = (response) => response.destroy()
    expect(await send()).toBe('connection')
  })

  test('the receiver answers with another protocol', async () => {
    receiver.answer = (_, { socket }) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
    expect(await send()).toBe('connection')
  })

  test.each(['nonsense\r\n\r\n', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`])(
    'the receiver answers with %s',
    async (text) => {
      receiver.answer = (_, { socket }) => socket.write(text)
      expect(await send()).toBe('connection')
    },
  )

  test('the name of the receiver is unknown', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
    }
    expect(await send(post('hooks.example'), { resolve })).toBe('dns')
  })

  test('the receiver has no TLS', async () => {
    expect(await send({ ...post(), url: `https://127.0.0.1:${receiver.port}/` })).toBe('tls')
  })
})

test('at most ten interim answers (1xx) are accepted', async () => {
  const information =
    (count: number): Answer =>
    (response) => {
      for (let sent = 0; sent < count; sent++) response.writeProcessing()
      response.writeHead(204).end()
    }
  receiver.answer = information(10)
  expect(await send()).toBe(204)
  receiver.answer = information(11)
  expect(await send()).toBe('connection')
})

test('new name servers of the system are used', async () => {
  let addresses = ['10.0.0.1']
  // As in Node, a resolver knows only the name servers that were set when it was created.
  const known = new Map<Resolver, string[]>()
  const answerOf = (resolver: Resolver) => {
    if (!known.has(resolver)) known.set(resolver, addresses)
    return known.get(resolver) as string[]
  }
  const four = vi.spyOn(Resolver.prototype, 'resolve4').mockImplementation(async function (this: Resolver) {
    return answerOf(this) as never
  })
  const six = vi.spyOn(Resolver.prototype, 'resolve6').mockRejectedValue(new Error('no address'))
  const sender = httpWebhookSender({ world: realWorld, allowed: ['127.0.0.1'] })
  expect(await sender.post(post('hooks.example'))).toBe('address')
  addresses = ['127.0.0.1']
  expect(await sender.post(post('hooks.example'))).toBe(204)
  four.mockRestore()
  six.mockRestore()
})
