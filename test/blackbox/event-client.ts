import { expect } from 'vitest'
import { type EventOf, type EventType, StreamEvent } from '#model/event'
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

/** Messages on an event socket that are no events of the stream. Contract 4. */
const controlTypes = ['STREAM', 'RESYNC', 'PONG']

/**
 * A dashboard's socket that writes down all it hears. What breaks a promise of contract 4, whatever the test is about,
 * is a fault: an event of another shape than the model's, an offset that does not rise.
 */
export class EventClient extends WebsocketClient {
  readonly events: StreamEvent[] = []
  readonly controls: (Record<string, unknown> & { readonly type: string })[] = []
  readonly faults: string[] = []

  private constructor(url: string, headers?: Readonly<Record<string, string>>) {
    super(url, [], headers)
    this.socket.on('message', (data: Buffer, isBinary: boolean) => this.#received(data, isBinary))
  }

  /** With a ticket of its own. `asker`: whose. */
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

  /** Opened or refused: that remains to be seen. */
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

  /** The first message of one that named a position. */
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

  /** Heard all that was in the stream when this was called; gives all events so far. */
  async caughtUp(server: Served): Promise<readonly StreamEvent[]> {
    const head = await streamHead(server)
    let askedAt = Number.NEGATIVE_INFINITY
    await until(
      () => {
        if (this.#controlsOf('PONG').some((pong) => Number(pong.offset) >= head.offset)) return true
        if (this.closing) throw new Error(`closed with ${this.closing.code} before everything was heard`)
        if (performance.now() - askedAt < 100) return false
        askedAt = performance.now()
        this.socket.send('{"type":"PING"}')
        return false
      },
      () => `everything up to ${head.offset}, ${this.lastOffset} was the last`,
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
    const event = StreamEvent.safeParse(message)
    if (!event.success) this.faults.push(`${text.slice(0, 500)}: ${event.error.message}`)
    const heard = message as StreamEvent
    if (heard.offset <= this.lastOffset) this.faults.push(`offset ${heard.offset} after ${this.lastOffset}`)
    this.events.push(heard)
  }
}

/** `asker`: the server itself where anybody may ask, else who is signed in. */
export async function ticketOf(asker: Pick<Served, 'get'>): Promise<string> {
  const answer = await asker.get('/events/ticket')
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({ ticket: expect.stringMatching(/^[\w-]{16,}$/) })
  return (answer.json as { ticket: string }).ticket
}

/** The position that any answer of now reflects at least. */
export async function streamHead(server: Served): Promise<Position> {
  const { status, headers } = await server.get('/devices?limit=1')
  expect(status).toBe(200)
  return { epoch: headers.get('stream-epoch') ?? '', offset: Number(headers.get('stream-offset')) }
}
