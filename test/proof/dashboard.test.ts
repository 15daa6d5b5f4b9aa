import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import type { DashboardOptions } from '#bench/dashboard'
import { Dashboard } from '#bench/dashboard'

/** The checking dashboard against a stream that is told to it line by line: it must notice what is wrong with one. */
describe('a dashboard that trusts nothing', () => {
  const server = new ScriptedServer()
  let dashboard: Dashboard

  beforeEach(() => server.open())
  afterEach(async () => {
    dashboard.stop()
    await server.close()
  })

  async function connect(options: Partial<DashboardOptions> = {}): Promise<void> {
    dashboard = new Dashboard({ url: server.url, backoffMsMax: 20, ...options })
    dashboard.start()
    await server.connected(1)
  }

  const stream = (offset: number, recovered = true) => ({ type: 'STREAM', epoch: 'e', offset, recovered })
  const update = (offset: number, value: number) => ({
    type: 'OBJECT_UPDATED',
    timestamp: 1,
    offset,
    deviceIdentifier: 'A',
    serviceIdentifier: 's',
    updates: [{ tag: 'value', propId: 1, type: 'UINT8', value }],
  })
  const shownValue = () => dashboard.state.devices.get('A')?.get('s')?.get(1)?.value

  test('reads the state, then applies what comes after it', async () => {
    server.state(10, 1)
    await connect()
    expect(server.queries).toEqual([{ epoch: 'e', offset: '10' }])
    await server.say(stream(10), update(11, 2), update(13, 3))
    expect(shownValue()).toBe(3)
    expect(dashboard.position).toEqual({ epoch: 'e', offset: 13 })
    expect(dashboard.faults).toEqual([])
    server.state(13, 3)
    expect(await dashboard.differences()).toEqual([])
    server.state(13, 4)
    expect(await dashboard.differences()).toHaveLength(1)
  })

  test('comes back at the place it had reached', async () => {
    await connect()
    await server.say(stream(10), update(11, 2))
    dashboard.cut()
    await server.connected(2)
    expect(server.queries[1]).toEqual({ epoch: 'e', offset: '11' })
    await server.say({ ...stream(20), epoch: 'f' }, update(15, 5))
    expect(dashboard.position).toEqual({ epoch: 'f', offset: 15 })
    expect(dashboard.counts).toMatchObject({ fullReads: 1, recovered: 2 })
    expect(dashboard.faults).toEqual([])
  })

  const faults: readonly (readonly [string, readonly object[], RegExp])[] = [
    ['the same offset twice', [stream(10), update(11, 1), update(11, 1)], /offset 11 was heard after 11/],
    ['an offset that falls', [stream(10), update(12, 1), update(11, 1)], /offset 11 was heard after 12/],
    ['what it had already', [stream(10), update(10, 1)], /offset 10 was heard after 10/],
    [
      'what a PONG had passed',
      [stream(10), { type: 'PONG', epoch: 'e', offset: 12 }, update(12, 1)],
      /12 was heard after 12/,
    ],
    ['an event before STREAM', [update(11, 1)], /before STREAM/],
    ['two STREAMs', [stream(10), stream(10)], /second STREAM/],
    [
      'an event without an offset',
      [stream(10), { type: 'DEVICE_ADD', timestamp: 1 }],
      /without type, timestamp or offset/,
    ],
  ]

  test.each(faults)('notices %s', async (_name, messages, fault) => {
    await connect()
    await server.say(...messages)
    expect(dashboard.faults).toEqual([expect.stringMatching(fault)])
  })

  const restarts = [
    ['is not recovered', [stream(30, false)]],
    ['is told to read again', [stream(10), { type: 'RESYNC', epoch: 'e', offset: 30 }]],
  ] as const

  test.each(restarts)(
    'reads the state again when it %s, and holds back what comes meanwhile',
    async (_name, messages) => {
      await connect()
      server.state(31, 7)
      await server.say(...messages, update(31, 7), update(32, 8))
      await expect.poll(shownValue).toBe(8)
      expect(dashboard.counts.fullReads).toBe(2)
      expect(dashboard.position?.offset).toBe(32)
      expect(dashboard.faults).toEqual([])
    },
  )

  test('reads once more when the state it read is older than the place it starts over from', async () => {
    await connect()
    server.state(20, 1)
    await server.say(stream(30, false))
    server.state(30, 9)
    await expect.poll(shownValue).toBe(9)
  })
})

class ScriptedServer {
  readonly #http = createServer((incoming, answer) => {
    if (incoming.url?.endsWith('/ticket')) {
      answer.end('{"ticket":"T"}')
      return
    }
    answer.writeHead(200, { 'stream-epoch': 'e', 'stream-offset': this.#head }).end(this.#body)
  })
  readonly #sockets = new WebSocketServer({ server: this.#http })
  readonly queries: Record<string, string>[] = []
  #current: WebSocket | undefined
  #head = 10
  #body = '[]'

  constructor() {
    this.#sockets.on('connection', (socket, incoming) => {
      this.queries.push(Object.fromEntries(new URL(incoming.url ?? '', 'http://x').searchParams))
      this.#current = socket
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  async open(): Promise<void> {
    this.queries.length = 0
    this.state(10, 1)
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    await new Promise((resolve) => this.#http.close(resolve))
  }

  state(offset: number, value: number): void {
    this.#head = offset
    const property = { tag: 'value', propId: 1, type: 'UINT8', value, timestamp: 1 }
    this.#body = JSON.stringify([
      { deviceIdentifier: 'A', services: [{ serviceIdentifier: 's', properties: { 1: property } }] },
    ])
  }

  async connected(count: number): Promise<void> {
    await expect.poll(() => this.queries.length).toBe(count)
  }

  /** Resolves when the other side has read it all: it answered a ping that was sent after. */
  async say(...messages: readonly object[]): Promise<void> {
    const socket = this.#current
    if (!socket) throw new Error('nobody is connected')
    for (const message of messages) socket.send(JSON.stringify(message))
    await new Promise<void>((resolve) => {
      socket.once('pong', () => resolve())
      socket.ping()
    })
  }
}
