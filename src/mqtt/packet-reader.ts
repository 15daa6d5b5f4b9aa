import { PacketFraming, type TakePacket } from '#mqtt/framing'
import { PacketFault, reasons } from '#mqtt/reason-codes'
import type { Transport } from '#mqtt/transport'

/** Bytes that a client may send while nothing is read: websockets cannot be paused. */
const backlogBytesMax = 1024 * 1024

/** Cuts the bytes of a connection into packets, and keeps them while reading is paused. */
export class PacketReader {
  readonly framing: PacketFraming
  readonly #transport: Transport
  readonly #take: TakePacket
  #backlog: Uint8Array[] = []
  #backlogBytes = 0
  #isPaused = false

  /** `take` is not called while reading is paused. */
  constructor(transport: Transport, bytesMax: number, take: (first: number, body: Uint8Array) => void) {
    this.framing = new PacketFraming(bytesMax)
    this.#transport = transport
    this.#take = (first, body) => {
      take(first, body)
      return !this.#isPaused
    }
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** @throws PacketFault, and what `take` throws */
  received(chunk: Uint8Array): void {
    const rest = this.#isPaused ? chunk : this.framing.add(chunk, this.#take)
    // A copy: the bytes are valid only now.
    if (rest && rest.length > 0) this.#keep(Uint8Array.from(rest), false)
  }

  pause(): void {
    this.#isPaused = true
    this.#transport.pause()
  }

  /** Takes the packets that arrived meanwhile. @throws PacketFault, and what `take` throws */
  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused) {
      const chunk = this.#backlog.shift()
      if (!chunk) break
      this.#backlogBytes -= chunk.length
      const rest = this.framing.add(chunk, this.#take)
      if (rest && rest.length > 0) this.#keep(rest, true)
    }
    if (!this.#isPaused) this.#transport.resume()
  }

  /** Takes nothing any more. */
  close(): void {
    this.#isPaused = true
    this.#backlog = []
  }

  #keep(bytes: Uint8Array, isFirst: boolean): void {
    this.#backlogBytes += bytes.length
    if (this.#backlogBytes > backlogBytesMax) {
      throw new PacketFault(reasons.receiveMaximumExceeded, 'more was sent than is read')
    }
    if (isFirst) this.#backlog.unshift(bytes)
    else this.#backlog.push(bytes)
  }
}
