import { type ClusterNode, nodeKeyHeader } from '#cluster/node'
import {
  closeData,
  closeOf,
  decodeTakenBytes,
  encodeTakenBytes,
  RecordBatches,
  recordKinds,
  recordsIn,
  type TunnelRecord,
  type TunnelRefusal,
  type TunnelRequest,
  takenBytes,
} from '#cluster/tunnel-records'
import { type AnyWebsocketRoute, websocketRoute } from '#http/call'
import { Problem } from '#model/problem'
import { closeCodes } from '#runtime/close-codes'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

/** Where nodes connect to each other, below the base path. */
export const tunnelPath = '/cluster/tunnel'
/**
 * The limit of unsent bytes from one node to another. Above it, the owner closes their connection, and any other node
 * closes the device connections whose messages it cannot send.
 */
export const tunnelBufferBytesMax = 32 * 1024 * 1024
/** Both ends of a tunnel ping, and close it if the other one does not answer. */
export const pingEveryMs = 2_000
export const silenceMsMax = 6_000
/** A batch is sent as soon as it has 16 KiB, and then has at most one whole frame more. */
const batchSpareBytes = 64 * 1024

export interface TunnelHostOptions {
  readonly world: World
  readonly node: ClusterNode
  /** The websocket routes of devices, by path. They answer the messages of devices. */
  readonly routes: ReadonlyMap<string, AnyWebsocketRoute>
  readonly bug: (error: unknown) => void
}

/**
 * The owner's end of the connections from other nodes. Each carries the messages of many devices. To the routes, each
 * device has a socket of its own. Contract 11.
 */
export function tunnelHost(options: TunnelHostOptions): AnyWebsocketRoute {
  const { world, node, routes } = options
  const tunnels = new Map<Socket, HostedTunnel>()
  const handler: SocketHandler<unknown> = {
    opened: (socket) => void tunnels.set(socket, new HostedTunnel(options, socket)),
    received: (socket, data) => tunnels.get(socket)?.received(data),
    // A lost batch must not be followed by later ones.
    dropped: (socket) => world.soon(() => socket.end(closeCodes.tryLater.code, closeCodes.tryLater.reason)),
    // Each device reports by itself what it has read.
    drained() {},
    ponged: (socket) => tunnels.get(socket)?.noteReceived(),
    closed(socket) {
      tunnels.get(socket)?.closed()
      tunnels.delete(socket)
    },
  }
  return websocketRoute({
    path: tunnelPath,
    handler,
    maxPayloadBytes: Math.max(...[...routes.values()].map(({ maxPayloadBytes }) => maxPayloadBytes)) + batchSpareBytes,
    maxBackpressureBytes: tunnelBufferBytesMax,
    upgrade(request) {
      if (!node.isKey(request.header(nodeKeyHeader))) throw new Problem('not_found')
      if (!node.isOwner) throw new Problem('storage')
      return undefined
    },
  })
}

class HostedTunnel {
  readonly #options: TunnelHostOptions
  readonly #socket: Socket
  readonly #batches: RecordBatches
  readonly #devices = new Map<number, HostedSocket>()
  /** Devices whose request is being decided. */
  readonly #opening = new Set<number>()
  #isClosed = false
  /** When the other node last sent something, by `World.monotonic`. */
  #receivedAt: number
  #cancelPing: () => void = () => {}

  constructor(options: TunnelHostOptions, socket: Socket) {
    this.#options = options
    this.#socket = socket
    this.#batches = new RecordBatches(options.world, (batch) => void socket.send(batch))
    this.#receivedAt = options.world.monotonic()
    this.#pingLater()
  }

  noteReceived(): void {
    this.#receivedAt = this.#options.world.monotonic()
  }

