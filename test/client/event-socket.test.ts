import { beforeEach, describe, expect, test } from 'vitest'
import { EventSocket, type EventSocketListener } from '#client/event-socket'
import type { Socket, SocketEvent } from '#client/options'
import { platformOf } from '#client/platform'
import { until } from '#test/blackbox/until'
import { WaitedTime } from '#test/client/waited-time'

/** How a socket is watched: asked when it says nothing, called stale, given up. */
describe('one socket of the event stream', () => {
  let time: WaitedTime
  let line: Line
  /** What the listener was told, and when. */
  let told: (readonly [what: string, atMs: number])[]

  beforeEach(() => {
    time = new WaitedTime()
    line = new Line(() => say('ping'))
    told = []
  })

  function say(what: string): void {
    told.push([what, time.passedMs])
  }

  function open(): EventSocket {
    const listener: EventSocketListener = {
      began: () => {},
      resync: () => {},
      positioned: () => {},
      received: ({ offset }) => say(`event ${offset}`),
      stale: (isStale) => say(isStale ? 'stale' : 'heard again'),
      closed: (code) => say(`closed ${code}`),
    }
    const socket = new EventSocket(platformOf({ now: time.now, sleep: time.sleep }), line, listener)
    line.say('{"type":"STREAM","epoch":"e","offset":1,"recovered":true}')
    return socket
  }

  const isClosed = () => told.some(([what]) => what.startsWith('closed'))

  test('that answers nothing is asked after ten seconds, stale after fifteen, given up after thirty', async () => {
    open()
    await until(isClosed, 'the end')
    expect(told).toEqual([
      ['ping', 10_000],
      ['stale', 15_000],
      ['closed 1006', 30_000],
    ])
  })

  test('that answers is neither, also where nobody looks for a minute', async () => {
    time.leastMs = 60_000
    line.answers = true
    const socket = open()
    await until(() => time.passedMs >= 20 * 60_000, 'twenty minutes')
    expect(new Set(told.map(([what]) => what))).toEqual(new Set(['ping']))
    line.answers = false
    await until(isClosed, 'the end')
    expect(told.at(-1)?.[0]).toBe('closed 1006')
    socket.close()
  })

  test('that is asked all the time is given up as soon', async () => {
    const socket = open()
    while (!isClosed()) {
      socket.ping()
      await time.sleep(50)
    }
    expect(time.passedMs).toBeLessThan(30_000)
  })

  test('that is heard again is stale no more', async () => {
    const socket = open()
    await until(() => told.some(([what]) => what === 'stale'), 'stale')
    line.say('{"type":"DEVICE_ADD","offset":2,"timestamp":1,"deviceIdentifier":"A"}')
    expect(told.slice(-2).map(([what]) => what)).toEqual(['heard again', 'event 2'])
    socket.close()
  })

  test.each(['<html>', '', '{', 'null'])('that says %j is no event stream, and closed', (text) => {
    open()
    line.say(text)
    expect(told.map(([what]) => what)).toEqual(['closed 1006'])
    expect(line.isOpen).toBe(false)
  })
})

/** The server's side of it is the test. */
class Line implements Socket {
  answers = false
  isOpen = true
  readonly #listeners: ((event: SocketEvent) => void)[] = []
  readonly #asked: () => void

  constructor(asked: () => void) {
    this.#asked = asked
  }

  send(): void {
    this.#asked()
    if (this.answers) queueMicrotask(() => this.say('{"type":"PONG","epoch":"e","offset":1}'))
  }

  close(): void {
    this.isOpen = false
  }

  addEventListener(type: string, listener: (event: SocketEvent) => void): void {
    if (type === 'message') this.#listeners.push(listener)
  }

  say(data: string): void {
    for (const listener of this.#listeners) listener({ data })
  }
}
