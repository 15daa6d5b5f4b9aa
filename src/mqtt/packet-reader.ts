import { malformed, PacketFault, reasons } from '#mqtt/reason-codes'
import type { Transport } from '#mqtt/transport'
import type { World } from '#runtime/world'

/** The limit of bytes that arrive while reading is paused. Websockets cannot be paused. */
const backlogBytesMax = 2 * 1024 * 1024
/** The memory of a part of the backlog, besides its bytes. */
const partOverheadBytes = 200

export interface PacketReaderParts {
  readonly transport: Transport
  readonly turns: PacketTurns
  readonly bytesMax: number
  /** Not called while reading is paused. */
  readonly take: (first: number, body: Uint8Array) => void
  /** Calls `takeBacklog`, and handles what it throws. */
  readonly turn: () => void
}

/**
 * Cuts the bytes of a connection into packets. Keeps the bytes while reading is paused or other connections have their
 * turn.
 */
export class PacketReader {
  readonly framing: PacketFraming
  readonly #parts: PacketReaderParts
  readonly #take: TakePacket
  #backlog: Uint8Array[] = []
  #backlogBytes = 0
  isPaused = false
  /** Whether packets wait for their turn. */
  isWaiting = false

  constructor(parts: PacketReaderParts) {
    this.#parts = parts
    this.framing = new PacketFraming(parts.bytesMax)
    this.#take = (first, body) => {
      parts.take(first, body)
      return !this.isPaused && !parts.turns.isOver
    }
  }

  /** @throws PacketFault, and what `take` throws */
  received(chunk: Uint8Array): void {
    const mustWait = this.isPaused || this.isWaiting || this.#parts.turns.isOver
    const rest = mustWait ? chunk : this.framing.add(chunk, this.#take)
    if (!rest || rest.length === 0) return
    // Copied, because the bytes are valid only during this call.
    this.#keep(Uint8Array.from(rest), false)
    this.#wait()
  }

  pause(): void {
    this.isPaused = true
    this.#parts.transport.pause()
  }

  /** Continues to read, first the bytes that arrived during the pause. @throws PacketFault, and what `take` throws */
  resume(): void {
    this.isPaused = false
    if (!this.isWaiting) this.takeBacklog()
  }

  /** Takes packets until the turn is over. If packets are left, this reader gets another turn. */
  takeWaiting(): void {
    this.isWaiting = false
    this.#parts.turn()
  }

  /** @throws PacketFault, and what `take` throws */
  takeBacklog(): void {
    while (!this.isPaused && this.#backlog.length > 0) {
      if (this.#parts.turns.isOver) {
        this.#wait()
        return
      }
      const chunk = this.#backlog.shift() as Uint8Array
      this.#backlogBytes -= chunk.length + partOverheadBytes
      const rest = this.framing.add(chunk, this.#take)
      if (rest && rest.length > 0) this.#keep(rest, true)
    }
    if (!this.isPaused) this.#parts.transport.resume()
  }

  /** No packet is taken any more. */
  close(): void {
    this.isPaused = true
    this.#backlog = []
  }

  #wait(): void {
    if (this.isPaused || this.isWaiting) return
    this.isWaiting = true
    this.#parts.transport.pause()
    this.#parts.turns.add(this)
  }

  #keep(bytes: Uint8Array, isFirst: boolean): void {
    this.#backlogBytes += bytes.length + partOverheadBytes
    if (this.#backlogBytes > backlogBytesMax) {
      throw new PacketFault(reasons.receiveMaximumExceeded, 'the client sends more than the server can read')
    }
    if (isFirst) this.#backlog.unshift(bytes)
    else this.#backlog.push(bytes)
  }
}

/** One byte for type and flags, and up to four bytes for the remaining length. */
const headBytesMax = 5
/**
 * The first size of the buffer for an unfinished packet. The buffer grows with the bytes that arrive, not with the
 * announced length.
 */
const heldBytesMin = 256

/**
 * Takes one packet: its first byte, and the bytes after the remaining length, which are valid during the call only.
 * Returns false to get no further packet for now.
 */
export type TakePacket = (first: number, body: Uint8Array) => boolean

/**
 * Cuts a stream of bytes into MQTT packets. Holds at most one unfinished packet, and never more than `bytesMax` of it.
 * MQTT 5.0 §2.1.
 */