  #pingLater(): void {
    const { world } = this.#options
    this.#cancelPing = world.after(pingEveryMs, () => {
      if (world.monotonic() - this.#receivedAt > silenceMsMax) {
        this.#socket.end(closeCodes.dead.code, closeCodes.dead.reason)
        return
      }
      this.#socket.ping()
      this.#pingLater()
    })
  }

  received(batch: Uint8Array): void {
    this.noteReceived()
    for (const record of recordsIn(batch)) {
      if (record.kind === recordKinds.open) void this.#open(record.id, JSON.parse(Buffer.from(record.data).toString()))
      else this.#receive(record)
    }
  }

  #receive({ id, kind, data }: TunnelRecord): void {
    if (kind === recordKinds.closed) this.#opening.delete(id)
    const device = this.#devices.get(id)
    if (!device) return
    this.#attempt(device, () => {
      if (kind === recordKinds.closed) this.release(device, closeOf(data).code)
      else if (kind === recordKinds.pong) device.handler.ponged(device)
      else if (kind === recordKinds.taken) device.taken(decodeTakenBytes(data))
      else device.received(data, kind === recordKinds.binary)
    })
  }

  async #open(id: number, request: TunnelRequest): Promise<void> {
    const { node, routes, bug } = this.#options
    const route = routes.get(request.route)
    // Another node of a rolling upgrade may have routes that this one does not know.
    if (!node.isOwner || !route) {
      this.add(id, recordKinds.refused)
      return
    }
    this.#opening.add(id)
    const headers: [name: string, value: string][] = []
    const { authorization } = request
    try {
      const opening = await route.upgrade({
        ...request,
        method: 'GET',
        header: (name) => (name === 'authorization' ? authorization : ''),
        headerCount: (name) => (name === 'authorization' && authorization !== '' ? 1 : 0),
        addReplyHeader: (name, value) => void headers.push([name, value]),
      })
      if (!this.#opening.delete(id) || this.#isClosed) return
      const device = new HostedSocket(this, id, request.remoteAddress, route.handler)
      this.#devices.set(id, device)
      this.add(id, recordKinds.accepted, JSON.stringify(headers))
      this.#attempt(device, () => route.handler.opened(device, opening))
    } catch (error) {
      if (!this.#opening.delete(id)) return
      if (!(error instanceof Problem)) bug(error)
      const { code, message, headers } = error instanceof Problem ? error : new Problem('bug')
      this.add(id, recordKinds.refused, JSON.stringify({ code, message, headers } satisfies TunnelRefusal))
    }
  }

  /** A bug ends the connection of one device, and none of the others. */
  #attempt(device: HostedSocket, task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#options.bug(error)
      this.#options.world.soon(() => device.end(closeCodes.failed.code, closeCodes.failed.reason))
    }
  }

  /** Returns the number of bytes of the data. */
  add(id: number, kind: number, data?: Uint8Array | string): number {
    return this.#isClosed ? 0 : this.#batches.add(id, kind, data)
  }

  release(device: HostedSocket, code: number): void {
    if (this.#devices.delete(device.id)) device.handler.closed(device, code)
  }

  isOpen(device: HostedSocket): boolean {
    return this.#devices.has(device.id)
  }

  closed(): void {
    this.#isClosed = true
    this.#cancelPing()
    this.#opening.clear()
    for (const device of [...this.#devices.values()]) this.#attempt(device, () => this.release(device, 1006))
  }
}

/** The socket of a device that is connected to another node. */
class HostedSocket implements Socket {
  readonly id: number
  readonly remoteAddress: string
  readonly handler: SocketHandler<unknown>
  /** Bytes sent that, as far as this node knows, the device has not read. */
  #unreadBytes = 0
  /** Bytes from the device that are not reported to the other node as taken yet. */
  #unreportedBytes = 0
  #isPaused = false
  readonly #tunnel: HostedTunnel

  constructor(tunnel: HostedTunnel, id: number, remoteAddress: string, handler: SocketHandler<unknown>) {
    this.#tunnel = tunnel
    this.id = id
    this.remoteAddress = remoteAddress
    this.handler = handler
  }

  send(message: string | Uint8Array): boolean {
    if (!this.#tunnel.isOpen(this)) return false
    const kind = typeof message === 'string' ? recordKinds.text : recordKinds.binary
    this.#unreadBytes += this.#tunnel.add(this.id, kind, message)
    return true
  }

  cork(task: () => void): void {
    task()
  }

  /** May include up to `takenBytes` that the device has read. */
  bufferedBytes(): number {
    return this.#tunnel.isOpen(this) ? this.#unreadBytes : 0
  }

  taken(bytes: number): void {
    this.#unreadBytes -= bytes
    this.handler.drained(this)
  }

  /** Devices get no published messages. */
  subscribe(topic: string): void {
    throw new Error(`a device at another node cannot subscribe to ${topic}`)
  }

  unsubscribe(topic: string): void {
    throw new Error(`a device at another node cannot unsubscribe from ${topic}`)
  }

  ping(): void {
    if (this.#tunnel.isOpen(this)) this.#tunnel.add(this.id, recordKinds.ping)
  }

  setFarewell(message: Uint8Array): void {
    if (this.#tunnel.isOpen(this)) this.#tunnel.add(this.id, recordKinds.farewell, message)
  }

  received(data: Uint8Array, isBinary: boolean): void {
    this.#unreportedBytes += data.byteLength
    this.handler.received(this, data, isBinary)
    this.#report()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#report()
  }

  #report(): void {
    if (this.#isPaused || this.#unreportedBytes < takenBytes || !this.#tunnel.isOpen(this)) return
    this.#tunnel.add(this.id, recordKinds.taken, encodeTakenBytes(this.#unreportedBytes))
    this.#unreportedBytes = 0
  }

  end(code: number, reason: string): void {
    if (!this.#tunnel.isOpen(this)) return
    this.#tunnel.add(this.id, recordKinds.closed, closeData(code, reason))
    this.#tunnel.release(this, code)
  }
}
