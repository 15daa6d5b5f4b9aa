import { expect } from 'vitest'
import { type EventOf, type EventType, eventKinds, type StreamEvent } from '#model/event'
import type { Served } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { WebsocketClient } from '#test/blackbox/websocket-client'

export interface Position {
  readonly epoch: string
  readonly offset: number
}

export interface StreamMessage extends Position {
  readonly type: 'STREAM'
  readonly recovered: boolean
}

export type Query = Readonly<Record<string, string | number>>

/** Messages of an event socket that are not events of the stream. Contract 4. */
const controlTypes = ['STREAM', 'RESYNC', 'PONG']

/**
 * An event socket that records all messages. An event that does not match the model is a fault in every test, and so is
 * an offset that does not rise. Contract 4.
 */
export class EventClient extends WebsocketClient {
  readonly events: StreamEvent[] = []
  readonly controls: (Record<string, unknown> & { readonly type: string })[] = []
  readonly faults: string[] = []

  private constructor(url: string, headers?: Readonly<Record<string, string>>) {
    super(url, [], headers)
    this.socket.on('message', (data: Buffer, isBinary: boolean) => this.#received(data, isBinary))
  }

  /** Opens a socket with a new ticket of `asker`. */
  static async open(
    server: Served,
    query: Query = { offset: 'now' },
    asker: Pick<Served, 'get'> = server,
  ): Promise<EventClient> {
    const client = EventClient.with(server, await ticketOf(asker), query)
    await client.opened()
    if ('offset' in query) await client.stream()
    return client
  }

  /** Connects without waiting for the answer. */
  static with(
    server: Served,
    ticket: string | undefined,
    query: Query = {},
    headers?: Readonly<Record<string, string>>,
  ): EventClient {
    const path = ticket === undefined ? '/events' : `/events/${ticket}`
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`]),
    )
    return new EventClient(`${server.ws}${path}${search.size > 0 ? `?${search}` : ''}`, headers)
  }

  /** The STREAM message, which a socket receives first if its query has an offset. */
  async stream(): Promise<StreamMessage> {
    const message = await until(() => this.controls[0], 'STREAM')
    expect(message).toEqual({
      type: 'STREAM',
      epoch: expect.any(String),
      offset: expect.any(Number),
      recovered: expect.any(Boolean),
    })
    return message as unknown as StreamMessage
  }

  async ping(): Promise<Position> {
    const before = this.#controlsOf('PONG').length
    this.socket.send('{"type":"PING"}')
    const pong = await until(() => this.#controlsOf('PONG')[before], 'PONG')
    expect(pong).toEqual({ type: 'PONG', epoch: expect.any(String), offset: expect.any(Number) })
    const { epoch, offset } = pong as unknown as Position
    return { epoch, offset }
  }

  /** Waits until it has received all events that are in the stream now. Returns all events so far. */
  async caughtUp(server: Served): Promise<readonly StreamEvent[]> {
    const head = await streamHead(server)
    let pingedAt = Number.NEGATIVE_INFINITY
    await until(
      () => {
        if (this.#controlsOf('PONG').some((pong) => Number(pong.offset) >= head.offset)) return true
        if (this.closing) throw new Error(`closed with ${this.closing.code} before all events arrived`)
        if (performance.now() - pingedAt < 100) return false
        pingedAt = performance.now()
        this.socket.send('{"type":"PING"}')
        return false
      },
      () => `events up to ${head.offset}, the last was ${this.lastOffset}`,
    )
    this.check()
    return this.events
  }

  check(): void {
    expect(this.faults).toEqual([])
  }

  of<T extends EventType>(type: T): EventOf<T>[] {
    return this.events.filter((event): event is StreamEvent & EventOf<T> => event.type === type) as EventOf<T>[]
  }

  ofDevice(deviceIdentifier: string): StreamEvent[] {
    return this.events.filter((event) => 'deviceIdentifier' in event && event.deviceIdentifier === deviceIdentifier)
  }

  get lastOffset(): number {
    return this.events.at(-1)?.offset ?? 0
  }

  #controlsOf(type: string) {
    return this.controls.filter((control) => control.type === type)
  }

  #received(data: Buffer, isBinary: boolean): void {
    const text = data.toString()
    if (isBinary) {
      this.faults.push('a binary message')
      return
    }
    const message = JSON.parse(text) as { type: string }
    if (controlTypes.includes(message.type)) {
      this.controls.push(message)
      return
    }
    const received = message as StreamEvent
    const event = eventKinds[received.type]?.schema.safeParse(message)
    if (!event?.success) this.faults.push(`${text.slice(0, 500)}: ${event?.error.message ?? 'of an unknown type'}`)
    if (received.offset <= this.lastOffset) this.faults.push(`offset ${received.offset} after ${this.lastOffset}`)
    this.events.push(received)
  }
}

export async function ticketOf(asker: Pick<Served, 'get'>): Promise<string> {
  const answer = await asker.get('/events/ticket')
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({ ticket: expect.stringMatching(/^[\w-]{16,}$/) })
  return (answer.json as { ticket: string }).ticket
}

/** The present end of the stream. */
export async function streamHead(server: Served): Promise<Position> {
  const { status, headers } = await server.get('/devices?limit=1')
  expect(status).toBe(200)
  return { epoch: headers.get('stream-epoch') ?? '', offset: Number(headers.get('stream-offset')) }
}
