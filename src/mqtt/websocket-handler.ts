import { type AnyWebsocketRoute, websocketRoute } from '#http/call'
import type { Connection } from '#mqtt/connection'
import type { Connections } from '#mqtt/connections'
import { WebsocketTransport } from '#mqtt/transport'
import type { Socket, SocketHandler } from '#runtime/socket'

interface Opening {
  readonly address: string
}

/** The largest message. A message may hold many packets, or a part of a packet. MQTT-6.0.0-2. */
const messageBytesMax = 512 * 1024
/** Larger than the limit of unread bytes at which a client is disconnected. */
const backpressureBytesMax = 4 * 1024 * 1024

/** MQTT over websockets, at `/mqtt`. MQTT 5.0 §6. */
export function mqttSocket(connections: Connections): AnyWebsocketRoute {
  return websocketRoute<Opening>({
    path: '/mqtt',
    handler: new WebsocketHandler(connections),
    protocols: ['mqtt'],
    maxPayloadBytes: messageBytesMax,
    maxBackpressureBytes: backpressureBytesMax,
    upgrade: ({ forwarded }) => ({ address: forwarded.address }),
  })
}

class WebsocketHandler implements SocketHandler<Opening> {
  readonly #connections: Connections
  readonly #bySocket = new Map<Socket, Connection>()

  constructor(connections: Connections) {
    this.#connections = connections
  }

  opened(socket: Socket, { address }: Opening): void {
    const connection = this.#connections.opened(new WebsocketTransport(this.#connections.world, socket, address))
    if (connection) this.#bySocket.set(socket, connection)
  }

  /** A text frame ends the connection. MQTT-6.0.0-1. */
  received(socket: Socket, data: Uint8Array, isBinary: boolean): void {
    const connection = this.#bySocket.get(socket)
    if (isBinary) connection?.received(data)
    else connection?.notBinary()
  }

  dropped(socket: Socket): void {
    this.#bySocket.get(socket)?.unread()
  }

  drained(socket: Socket): void {
    this.#bySocket.get(socket)?.drained()
  }

  ponged(): void {}

  closed(socket: Socket): void {
    this.#bySocket.get(socket)?.closed()
    this.#bySocket.delete(socket)
  }
}
