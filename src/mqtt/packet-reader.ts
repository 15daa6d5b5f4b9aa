import { PacketFraming, type TakePacket } from '#mqtt/framing'
import type { PacketTurns } from '#mqtt/packet-turns'
import { PacketFault, reasons } from '#mqtt/reason-codes'
import type { Transport } from '#mqtt/transport'

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
  #isPaused = false
  #isWaiting = false

  constructor(parts: PacketReaderParts) {
    this.#parts = parts
    this.framing = new PacketFraming(parts.bytesMax)
    this.#take = (first, body) => {
      parts.take(first, body)
      return !this.#isPaused && !parts.turns.isOver
    }
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Whether packets wait for their turn. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** @throws PacketFault, and what `take` throws */
  received(chunk: Uint8Array): void {
    const mustWait = this.#isPaused || this.#isWaiting || this.#parts.turns.isOver
    const rest = mustWait ? chunk : this.framing.add(chunk, this.#take)
    if (!rest || rest.length === 0) return
    // Copied, because the bytes are valid only during this call.
    this.#keep(Uint8Array.from(rest), false)
    this.#wait()
  }

  pause(): void {
    this.#isPaused = true
    this.#parts.transport.pause()
  }

  /** Continues to read, first the bytes that arrived during the pause. @throws PacketFault, and what `take` throws */
  resume(): void {
    this.#isPaused = false
    if (!this.#isWaiting) this.takeBacklog()
  }

  takeWaiting(): void {
    this.#isWaiting = false
    this.#parts.turn()
  }

  /** @throws PacketFault, and what `take` throws */
  takeBacklog(): void {
    while (!this.#isPaused && this.#backlog.length > 0) {
      if (this.#parts.turns.isOver) {
        this.#wait()
        return
      }
      const chunk = this.#backlog.shift() as Uint8Array
      this.#backlogBytes -= chunk.length + partOverheadBytes
      const rest = this.framing.add(chunk, this.#take)
      if (rest && rest.length > 0) this.#keep(rest, true)
    }
    if (!this.#isPaused) this.#parts.transport.resume()
  }

  /** No packet is taken any more. */
  close(): void {
    this.#isPaused = true
    this.#backlog = []
  }

  #wait(): void {
    if (this.#isPaused || this.#isWaiting) return
    this.#isWaiting = true
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