export class PacketFraming {
  /** The largest packet, with its head. */
  bytesMax: number
  #held: Uint8Array | undefined
  /** The number of bytes of the unfinished packet. */
  heldBytes = 0
  /** The length of the head that was read last. */
  #headBytes = 0
  /** The length of the packet with this head, 0 if more bytes are needed to know the length. */
  #packetBytes = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /**
   * Passes on all packets that are complete now. If `take` asks for a break, returns the bytes after the last packet
   * that was taken; otherwise undefined.
   * @throws PacketFault for a remaining length of more than four bytes, or for a packet that is too large
   */
  add(chunk: Uint8Array, take: TakePacket): Uint8Array | undefined {
    let at = 0
    while (at < chunk.length) {
      if (this.#held) {
        at += this.#hold(this.#held, chunk, at)
        if (this.#packetBytes === 0 || this.heldBytes < this.#packetBytes) continue
        const packet = this.#held.subarray(0, this.#packetBytes)
        this.#held = undefined
        this.heldBytes = 0
        if (!take(packet[0] as number, packet.subarray(this.#headBytes))) return chunk.subarray(at)
        continue
      }
      this.#readHead(chunk, at, chunk.length)
      const end = at + this.#packetBytes
      if (this.#packetBytes === 0 || end > chunk.length) {
        this.#held = new Uint8Array(heldBytesMin)
        continue
      }
      const from = at + this.#headBytes
      const first = chunk[at] as number
      at = end
      if (!take(first, chunk.subarray(from, end))) return chunk.subarray(at)
    }
    return undefined
  }

  /** Adds bytes to the unfinished packet, up to its end. Returns the number of bytes added. */
  #hold(held: Uint8Array, chunk: Uint8Array, at: number): number {
    const isHeadKnown = this.heldBytes >= 2 && this.#packetBytes > 0
    const wanted = isHeadKnown ? this.#packetBytes - this.heldBytes : 1
    const count = Math.min(wanted, chunk.length - at)
    let target = held
    if (this.heldBytes + count > held.length) {
      target = new Uint8Array(Math.min(Math.max(2 * held.length, this.heldBytes + count), this.bytesMax))
      target.set(held.subarray(0, this.heldBytes))
      this.#held = target
    }
    target.set(chunk.subarray(at, at + count), this.heldBytes)
    this.heldBytes += count
    if (!isHeadKnown) this.#readHead(target, 0, this.heldBytes)
    return count
  }

  /** Sets `#headBytes` and `#packetBytes` for the packet that begins at `from`. */
  #readHead(bytes: Uint8Array, from: number, end: number): void {
    this.#packetBytes = 0
    let length = 0
    for (let place = 1; place < headBytesMax; place++) {
      if (from + place >= end) return
      const byte = bytes[from + place] as number
      length += (byte & 0x7f) * 128 ** (place - 1)
      if (byte >= 0x80) continue
      this.#headBytes = place + 1
      this.#packetBytes = place + 1 + length
      if (this.#packetBytes > this.bytesMax) {
        throw new PacketFault(
          reasons.packetTooLarge,
          `a packet of ${this.#packetBytes} bytes, ${this.bytesMax} at most`,
        )
      }
      return
    }
    throw malformed('a remaining length of more than four bytes')
  }
}

/** How long packets are processed before other work of the event loop runs. */
const sliceMs = 8
/**
 * A longer turn had an expensive packet. The next turn then waits as long as the expensive turn took, up to
 * `waitMsMax`, so packets use about half of the CPU at most.
 */
const expensiveMs = 2 * sliceMs
/** The longest wait. A pause of the process during a turn must not delay the next turn for long. */
const waitMsMax = 50

/**
 * Shares the time for packets among all connections. Node reads up to 2 MiB of one connection in a cycle of the event
 * loop. In packets of two bytes, or in the most expensive packets, this would be some seconds of work.
 */
export class PacketTurns {
  readonly #world: World
  readonly #waiting = new Set<PacketReader>()
  #isScheduled = false
  /**
   * When the first packet of this cycle of the event loop, or of the running turns, was processed, by
   * `World.monotonic`.
   */
  #startedAt: number | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** Whether packets have to wait for the next turn. */
  get isOver(): boolean {
    const now = this.#world.monotonic()
    if (this.#startedAt === undefined) {
      this.#startedAt = now
      this.#world.soon(() => {
        this.#startedAt = undefined
      })
    }
    return now - this.#startedAt >= sliceMs
  }

  add(reader: PacketReader): void {
    this.#waiting.add(reader)
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#world.soon(() => this.#run())
  }

  /** Processes waiting packets. Connections are served in rotation. */
  #run(): void {
    const startedAt = this.#world.monotonic()
    this.#startedAt = startedAt
    for (const reader of this.#waiting) {
      this.#waiting.delete(reader)
      reader.takeWaiting()
      if (this.#world.monotonic() - startedAt >= sliceMs) break
    }
    this.#startedAt = undefined
    this.#isScheduled = this.#waiting.size > 0
    if (!this.#isScheduled) return
    const spentMs = this.#world.monotonic() - startedAt
    if (spentMs > expensiveMs) this.#world.after(Math.min(spentMs, waitMsMax), () => this.#run())
    else this.#world.soon(() => this.#run())
  }
}
