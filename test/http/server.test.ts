import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Door, openDoor, route, until } from '#test/http/door'
import { RawClient } from '#test/http/raw-client'
import { openSocketDoor } from '#test/http/socket-door'

const doors: Door[] = []
afterEach(async () => {
  for (const door of doors.splice(0)) await door.server.close()
})
async function opened<D extends Door>(opening: Promise<D>): Promise<D> {
  const door = await opening
  doors.push(door)
  return door
}

describe('listening', () => {
  test('a port in use is an error that names it', async () => {
    const first = await opened(openDoor())
    await expect(openDoor({ port: first.port })).rejects.toThrow(`127.0.0.1:${first.port}`)
    // The first one is not harmed by the attempt.
    expect((await fetch(`${first.base}/x`)).status).toBe(404)
  })

  test('an address of elsewhere is an error that names it', async () => {
    await expect(openDoor({ host: '192.0.2.1' })).rejects.toThrow('192.0.2.1')
    await expect(openDoor({ host: 'nowhere.invalid' })).rejects.toThrow('nowhere.invalid')
  })

  test('two routes for the same path are an error', async () => {
    const same = [route('GET', '/a/:b', () => ({ status: 200 })), route('GET', '/a/:c', () => ({ status: 200 }))]
    await expect(openDoor({ bindings: same })).rejects.toThrow('two routes for GET /api/v1/a/:c')
  })

  test('IPv6 and IPv4 on one port, addresses as people write them', async () => {
    const seen: string[] = []
    const see = route('GET', '/', (call) => {
      seen.push(call.remoteAddress)
      return { status: 204 }
    })
    const door = await opened(openDoor({ host: '::', rootBindings: [see] }))
    await fetch(`http://127.0.0.1:${door.port}/`)
    await fetch(`http://[::1]:${door.port}/`)
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
    const door = await openDoor({ bindings: [waits], closeGraceMs: 20_000 })
    const client = new RawClient(door.port).send('GET /api/v1/waits HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => door.server.inFlight() === 1)

    door.server.stopListening()
    door.server.stopListening()
    const refused = new RawClient(door.port)
    await refused.closed()
    expect(refused.text).toBe('')

    const closing = door.server.close()
    release()
    expect(await client.closed()).toMatch(/200 OK(.*\r\n)+Connection: close\r\n(.*\r\n)+"finished"/)
    await closing
    await door.server.close()
    expect(door.server.inFlight()).toBe(0)
  })

  test.each(['HEAD', 'OPTIONS', 'GET'])('%s is answered properly while stopping', async (method) => {
    const door = await opened(openDoor({ bindings: [route('GET', '/a', () => ({ status: 200, json: 'a' }))] }))
    const client = new RawClient(door.port)
    await until(() => client.socket.readyState === 'open')
    client.send('GET /api/v1/unknown HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.answers(1)
    door.server.stopListening()
    client.send(`${method} /api/v1/a HTTP/1.1\r\nHost: a\r\n\r\n`)
    await client.answers(2)
    expect(client.text).toContain('Connection: close')
    expect(client.statuses).toEqual([404, method === 'OPTIONS' ? 204 : 200])
    client.socket.destroy()
  })

  test('what is not finished within the grace is cut off', async () => {
    const door = await openDoor({
      bindings: [route('GET', '/never', () => new Promise(() => {}))],
      closeGraceMs: 30,
    })
    const client = new RawClient(door.port).send('GET /api/v1/never HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => door.server.inFlight() === 1)
    await door.server.close()
    expect(await client.closed()).toBe('')
    expect(door.server.inFlight()).toBe(0)
  })

  test('websockets are closed in batches, each told why; upgrades are refused', async () => {
    const door = await openSocketDoor()
    const codes: number[] = []
    const clients = Array.from({ length: 450 }, () => new WebSocket(`${door.ws}/events/t`))
    for (const client of clients) client.on('close', (code) => codes.push(code))
    await until(() => door.server.openSockets() === 450)
    // A room that ends others in the middle of it is fine.
    door.room.does = ({ what, socket }) => {
      const next = door.room.heard.find((heard) => heard.what === 'opened' && heard.socket !== socket)
      if (what === 'closed') next?.socket.end(1012, 'neighbour')
    }
    const late = connect(door.port, '127.0.0.1')
    await until(() => late.readyState === 'open')
    door.server.stopListening()
    await door.server.closeSockets(1012, 'restarting')
    await until(() => codes.length === 450)
    expect(new Set(codes)).toEqual(new Set([1012]))
    expect(door.server.openSockets()).toBe(0)
    expect(door.room.count('closed')).toBe(450)
    late.destroy()
    await door.server.close()
    door.server.publisher.publish('topic', 'into the void')
  })

  test('closing tells rooms of sockets that were left', async () => {
    const door = await openSocketDoor()
    const client = new WebSocket(`${door.ws}/events/t`)
    client.on('error', () => {})
    await until(() => door.server.openSockets() === 1)
    await door.server.close()
    expect(door.room.count('closed')).toBe(1)
  })
})

describe('the log', () => {
  test('has one line a request, by its template, and none of its secrets', async () => {
    const door = await opened(
      openDoor({
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
      await (await fetch(door.base + path, { headers: { 'X-Request-Id': 'r' } })).text()
    }
    const ms = expect.any(Number)
    const common = { method: 'GET', ms, requestId: 'r' }
    const lines = door.log.lines.filter(({ message }) => message === 'request')
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual([
      ['debug', { ...common, path: '/api/v1/devices/:id', status: 200, bytes: 4 }],
      ['debug', { ...common, path: '/api/v1/empty', status: 204, bytes: 0 }],
      ['warn', { ...common, path: '/api/v1/busy', status: 503, bytes: 0 }],
      ['debug', { ...common, path: '/api/v1/silent', status: 504, bytes: 0 }],
      ['debug', { ...common, path: '/api/v1/events/…', status: 404, bytes: 21 }],
    ])
  })
})
