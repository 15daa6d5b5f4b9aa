import type { Socket as NetSocket } from 'node:net'
import { runInSlices } from '#runtime/slices'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/**
 * The bytes to and from one client. Two implementations: over TCP or TLS, and over a websocket of the HTTP server.
 * After `close`, or after the client has gone, `send` does nothing.
 */
export interface Transport {
  /** The address of the client, as far as it is known. */
  readonly address: string
  /** `mayWait`: the packet may wait for a short time, to be sent together with later packets. */
  send(packet: Uint8Array, mayWait?: boolean): void
  /** Bytes that the client has not read yet. */
  unsentBytes(): number
  /** Stops reading, if the transport can: packets that still arrive have to be kept. */
  pause(): void
  resume(): void
  /** Sets the last packet to a client at another node. See `Socket.setFarewell`. */
  setFarewell?(packet: Uint8Array): void
  /** Sends everything, then closes. Never calls back before it returns. */
  close(): void
}

/** The time for a client to read what was sent before the connection was closed. */
const lingerMs = 5_000

/** When this many bytes wait, they are sent in the next cycle of the event loop. */
const waitingBytesMax = 16 * 1024
const waitPerWriteTime = 1.5
/** The longest wait. A pause of the process during the writes must not delay the next writes for long. */
const waitMsMax = 100
/** The number of connections to flush between two reads of the clock. */
const flushedAtOnce = 16

/**
 * Sends packets that may wait, for all connections together. A write costs as much as several hundred packets in it. So
 * the next packets wait 1.5 times as long as the last writes took, up to `waitMsMax`. With few connections this wait
 * is negligible.
 */
export class PacketFlush {
  readonly #world: World
  readonly #waiting = new Set<TcpTransport>()
  #isScheduled = false
  /** The earliest time of the next writes, by `World.monotonic`. */
  #dueAt = 0

  constructor(world: World) {
    this.#world = world
  }

  add(transport: TcpTransport): void {
    this.#waiting.add(transport)
    if (!this.#isScheduled) this.#schedule()
  }

  #schedule(): void {
    this.#isScheduled = true
    const waitMs = this.#dueAt - this.#world.monotonic()
    if (waitMs > 1) this.#world.after(waitMs, () => this.#run())
    else this.#run()
  }

  #run(): void {
    let transports: readonly TcpTransport[] | undefined
    let place = 0
    let spentMs = 0
    runInSlices(this.#world, () => {
      if (!transports) {
        transports = [...this.#waiting]
        this.#waiting.clear()
      }
      const startedAt = this.#world.monotonic()
      for (let count = 0; count < flushedAtOnce; count++) transports[place++]?.flush()
      const now = this.#world.monotonic()
      spentMs += now - startedAt
      if (place < transports.length) return true
      this.#isScheduled = false
      this.#dueAt = now + Math.min(waitPerWriteTime * spentMs, waitMsMax)
      if (this.#waiting.size > 0) this.#schedule()
      return false
    })
  }
}

/** A TCP or TLS connection. Packets are collected for at least one cycle of the event loop, and written together. */
export class TcpTransport implements Transport {
  readonly address: string
  readonly #socket: NetSocket
  readonly #world: World
  readonly #packetFlush: PacketFlush
  #packets: Uint8Array[] = []
  /** The length of `#packets` in bytes. */
  #packetBytes = 0
  #isFlushDue = false
  #isClosing = false
  /** Called when the socket can take further bytes. */
  onDrained: () => void = () => {}

  constructor(world: World, socket: NetSocket, packetFlush: PacketFlush) {
    this.#world = world
    this.#socket = socket
    this.#packetFlush = packetFlush
    socket.on('drain', () => this.onDrained())
    this.address = socket.remoteAddress ?? ''
  }

  send(packet: Uint8Array, mayWait = false): void {
    if (this.#isClosing) return
    this.#packets.push(packet)
    this.#packetBytes += packet.length
    if (mayWait && this.#packetBytes < waitingBytesMax) {
      // With more than one packet, a flush is due already.
      if (this.#packets.length === 1) this.#packetFlush.add(this)
    } else if (!this.#isFlushDue) {
      this.#isFlushDue = true
      this.#world.soon(() => this.flush())
    }
  }

  unsentBytes(): number {
    return this.#socket.writableLength + this.#packetBytes
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#world.soon(() => {
      this.flush()
      // Continues to read: unread bytes would turn the end of the connection into a reset, and the client would lose
      // the last packet.
      this.#socket.resume()
      this.#socket.end()
    })
    const cancel = this.#world.after(lingerMs, () => this.#socket.destroy())
    this.#socket.once('close', cancel)
  }

  /** Sends all packets now. */
  flush(): void {
    this.#isFlushDue = false
    const packets = this.#packets
    this.#packets = []
    this.#packetBytes = 0
    if (packets.length === 0 || this.#socket.destroyed) return
    if (this.#socket.write(packets.length === 1 ? (packets[0] as Uint8Array) : joined(packets))) this.onDrained()
  }
}

let lastJoined: { readonly packets: readonly Uint8Array[]; readonly bytes: Uint8Array } | undefined

/** Clients with the same subscriptions get the same packets, one after another: they are copied once. */
function joined(packets: readonly Uint8Array[]): Uint8Array {
  const last = lastJoined
  if (last?.packets.length === packets.length && packets.every((packet, at) => packet === last.packets[at]))
    return last.bytes
  const bytes = Buffer.concat(packets)
  lastJoined = { packets, bytes }
  return bytes
}

/** A websocket: packets are sent in binary frames. MQTT 5.0 §6. */
export class WebsocketTransport implements Transport {
  readonly address: string
  readonly #socket: Socket
  readonly #world: World
  #isClosing = false

  constructor(world: World, socket: Socket, address: string) {
    this.#world = world
    this.#socket = socket
    this.address = address
  }

  send(packet: Uint8Array): void {
    if (!this.#isClosing) this.#socket.send(packet)
  }

  unsentBytes(): number {
    return this.#socket.bufferedBytes()
  }

  /** A websocket of this node cannot be paused. A client of another node can, if it uses TCP there. */
  pause(): void {
    this.#socket.pause?.()
  }

  resume(): void {
    this.#socket.resume?.()
  }

  setFarewell(packet: Uint8Array): void {
    this.#socket.setFarewell?.(packet)
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#world.asInput(() => this.#socket.end(1000, ''))
  }
}
