import type { HttpResponse } from 'uWebSockets.js'
import type { Exchange } from '#http/exchange'

/** The number of bytes written at once to an answer of known length. */
const pieceBytesMax = 64 * 1024
/**
 * The number of bytes written at once as a chunk. With its framing it fits into uWebSockets.js's cork of 16 KiB. A
 * larger chunk bypasses the cork after its framing was written there, and is lost if the kernel takes no byte of that
 * framing at that moment. Bytes left in the cork are kept, and reported with the next chunk.
 */
const chunkBytesMax = 16_000
/**
 * The same while the last chunk was not fully taken. When the kernel reports that it takes bytes, it takes more than
 * this (a third of its smallest buffer), so the backlog shrinks.
 */
const behindBytesMax = 1_000

/**
 * Writes chunks to an answer that has begun, each when the client has taken the one before, or the one before that.
 * With a known length the bytes are written unframed and must add up to it; without one they are sent chunked.
 */
export class ChunkOutput {
  readonly #exchange: Exchange
  readonly #lengthBytes: number | undefined
  #sentBytes = 0
  /** The last chunk was not fully taken. */
  #isBehind = false
  #wake: (() => void) | undefined

  constructor(exchange: Exchange, lengthBytes: number | undefined) {
    this.#exchange = exchange
    this.#lengthBytes = lengthBytes
    exchange.whenGone(() => this.#wakeUp())
  }

  /** To be called after the head was written. */
  start(response: HttpResponse): void {
    response.onWritable(() => {
      // Flushes buffered bytes: the next chunk of the source may take time.
      this.#exchange.write(() => {})
      this.#wakeUp()
      return true
    })
  }

  /** Resolves when the chunk has been taken, or the client disconnected. */
  async send(chunk: Uint8Array): Promise<void> {
    for (let start = 0; start < chunk.byteLength && !this.#exchange.isGone; ) {
      const piece = chunk.subarray(start, start + this.#pieceBytesMax)
      if (this.#lengthBytes === undefined) await this.#sendChunked(piece)
      else await this.#sendCounted(piece, this.#lengthBytes)
      this.#sentBytes += piece.byteLength
      start += piece.byteLength
    }
  }

  /** To be called after the last chunk. Throws if the promised length was not reached. */
  async end(): Promise<void> {
    if (this.#exchange.isGone) return
    if (this.#lengthBytes !== undefined && this.#sentBytes !== this.#lengthBytes) {
      throw new Error(`${this.#sentBytes} bytes were sent, but Content-Length is ${this.#lengthBytes}`)
    }
    await this.#exchange.readyToClose()
    this.#exchange.write((response) => {
      response.end()
      this.#exchange.finish(this.#sentBytes)
    })
  }

  async #sendChunked(piece: Uint8Array): Promise<void> {
    let isTaken = true
    this.#exchange.write((response) => {
      isTaken = response.write(piece)
    })
    this.#isBehind = !isTaken
    if (!isTaken) await this.#writable()
  }

  /** Bytes that are not taken are not buffered either, so they are offered again. */
  async #sendCounted(piece: Uint8Array, lengthBytes: number): Promise<void> {
    if (this.#sentBytes + piece.byteLength > lengthBytes) {
      throw new Error(`more bytes were sent than the Content-Length of ${lengthBytes}`)
    }
    if (this.#sentBytes + piece.byteLength === lengthBytes) await this.#exchange.readyToClose()
    let isTaken = false
    while (!isTaken && !this.#exchange.isGone) {
      this.#exchange.write((response) => {
        const rest = piece.subarray(response.getWriteOffset() - this.#sentBytes)
        const [isTakenNow, isDone] = response.tryEnd(rest, lengthBytes)
        isTaken = isTakenNow
        if (isDone) this.#exchange.finish(lengthBytes)
      })
      if (!isTaken && !this.#exchange.isGone) await this.#writable()
    }
  }

  get #pieceBytesMax(): number {
    if (this.#lengthBytes !== undefined) return pieceBytesMax
    return this.#isBehind ? behindBytesMax : chunkBytesMax
  }

  #writable(): Promise<void> {
    if (this.#exchange.isGone) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
