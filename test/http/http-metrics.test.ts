import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { HttpMetrics } from '#http/http-metrics'
import { Problem } from '#model/problem'
import { openHttp, route, until } from '#test/http/http-fixture'
import { handshake, openSocketHttp } from '#test/http/socket-fixture'

/** What there is of a route, by how it ended. */
function endedOf(figures: HttpMetrics, name: string): number[] {
  const { ended, seconds } = figures.route(name)
  expect(seconds.count).toBe(ended.slice(0, -1).reduce((sum, count) => sum + count, 0))
  return ended
}

describe('requests', () => {
  test('are counted by route and by the class of their answer, whatever their path', async () => {
    const figures = new HttpMetrics()
    const named = (name: string, path: string, answer: Parameters<typeof route>[2]) => {
      const { entry } = route('GET', path, answer)
      return { entry: { ...entry, name }, answer }
    }
    const http = await openHttp({
      figures,
      bindings: [
        named('readThing', '/things/:id', () => ({ status: 200 })),
        named('readThing', '/same', () => ({ status: 304 })),
        named('refuse', '/refuse', () => Promise.reject(new Problem('conflict'))),
        named('fail', '/fail', () => {
          throw new Error('a bug')
        }),
      ],
    })
    const ask = (path: string, method = 'GET') => fetch(http.base + path, { method }).then(({ status }) => status)
    expect(await Promise.all([ask('/things/1'), ask('/things/2'), ask('/same'), ask('/refuse'), ask('/fail')])).toEqual(
      [200, 200, 304, 409, 500],
    )
    expect([await ask('/nothing'), await ask('/refuse', 'PUT'), await ask('/refuse', 'OPTIONS')]).toEqual([
      404, 405, 204,
    ])
    expect(endedOf(figures, 'readThing')).toEqual([0, 2, 1, 0, 0, 0])
    expect(endedOf(figures, 'refuse')).toEqual([0, 0, 0, 1, 0, 0])
    expect(endedOf(figures, 'fail')).toEqual([0, 0, 0, 0, 1, 0])
    expect(endedOf(figures, 'none')).toEqual([0, 1, 0, 2, 0, 0])
    expect([...figures.routes].map(({ name }) => name)).toEqual(['none', 'readThing', 'refuse', 'fail'])
    const { conflict, bug, not_found, method_not_allowed, ...others } = figures.refusals
    expect([conflict, bug, not_found, method_not_allowed]).toEqual([1, 1, 1, 1])
    expect(new Set(Object.values(others))).toEqual(new Set([0]))
    await http.server.close()
  })

  test('of which the other side went away are counted apart', async () => {
    const figures = new HttpMetrics()
    let begun = 0
    const slow = route('GET', '/slow', () => {
      begun++
      return new Promise(() => {})
    })
    const http = await openHttp({ figures, bindings: [slow] })
    const socket = connect(http.port, '127.0.0.1')
    socket.write('GET /api/v1/slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await until(() => begun > 0)
    socket.destroy()
    await until(() => endedOf(figures, 'x')[5] === 1)
    expect(endedOf(figures, 'x')).toEqual([0, 0, 0, 0, 0, 1])
    await http.server.close()
  })
})

describe('websockets', () => {
  test.each([
    ['as usual', 1000, '1000'],
    ['with a code of ours', 4401, '4401'],
    ['with one that somebody made up', 4999, 'other'],
    ['with one that uWebSockets.js takes for none', 3456, '1006'],
  ])('that are closed %s (%i) are counted as %s', async (_, code, counted) => {
    const figures = new HttpMetrics()
    const http = await openSocketHttp({}, { figures })
    const client = new WebSocket(`${http.ws}/events/t`)
    await new Promise((resolve) => client.once('open', resolve))
    client.close(code)
    await until(() => http.room.count('closed') === 1)
    const { opened, closed } = figures.socket('/events/:ticket')
    expect([opened, closed.get(counted)?.count]).toEqual([1, 1])
    expect([...closed.values()].reduce((sum, { count }) => sum + count, 0)).toBe(1)
    expect(endedOf(figures, '/events/:ticket')).toEqual([1, 0, 0, 0, 0, 0])
    await http.server.close()
  })

  test('that break off are too', async () => {
    const figures = new HttpMetrics()
    const http = await openSocketHttp({}, { figures })
    const socket = connect(http.port, '127.0.0.1')
    socket.write(handshake('/events/t'))
    await until(() => http.room.count('opened') === 1)
    socket.destroy()
    await until(() => http.room.count('closed') === 1)
    expect(figures.socket('/events/:ticket').closed.get('1006')?.count).toBe(1)
    await http.server.close()
  })

  test('that are refused are requests of their path', async () => {
    const figures = new HttpMetrics()
    const upgrade = () => {
      throw new Problem('unauthorized')
    }
    const http = await openSocketHttp({ upgrade }, { figures })
    const client = new WebSocket(`${http.ws}/events/t`)
    await new Promise((resolve) => client.once('error', resolve))
    expect(endedOf(figures, '/events/:ticket')).toEqual([0, 0, 0, 1, 0, 0])
    expect([figures.socket('/events/:ticket').opened, figures.refusals.unauthorized]).toEqual([0, 1])
    await http.server.close()
  })
})
