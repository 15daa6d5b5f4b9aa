import type { BodyStream } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'

/** Above this number of unread bytes the sender is paused. It continues below `unreadBytesLow`. */
const unreadBytesMax = 1024 * 1024
const unreadBytesLow = 256 * 1024
/**
 * The limit of unread bytes of all bodies together. uWebSockets.js keeps reading from a paused socket as long as each
 * read fills its buffer of 512 KiB, so a fast sender would fill the memory. Above this limit a paused sender is
 * refused.
 */
export const allUnreadBytesMax = 128 * 1024 * 1024
/** Smaller chunks are joined into pieces of up to this size, so that tiny chunks do not cost an object each. */
const gatheredBytes = 16 * 1024

/**
 * The bytes of buffers that a body keeps for reuse. Without reuse, each piece is garbage that V8 collects late: for a
 * gigabyte in chunks, the process held 340 MiB.
 */
const spareBytesMax = 2 * unreadBytesMax

const tooFast = 'the body arrives faster than it can be stored'

/**
 * Thrown when the client disconnected, or its request was answered, before the whole body was read. There is no client
 * to inform.
 */
export class RequestEnded extends Error {
  constructor() {
    super('the request has ended')
    this.name = 'RequestEnded'
  }
}

/** The unread bytes of all bodies of a server. */
export interface UnreadTotal {
  bytes: number
}

/** The parts of a request that the stream uses. */
export interface StreamSource {
  readonly lengthBytes: number | undefined
  readonly allUnread: UnreadTotal
  /** Pauses the sender. */
  hold(): void
  /** Resumes the sender. */
  release(): void
  /** A piece arrived or was read. */
  progressed(): void
  stillPermitted(): Caller
}

/**
 * The unread part of a body.
 *
 * Obligations: pieces are returned in order, each once, and before the end or the error; a piece is valid until the
 * next piece is requested; the sender is paused above `unreadBytesMax`, and refused when it sends more while all bodies
 * together exceed `allUnreadBytesMax`; `hold` and `release` alternate.
 */
export class ReceivedBody implements BodyStream {
  readonly #source: StreamSource
  #pieces: Uint8Array[] = []
  #lent: Uint8Array | undefined
  readonly #spares: Uint8Array[] = []
  #spareBytes = 0
  /** The last piece, while small chunks are joined in it. */
  #gathering: Uint8Array | undefined
  /** The filled length of `#gathering`. */
  #gatheredBytes = 0
  #unreadBytes = 0
  /** Whether the unread bytes count in the total of all bodies. */
  #isCounted = true
  #isHeld = false
  /** How the body ended; undefined while more may arrive. */
  #end: 'whole' | Problem | RequestEnded | undefined
  #isTaken = false
  #wake: (() => void) | undefined

  constructor(source: StreamSource) {
    this.#source = source
  }

  get lengthBytes(): number | undefined {
    return this.#source.lengthBytes
  }

  stillPermitted(): Caller {
    return this.#source.stillPermitted()
  }

  /** The number of bytes that wait to be read. */
  get unreadBytes(): number {
    return this.#unreadBytes
  }

  /** Adds a chunk. It is copied, because the parser clears it after the call. */
  add(chunk: ArrayBuffer): void {
    if (this.#end !== undefined || chunk.byteLength === 0) return
    this.#source.progressed()
    this.#count(chunk.byteLength)
    if (chunk.byteLength >= gatheredBytes) {
      this.#closeGathering()
      const buffer = this.#bufferOf(chunk.byteLength).subarray(0, chunk.byteLength)
      buffer.set(new Uint8Array(chunk))
      this.#pieces.push(buffer)
    } else this.#gather(new Uint8Array(chunk))
    if (this.#isHeld && this.#source.allUnread.bytes > allUnreadBytesMax)
      this.finish(new Problem('overloaded', tooFast))
    else if (this.#unreadBytes > unreadBytesMax) this.#hold()
    this.#wakeReader()
  }

  /** The body is complete, or the rest of it is refused with the problem. */
  finish(problem?: Problem): void {
    if (this.#end !== undefined) return
    this.#end = problem ?? 'whole'
    // No more bytes are added, so the sender need not wait for the reader.
    this.#release()
    this.#wakeReader()
  }

  /**
   * No more bytes arrive. `isStillReadable`: stored bytes can still be read; they are the whole body if all of it
   * arrived.
   */
  drop(isStillReadable: boolean): void {
    // The stored bytes may never be read, and no bytes are added: this body no longer counts in the total.
    this.#countForAll(-this.#unreadBytes)
    this.#isCounted = false
    if (!isStillReadable) this.#clear()
    if (this.#end === undefined || !isStillReadable) this.#end = new RequestEnded()
    this.#release()
    this.#wakeReader()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    if (this.#isTaken) throw new Error('a body can be taken once')
    this.#isTaken = true
    for (;;) {
      const piece = this.#take()
      if (piece) yield piece
      else if (this.#end === undefined) await new Promise<void>((wake) => (this.#wake = wake))
      else if (this.#end === 'whole') return
      else throw this.#end
    }
  }

  #take(): Uint8Array | undefined {
    this.#reuseLent()
    const piece = this.#pieces.shift()
    if (!piece) return undefined
    this.#lent = piece
    const isGathering = piece === this.#gathering
    const bytes = isGathering ? piece.subarray(0, this.#gatheredBytes) : piece
    if (isGathering) this.#gathering = undefined
    this.#count(-bytes.byteLength)
    if (this.#unreadBytes < unreadBytesLow) this.#release()
    this.#source.progressed()
    return bytes
  }

  #count(bytes: number): void {
    this.#unreadBytes += bytes
    this.#countForAll(bytes)
  }

  #countForAll(bytes: number): void {
    if (this.#isCounted) this.#source.allUnread.bytes += bytes
  }

  #gather(chunk: Uint8Array): void {
    if (this.#gathering && this.#gatheredBytes + chunk.byteLength > gatheredBytes) this.#closeGathering()
    if (!this.#gathering) {
      this.#gathering = this.#bufferOf(gatheredBytes).subarray(0, gatheredBytes)
      this.#gatheredBytes = 0
      this.#pieces.push(this.#gathering)
    }
    this.#gathering.set(chunk, this.#gatheredBytes)
    this.#gatheredBytes += chunk.byteLength
  }

  #closeGathering(): void {
    if (!this.#gathering) return
    this.#pieces[this.#pieces.length - 1] = this.#gathering.subarray(0, this.#gatheredBytes)
    this.#gathering = undefined
  }

  #reuseLent(): void {
    const buffer = this.#lent && new Uint8Array(this.#lent.buffer)
    this.#lent = undefined
    if (!buffer || this.#spareBytes + buffer.byteLength > spareBytesMax) return
    this.#spares.push(buffer)
    this.#spareBytes += buffer.byteLength
  }

  /** A buffer of at least this size; its old content is irrelevant. */
  #bufferOf(bytes: number): Uint8Array {
    const place = this.#spares.findIndex((spare) => spare.byteLength >= bytes)
    const [spare] = place < 0 ? [] : this.#spares.splice(place, 1)
    this.#spareBytes -= spare?.byteLength ?? 0
    return spare ?? new Uint8Array(Math.max(gatheredBytes, 2 ** Math.ceil(Math.log2(bytes))))
  }

  #hold(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#source.hold()
  }

  #release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#source.release()
  }

  #wakeReader(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  #clear(): void {
    this.#pieces = []
    this.#gathering = undefined
    this.#count(-this.#unreadBytes)
  }
}
