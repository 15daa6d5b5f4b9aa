import type { HttpResponse } from 'uWebSockets.js'
import type { Exchange } from '#http/exchange'

/** What is handed over in one go, when how much of it was taken is asked for. */
const pieceBytesMax = 64 * 1024
/**
 * What is handed over in one go as a chunk. With what frames it, it fits into uWebSockets.js's cork of 16 KiB: a larger one goes
 * past the cork behind what frames it, and is lost where the kernel takes no byte of that just then. What is not taken from the
 * cork is kept, and told with the next one.
 */
const chunkBytesMax = 16_000
/**
 * The same while the one before was not taken. The least that the kernel takes before it says that it takes some is more (a
 * third of its smallest buffer), so that what is kept becomes less.
 */
const behindBytesMax = 1_000

/**
 * Hands chunks to a begun answer, each piece when the one before has been taken, or the one before that. With a known length
 * the pieces go out as they are and must add up to it; without one they go out chunked.
 */
export class ChunkOutput {
  readonly #exchange: Exchange
  readonly #lengthBytes: number | undefined
  #sentBytes = 0
  /** Of the last chunk not all was taken. */
  #isBehind = false
  #wake: (() => void) | undefined

  constructor(exchange: Exchange, lengthBytes: number | undefined) {
    this.#exchange = exchange
    this.#lengthBytes = lengthBytes
    exchange.whenGone(() => this.#wakeUp())
  }

  /** Right after the head was written. */
  start(response: HttpResponse): void {
    response.onWritable(() => {
      // What is kept goes out with this: the source may make us wait for the next chunk.
      this.#exchange.write(() => {})
      this.#wakeUp()
      return true
    })
  }

  /** Comes back when the chunk has been taken, or the other side is gone. */
  async send(chunk: Uint8Array): Promise<void> {
    for (let start = 0; start < chunk.byteLength && !this.#exchange.isGone; ) {
      const piece = chunk.subarray(start, start + this.#pieceBytesMax)
      if (this.#lengthBytes === undefined) await this.#sendChunked(piece)
      else await this.#sendCounted(piece, this.#lengthBytes)
      this.#sentBytes += piece.byteLength
      start += piece.byteLength
    }
  }

  /** After the last chunk. Throws when a promised length was not reached. */
  async end(): Promise<void> {
    if (this.#exchange.isGone) return
    if (this.#lengthBytes !== undefined && this.#sentBytes !== this.#lengthBytes) {
      throw new Error(`${this.#sentBytes} bytes were answered, Content-Length said ${this.#lengthBytes}`)
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

  /** What is not taken is not buffered either, so it is offered again. */
  async #sendCounted(piece: Uint8Array, lengthBytes: number): Promise<void> {
    if (this.#sentBytes + piece.byteLength > lengthBytes) {
      throw new Error(`more bytes were answered than Content-Length said (${lengthBytes})`)
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
