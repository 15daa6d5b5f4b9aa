import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { HttpMetrics } from '#http/http-metrics'
import { Problem } from '#model/problem'
import { type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { handshake, openSocketHttp } from '#test/http/socket-fixture'

/** The counts of a route by how its requests ended. */
function endedOf(name: string): number[] {
  const { ended, seconds } = metrics.route(name)
  expect(seconds.count).toBe(ended.slice(0, -1).reduce((sum, count) => sum + count, 0))
  return ended
}

let metrics: HttpMetrics
let http: HttpFixture
beforeEach(() => {
  metrics = new HttpMetrics()
})
afterEach(() => http.server.close())

describe('requests', () => {
  test('are counted by route and class of status', async () => {
    const named = (name: string, path: string, answer: Parameters<typeof route>[2]) => {
      const { entry } = route('GET', path, answer)
      return { entry: { ...entry, name }, answer }
    }
    http = await openHttp({
      metrics,
      bindings: [
        named('readThing', '/things/:thing', () => ({ status: 200 })),
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
    expect(endedOf('readThing')).toEqual([0, 2, 1, 0, 0, 0])
    expect(endedOf('refuse')).toEqual([0, 0, 0, 1, 0, 0])
    expect(endedOf('fail')).toEqual([0, 0, 0, 0, 1, 0])
    expect(endedOf('none')).toEqual([0, 1, 0, 2, 0, 0])
    expect([...metrics.routes].map(({ name }) => name)).toEqual(['none', 'readThing', 'refuse', 'fail'])
    const { conflict, bug, not_found, method_not_allowed, ...others } = metrics.refusals
    expect([conflict, bug, not_found, method_not_allowed]).toEqual([1, 1, 1, 1])
    expect(new Set(Object.values(others))).toEqual(new Set([0]))
  })

  test('that the client aborts are counted separately', async () => {
    let begun = 0
    const slow = route('GET', '/slow', () => {
      begun++
      return new Promise(() => {})
    })
    http = await openHttp({ metrics, bindings: [slow] })
    const socket = connect(http.port, '127.0.0.1')
    socket.write('GET /api/v1/slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await until(() => begun > 0)
    socket.destroy()
    await until(() => endedOf('x')[5] === 1)
    expect(endedOf('x')).toEqual([0, 0, 0, 0, 0, 1])
  })
})

describe('websockets', () => {
  test.each([
    ['normally', 1000, '1000'],
    ['with a code of this server', 4401, '4401'],
    ['with an unknown code', 4999, 'other'],
    ['with a code that uWebSockets.js reports as missing', 3456, '1006'],
  ])('that are closed %s (%i) are counted as %s', async (_, code, counted) => {
    const { recorder, ...opened } = await openSocketHttp({}, { metrics })
    http = opened
    const client = new WebSocket(`${http.ws}/events/t`)
    await new Promise((resolve) => client.once('open', resolve))
    client.close(code)
    await until(() => recorder.count('closed') === 1)
    const { opened: count, closed } = metrics.socket('/events/:ticket')
    expect([count, closed.get(counted)?.count]).toEqual([1, 1])
    expect([...closed.values()].reduce((sum, each) => sum + each.count, 0)).toBe(1)
    expect(endedOf('/events/:ticket')).toEqual([1, 0, 0, 0, 0, 0])
  })

  test('that end without a close frame are counted as 1006', async () => {
    const { recorder, ...opened } = await openSocketHttp({}, { metrics })
    http = opened
    const socket = connect(http.port, '127.0.0.1')
    socket.write(handshake('/events/t'))
    await until(() => recorder.count('opened') === 1)
    socket.destroy()
    await until(() => recorder.count('closed') === 1)
    expect(metrics.socket('/events/:ticket').closed.get('1006')?.count).toBe(1)
  })

  test('that are refused are counted as requests', async () => {
    const upgrade = () => {
      throw new Problem('unauthorized')
    }
    http = await openSocketHttp({ upgrade }, { metrics })
    const client = new WebSocket(`${http.ws}/events/t`)
    await new Promise((resolve) => client.once('error', resolve))
    expect(endedOf('/events/:ticket')).toEqual([0, 0, 0, 1, 0, 0])
    expect([metrics.socket('/events/:ticket').opened, metrics.refusals.unauthorized]).toEqual([0, 1])
  })
})
