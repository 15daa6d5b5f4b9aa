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
  test('a port in use is an error that names it', async () => {
    const first = await opened(openHttp())
    await expect(openHttp({ port: first.port })).rejects.toThrow(`127.0.0.1:${first.port}`)
    // The first one is not harmed by the attempt.
    expect((await fetch(`${first.base}/x`)).status).toBe(404)
  })

  test('an address of elsewhere is an error that names it', async () => {
    await expect(openHttp({ host: '192.0.2.1' })).rejects.toThrow('192.0.2.1')
    await expect(openHttp({ host: 'nowhere.invalid' })).rejects.toThrow('nowhere.invalid')
  })

  test('two routes for the same path are an error', async () => {
    const same = [route('GET', '/a/:b', () => ({ status: 200 })), route('GET', '/a/:c', () => ({ status: 200 }))]
    await expect(openHttp({ bindings: same })).rejects.toThrow('two routes for GET /api/v1/a/:c')
  })

  test('IPv6 and IPv4 on one port, addresses as people write them', async () => {
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
  test('new connections are refused, requests are finished, the old connections closed', async () => {
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

  test.each(['HEAD', 'OPTIONS', 'GET'])('%s is answered properly while stopping', async (method) => {
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

  test('what is not finished within the grace is cut off', async () => {
    const http = await openHttp({
      bindings: [route('GET', '/never', () => new Promise(() => {}))],
      closeGraceMs: 30,
    })
    const client = new RawClient(http.port).send('GET /api/v1/never HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => http.server.inFlight() === 1)
    await http.server.close()
    expect(await client.closed()).toBe('')
    expect(http.server.inFlight()).toBe(0)
  })

  test('websockets are closed in batches, each told why; upgrades are refused', async () => {
    const http = await openSocketHttp()
    const codes: number[] = []
    const clients = Array.from({ length: 450 }, () => new WebSocket(`${http.ws}/events/t`))
    for (const client of clients) client.on('close', (code) => codes.push(code))
    await until(() => http.server.openSockets() === 450)
    // A room that ends others in the middle of it is fine.
    http.room.does = ({ what, socket }) => {
      const next = http.room.heard.find((heard) => heard.what === 'opened' && heard.socket !== socket)
      if (what === 'closed') next?.socket.end(1012, 'neighbour')
    }
    const late = connect(http.port, '127.0.0.1')
    await until(() => late.readyState === 'open')
    http.server.stopListening()
    await http.server.closeSockets(1012, 'restarting')
    await until(() => codes.length === 450)
    expect(new Set(codes)).toEqual(new Set([1012]))
    expect(http.server.openSockets()).toBe(0)
    expect(http.room.count('closed')).toBe(450)
    late.destroy()
    await http.server.close()
    http.server.publisher.publish('topic', 'into the void')
  })

  test('closing tells rooms of sockets that were left', async () => {
    const http = await openSocketHttp()
    const client = new WebSocket(`${http.ws}/events/t`)
    client.on('error', () => {})
    await until(() => http.server.openSockets() === 1)
    await http.server.close()
    expect(http.room.count('closed')).toBe(1)
  })
})

describe('the log', () => {
  test('has one line a request, by its template, and none of its secrets', async () => {
    const http = await opened(
      openHttp({
        bindings: [
          route('GET', '/devices/:id', () => ({ status: 200, json: 'ä' })),
          route('GET', '/empty', () => ({ status: 204 })),
          route('GET', '/busy', () => ({ status: 503 })),
          // What a device did not answer in time is nobody's fault here.
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
      ['debug', { ...common, path: '/api/v1/devices/:id', status: 200, bytes: 4 }],
      ['debug', { ...common, path: '/api/v1/empty', status: 204, bytes: 0 }],
      ['warn', { ...common, path: '/api/v1/busy', status: 503, bytes: 0 }],
      ['debug', { ...common, path: '/api/v1/silent', status: 504, bytes: 0 }],
      ['debug', { ...common, path: '/api/v1/events/…', status: 404, bytes: 21 }],
    ])
  })
})
