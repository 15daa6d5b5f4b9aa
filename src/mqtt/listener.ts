import { createServer, type Socket as NetSocket, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { type AnyWebsocketRoute, websocketRoute } from '#http/call'
import { CannotListen } from '#http/server'
import type { Connection } from '#mqtt/connection'
import { type Connections, connectionsMax } from '#mqtt/connections'
import { PacketFlush, TcpTransport, WebsocketTransport } from '#mqtt/transport'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

export interface ListenerOptions {
  readonly world: World
  /** Called for each connection. Returns undefined to refuse it. */
  readonly opened: (transport: TcpTransport) => OpenedConnection | undefined
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The files of certificate and key. Absent: plain TCP. */
  readonly tls?: TlsFiles | undefined
}

type OpenedConnection = Pick<Connection, 'received' | 'closed'> & Partial<Pick<Connection, 'drained'>>

/** The certificate and its key, as PEM. */
export interface TlsFiles {
  readonly cert: Uint8Array
  readonly key: Uint8Array
}

export interface Listener {
  readonly port: number
  /** Accepts no new connections. Existing connections continue. */
  close(): void
}

/** The connection is closed if the TLS handshake takes longer. */
const handshakeMsMax = 10_000
/** The number of connections that may wait to be accepted, for example when many devices reconnect at once. */
const backlog = 4_096

/** Listens for MQTT over TCP or TLS. Rejects with `CannotListen` if the address is not available. */
export function listen({ world, opened, host, port, tls }: ListenerOptions): Promise<Listener> {
  const packetFlush = new PacketFlush(world)
  const server: Server = tls
    ? createTlsServer({ cert: Buffer.from(tls.cert), key: Buffer.from(tls.key), handshakeTimeout: handshakeMsMax })
    : createServer({ noDelay: true })
  server.on(tls ? 'secureConnection' : 'connection', (socket: NetSocket) =>
    accept(opened, socket, new TcpTransport(world, socket, packetFlush)),
  )
  server.maxConnections = connectionsMax
  // Emitted if a TLS handshake fails.
  server.on('tlsClientError', (_, socket: NetSocket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      const reason = code === 'EACCES' ? 'no permission' : 'in use, or not an address of this machine'
      reject(new CannotListen(`cannot listen on ${host}:${port}: ${reason}`))
    })
    server.listen({ host, port, backlog, exclusive: true }, () => {
      const address = server.address()
      resolve({ port: typeof address === 'object' && address ? address.port : port, close: () => server.close() })
    })
  })
}

function accept(opened: ListenerOptions['opened'], socket: NetSocket, transport: TcpTransport): void {
  socket.on('error', () => socket.destroy())
  const connection = opened(transport)
  if (!connection) return
  transport.onDrained = () => connection.drained?.()
  socket.on('data', (chunk: Buffer) => connection.received(chunk))
  socket.on('close', () => connection.closed())
}

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
