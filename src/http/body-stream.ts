import type { BodyStream } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'

/** Above this much that nobody has taken the sender is held back, below the other he goes on. */
const unreadBytesMax = 1024 * 1024
const unreadBytesLow = 256 * 1024
/**
 * Of all bodies together. uWebSockets.js goes on reading from a socket that it holds back as long as each read fills its
 * buffer of 512 KiB: who sends faster than that is copied would fill the memory. Above it he is refused.
 */
export const allUnreadBytesMax = 128 * 1024 * 1024
/** Smaller pieces are put together: a sender who chops his bytes must not make each cost an object. */
const gatheredBytes = 16 * 1024

/**
 * Rooms that were taken are used again. A copy of its own for each piece is garbage that V8 does not see for long: a
 * gigabyte in chunks made the process hold 340 MiB.
 */
const spareBytesMax = 2 * unreadBytesMax

const tooFast = 'it comes faster than it can be stored'

/** A body's sender went away, or its request was answered, before all of it was taken. Nobody is left to tell. */
export class Gone extends Error {
  constructor() {
    super('nobody waits for this request any more')
    this.name = 'Gone'
  }
}

/** What waits to be taken of all bodies of a server. */
export interface Unread {
  bytes: number
}

/** What a stream needs of its request. */
export interface StreamSource {
  readonly lengthBytes: number | undefined
  readonly allUnread: Unread
  /** The sender is to wait, or to go on. */
  hold(): void
  release(): void
  /** A piece came, or was taken. */
  moved(): void
  stillPermitted(): Caller
}

/**
 * What has come of a body and was not taken yet.
 *
 * Obligations: pieces are handed out in order, each once, and before whatever ended them; a piece is lent until the next
 * one is asked for; hardly more than `unreadBytesMax`, and what the parser holds already, waits in here; `hold` and
 * `release` take turns.
 */
export class ReceivedBody implements BodyStream {
  readonly #source: StreamSource
  #pieces: Uint8Array[] = []
  #lent: Uint8Array | undefined
  readonly #spares: Uint8Array[] = []
  #spareBytes = 0
  /** The last of the pieces while it still has room, and how much of it is filled. */
  #gathering: Uint8Array | undefined
  #gatheredBytes = 0
  #unreadBytes = 0
  /** Among those of all. */
  #isCounted = true
  #isHeld = false
  /** How it ended; undefined while more may come. */
  #end: 'whole' | Problem | Gone | undefined
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

  /** What waits to be taken. */
  get unreadBytes(): number {
    return this.#unreadBytes
  }

  /** A chunk came; it is copied, for it is emptied when the parser's call returns. */
  add(chunk: ArrayBuffer): void {
    if (this.#end !== undefined || chunk.byteLength === 0) return
    this.#source.moved()
    this.#count(chunk.byteLength)
    if (chunk.byteLength >= gatheredBytes) {
      this.#closeGathering()
      const room = this.#room(chunk.byteLength).subarray(0, chunk.byteLength)
      room.set(new Uint8Array(chunk))
      this.#pieces.push(room)
    } else this.#gather(new Uint8Array(chunk))
    if (this.#isHeld && this.#source.allUnread.bytes > allUnreadBytesMax)
      this.finish(new Problem('overloaded', tooFast))
    else if (this.#unreadBytes > unreadBytesMax) this.#hold()
    this.#tell()
  }

  /** All has come, or it has become too large. */
  finish(problem?: Problem): void {
    if (this.#end !== undefined) return
    this.#end = problem ?? 'whole'
    // The last byte is here: the connection has other things to bring.
    this.#release()
    this.#tell()
  }

  /** Nothing more comes. `isKept`: what came can still be taken, and is the whole if all of it came. */
  drop(isKept: boolean): void {
    // Perhaps nobody takes what is kept; nothing is added to it.
    this.#countForAll(-this.#unreadBytes)
    this.#isCounted = false
    if (!isKept) this.#clear()
    if (this.#end === undefined || !isKept) this.#end = new Gone()
    this.#release()
    this.#tell()
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
    this.#takeBack()
    const piece = this.#pieces.shift()
    if (!piece) return undefined
    this.#lent = piece
    const isGathering = piece === this.#gathering
    const bytes = isGathering ? piece.subarray(0, this.#gatheredBytes) : piece
    if (isGathering) this.#gathering = undefined
    this.#count(-bytes.byteLength)
    if (this.#unreadBytes < unreadBytesLow) this.#release()
    this.#source.moved()
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
      this.#gathering = this.#room(gatheredBytes).subarray(0, gatheredBytes)
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

  #takeBack(): void {
    const room = this.#lent && new Uint8Array(this.#lent.buffer)
    this.#lent = undefined
    if (!room || this.#spareBytes + room.byteLength > spareBytesMax) return
    this.#spares.push(room)
    this.#spareBytes += room.byteLength
  }

  /** At least so large; what it held is of no matter. */
  #room(bytes: number): Uint8Array {
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

  #tell(): void {
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
