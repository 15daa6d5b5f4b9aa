import { beforeEach, describe, expect, test } from 'vitest'
import { EventSocket, type EventSocketListener } from '#client/event-socket'
import type { Socket, SocketEvent } from '#client/options'
import { platformOf } from '#client/platform'
import { until } from '#test/blackbox/until'
import { VirtualTime } from '#test/client/virtual-time'

describe('an event socket', () => {
  let time: VirtualTime
  let socket: FakeSocket
  /** The calls of the listener, with the time of each. */
  let calls: (readonly [call: string, atMs: number])[]
  /** It runs within the call of the listener, because virtual time continues by itself. */
  let whenStale: () => void

  beforeEach(() => {
    time = new VirtualTime()
    socket = new FakeSocket(() => record('ping'))
    calls = []
    whenStale = () => {}
  })

  function record(call: string): void {
    calls.push([call, time.passedMs])
  }

  function open(): EventSocket {
    const listener: EventSocketListener = {
      received: ({ type, offset }) => type === 'DEVICE_ADD' && record(`event ${offset}`),
      stale: (isStale) => {
        record(isStale ? 'stale' : 'not stale')
        if (isStale) whenStale()
      },
      closed: (code) => record(`closed ${code}`),
    }
    const eventSocket = new EventSocket(platformOf({ now: time.now, sleep: time.sleep }), socket, listener)
    socket.receive('{"type":"STREAM","epoch":"e","offset":1,"recovered":true}')
    return eventSocket
  }

  const isClosed = () => calls.some(([call]) => call.startsWith('closed'))

  test('whose server does not answer is pinged after 10 s, stale after 15 s, and closed after 30 s', async () => {
    open()
    await until(isClosed, 'the end')
    expect(calls).toEqual([
      ['ping', 10_000],
      ['stale', 15_000],
      ['closed 1006', 30_000],
    ])
  })

  test('whose server answers is only pinged, even if timers run once a minute', async () => {
    time.leastMs = 60_000
    socket.isAnswering = true
    const eventSocket = open()
    await until(() => time.passedMs >= 20 * 60_000, 'twenty minutes')
    expect(new Set(calls.map(([call]) => call))).toEqual(new Set(['ping']))
    socket.isAnswering = false
    await until(isClosed, 'the end')
    expect(calls.at(-1)?.[0]).toBe('closed 1006')
    eventSocket.close()
  })

  test('is not closed later if it is pinged repeatedly', async () => {
    const eventSocket = open()
    while (!isClosed()) {
      eventSocket.ping()
      await time.sleep(50)
    }
    expect(time.passedMs).toBeLessThan(30_000)
  })

  test('is no longer stale after the next message', async () => {
    whenStale = () => socket.receive('{"type":"DEVICE_ADD","offset":2,"timestamp":1,"deviceIdentifier":"A"}')
    const eventSocket = open()
    await until(() => calls.some(([call]) => call === 'event 2'), 'the event')
    expect(calls.slice(0, 4).map(([call]) => call)).toEqual(['ping', 'stale', 'not stale', 'event 2'])
    eventSocket.close()
  })

  test.each(['<html>', '', '{', 'null'])('that receives %j is closed', (text) => {
    open()
    socket.receive(text)
    expect(calls.map(([call]) => call)).toEqual(['closed 1006'])
    expect(socket.isOpen).toBe(false)
  })
})

class FakeSocket implements Socket {
  isAnswering = false
  isOpen = true
  readonly #listeners: ((event: SocketEvent) => void)[] = []
  readonly #pinged: () => void

  constructor(pinged: () => void) {
    this.#pinged = pinged
  }

  send(): void {
    this.#pinged()
    if (this.isAnswering) queueMicrotask(() => this.receive('{"type":"PONG","epoch":"e","offset":1}'))
  }

  close(): void {
    this.isOpen = false
  }

  addEventListener(type: string, listener: (event: SocketEvent) => void): void {
    if (type === 'message') this.#listeners.push(listener)
  }

  receive(data: string): void {
    for (const listener of this.#listeners) listener({ data })
  }
}
