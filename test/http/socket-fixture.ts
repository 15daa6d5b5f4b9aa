import { type AnyWebsocketRoute, type UpgradeRequest, websocketRoute } from '#http/call'
import type { Socket, SocketHandler } from '#runtime/socket'
import { type HttpFixtureOptions, openHttp } from '#test/http/http-fixture'

export interface SocketEvent {
  readonly type: 'opened' | 'received' | 'dropped' | 'drained' | 'ponged' | 'closed'
  readonly socket: Socket
  readonly text?: string
  readonly isBinary?: boolean
  readonly code?: number
  readonly opening?: unknown
}

/** A socket handler that records its events and passes each to `onEvent`. */
export class SocketRecorder implements SocketHandler<unknown> {
  readonly events: SocketEvent[] = []
  onEvent: (event: SocketEvent) => void = () => {}

  opened = (socket: Socket, opening: unknown) => this.#record({ type: 'opened', socket, opening })
  received = (socket: Socket, data: Uint8Array, isBinary: boolean) =>
    this.#record({ type: 'received', socket, text: Buffer.from(data).toString(), isBinary })
  dropped = (socket: Socket) => this.#record({ type: 'dropped', socket })
  drained = (socket: Socket) => this.#record({ type: 'drained', socket })
  ponged = (socket: Socket) => this.#record({ type: 'ponged', socket })
  closed = (socket: Socket, code: number) => this.#record({ type: 'closed', socket, code })

  /** The first event of this type. */
  get(type: SocketEvent['type']): SocketEvent | undefined {
    return this.events.find((event) => event.type === type)
  }

  count(type: SocketEvent['type']): number {
    return this.events.filter((event) => event.type === type).length
  }

  #record(event: SocketEvent): void {
    this.events.push(event)
    this.onEvent(event)
  }
}

export type SocketHttp = Awaited<ReturnType<typeof openSocketHttp>>

export async function openSocketHttp(route: Partial<AnyWebsocketRoute> = {}, options: HttpFixtureOptions = {}) {
  const recorder = new SocketRecorder()
  const sockets = [
    websocketRoute({
      path: '/events/:ticket',
      handler: recorder,
      upgrade: (request: UpgradeRequest) => ({ ...request.parameters }) as unknown,
      maxPayloadBytes: 4096,
      maxBackpressureBytes: 64 * 1024,
      ...route,
    }),
  ]
  return { recorder, ...(await openHttp({ sockets, ...options })) }
}

/** The request of a WebSocket handshake, for clients that misbehave afterwards. */
export function handshake(path: string): string {
  return (
    `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
  )
}
