import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { openSocketHttp } from '#test/http/socket-fixture'

const servers: HttpFixture[] = []
afterEach(async () => {
  for (const http of servers.splice(0)) await http.server.close()
})
async function opened<D extends HttpFixture>(opening: Promise<D>): Promise<D> {
  const http = await opening
  servers.push(http)
  return http
}

describe('listening', () => {
  test('a port in use is an error that names the port', async () => {
    const first = await opened(openHttp())
    await expect(openHttp({ port: first.port })).rejects.toThrow(`127.0.0.1:${first.port}`)
    // The first server is not affected.
    expect((await fetch(`${first.base}/x`)).status).toBe(404)
  })

  test('an address of another machine is an error that names the address', async () => {
    await expect(openHttp({ host: '192.0.2.1' })).rejects.toThrow('192.0.2.1')
    await expect(openHttp({ host: 'nowhere.invalid' })).rejects.toThrow('nowhere.invalid')
  })

  test('one port serves IPv6 and IPv4, and addresses have their usual form', async () => {
    const seen: string[] = []
    const see = route('GET', '/', (call) => {
      seen.push(call.remoteAddress)
      return { status: 204 }
    })
    const http = await opened(openHttp({ host: '::', rootBindings: [see] }))
    await fetch(`http://127.0.0.1:${http.port}/`)
    await fetch(`http://[::1]:${http.port}/`)
    expect(seen).toEqual(['127.0.0.1', '::1'])
  })
})

describe('stopping', () => {
  test('new connections are refused, requests finish, and their connections are closed', async () => {
    let release = () => {}
    const waits = route('GET', '/waits', async () => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return { status: 200, json: 'finished' }
    })
    const http = await openHttp({ bindings: [waits], closeGraceMs: 20_000 })
    const client = new RawClient(http.port).send('GET /api/v1/waits HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => http.server.inFlight() === 1)

    http.server.stopListening()
    http.server.stopListening()
    const refused = new RawClient(http.port)
    await refused.closed()
    expect(refused.text).toBe('')

    const closing = http.server.close()
    release()
    expect(await client.closed()).toMatch(/200 OK(.*\r\n)+Connection: close\r\n(.*\r\n)+"finished"/)
    await closing
    await http.server.close()
    expect(http.server.inFlight()).toBe(0)
  })

  test.each(['HEAD', 'OPTIONS', 'GET'])('%s is answered while stopping', async (method) => {
    const http = await opened(openHttp({ bindings: [route('GET', '/a', () => ({ status: 200, json: 'a' }))] }))
    const client = new RawClient(http.port)
    await until(() => client.socket.readyState === 'open')
    client.send('GET /api/v1/unknown HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.answers(1)
    http.server.stopListening()
    client.send(`${method} /api/v1/a HTTP/1.1\r\nHost: a\r\n\r\n`)
    await client.answers(2)
    expect(client.text).toContain('Connection: close')
    expect(client.statuses).toEqual([404, method === 'OPTIONS' ? 204 : 200])
    client.socket.destroy()
  })

  test('a request that does not finish within the grace period is aborted', async () => {
    const http = await openHttp({ bindings: [route('GET', '/never', () => new Promise(() => {}))], closeGraceMs: 30 })
    const client = new RawClient(http.port).send('GET /api/v1/never HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => http.server.inFlight() === 1)
    await http.server.close()
    expect(await client.closed()).toBe('')
    expect(http.server.inFlight()).toBe(0)
  })

  test('websockets are closed in batches with a code, and upgrades are refused', async () => {
    const http = await openSocketHttp()
    const codes: number[] = []
    const clients = Array.from({ length: 450 }, () => new WebSocket(`${http.ws}/events/t`))
    for (const client of clients) client.on('close', (code) => codes.push(code))
    await until(() => http.server.openSockets() === 450)
    // A handler may end other sockets meanwhile.
    http.recorder.onEvent = ({ type, socket }) => {
      const next = http.recorder.events.find((event) => event.type === 'opened' && event.socket !== socket)
      if (type === 'closed') next?.socket.end(1012, 'neighbour')
    }
    const late = connect(http.port, '127.0.0.1')
    await until(() => late.readyState === 'open')
    http.server.stopListening()
    await http.server.closeSockets(1012, 'restarting')
    await until(() => codes.length === 450)
    expect(new Set(codes)).toEqual(new Set([1012]))
    expect(http.server.openSockets()).toBe(0)
    expect(http.recorder.count('closed')).toBe(450)
    late.destroy()
    await http.server.close()
    http.server.publisher.publish('topic', 'no subscribers')
  })

  test('closing the server closes the remaining sockets', async () => {
    const http = await openSocketHttp()
    const client = new WebSocket(`${http.ws}/events/t`)
    client.on('error', () => {})
    await until(() => http.server.openSockets() === 1)
    await http.server.close()
    expect(http.recorder.count('closed')).toBe(1)
  })
})

test('the log has one line for each request, with the template of its path and without secrets', async () => {
  const http = await opened(
    openHttp({
      bindings: [
        route('GET', '/devices/:thing', () => ({ status: 200, json: 'ä' })),
        route('GET', '/empty', () => ({ status: 204 })),
        route('GET', '/busy', () => ({ status: 503 })),
        // A device that did not answer in time is no fault of the server.
        route('GET', '/silent', () => ({ status: 504 })),
      ],
      redactPath: (path) => path.replace(/secret/, '…'),
    }),
  )
  for (const path of ['/devices/d', '/empty', '/busy', '/silent', '/events/secret']) {
    await (await fetch(http.base + path, { headers: { 'X-Request-Id': 'r' } })).text()
  }
  const ms = expect.any(Number)
  const common = { method: 'GET', ms, requestId: 'r' }
  const lines = http.log.lines.filter(({ message }) => message === 'request')
  expect(lines.map(({ level, fields }) => [level, fields])).toEqual([
    ['debug', { ...common, path: '/api/v1/devices/:thing', status: 200, bytes: 4 }],
    ['debug', { ...common, path: '/api/v1/empty', status: 204, bytes: 0 }],
    ['warn', { ...common, path: '/api/v1/busy', status: 503, bytes: 0 }],
    ['debug', { ...common, path: '/api/v1/silent', status: 504, bytes: 0 }],
    ['debug', { ...common, path: '/api/v1/events/…', status: 404, bytes: 21 }],
  ])
})
