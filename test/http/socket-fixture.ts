import { type AnyWebsocketRoute, type UpgradeRequest, websocketRoute } from '#http/websocket-route'
import type { Socket, SocketHandler } from '#runtime/socket'
import { type HttpFixtureOptions, openHttp } from '#test/http/http-fixture'

export interface Heard {
  readonly what: 'opened' | 'received' | 'dropped' | 'drained' | 'ponged' | 'closed'
  readonly socket: Socket
  readonly text?: string
  readonly isBinary?: boolean
  readonly code?: number
  readonly opening?: unknown
}

/** A room that remembers what it is told, and does what a test says. */
export class SocketRecorder implements SocketHandler<unknown> {
  readonly heard: Heard[] = []
  /** Called after each thing is remembered. */
  does: (heard: Heard) => void = () => {}

  opened(socket: Socket, opening: unknown): void {
    this.#keep({ what: 'opened', socket, opening })
  }

  received(socket: Socket, data: Uint8Array, isBinary: boolean): void {
    this.#keep({ what: 'received', socket, text: Buffer.from(data).toString(), isBinary })
  }

  dropped(socket: Socket): void {
    this.#keep({ what: 'dropped', socket })
  }

  drained(socket: Socket): void {
    this.#keep({ what: 'drained', socket })
  }

  ponged(socket: Socket): void {
    this.#keep({ what: 'ponged', socket })
  }

  closed(socket: Socket, code: number): void {
    this.#keep({ what: 'closed', socket, code })
  }

  /** The first of this kind. */
  get(what: Heard['what']): Heard | undefined {
    return this.heard.find((heard) => heard.what === what)
  }

  count(what: Heard['what']): number {
    return this.heard.filter((heard) => heard.what === what).length
  }

  #keep(heard: Heard): void {
    this.heard.push(heard)
    this.does(heard)
  }
}

export async function openSocketHttp(route: Partial<AnyWebsocketRoute> = {}, options: HttpFixtureOptions = {}) {
  const room = new SocketRecorder()
  const sockets = [
    websocketRoute({
      path: '/events/:ticket',
      room,
      upgrade: (request: UpgradeRequest) => ({ ...request.parameters }) as unknown,
      maxPayloadBytes: 4096,
      maxBackpressureBytes: 64 * 1024,
      ...route,
    }),
  ]
  return { room, ...(await openHttp({ sockets, ...options })) }
}

/** A websocket's handshake by hand, to behave badly afterwards. */
export function handshake(path: string): string {
  return (
    `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
  )
}
