import type { HttpResponse } from 'uWebSockets.js'
import type { ReceivedBody } from '#http/body-stream'
import type { PendingRequest, PendingRequests } from '#http/pending-requests'
import { Problem } from '#model/problem'

/**
 * Collects a request's body up to a limit, or passes it on as it arrives.
 *
 * Obligations: create it before the first `await`, or bytes are lost. Without a stream it stores at most `bytesMax`
 * bytes; above the limit it drops all chunks and only counts the rest. A listener is called at most once.
 */
export class BodyReader {
  #chunks: Uint8Array[] = []
  #receivedBytes = 0
  #bytesMax: number
  #state: 'reading' | 'complete' | 'over' = 'reading'
  #isDiscarding = false
  #stream: ReceivedBody | undefined
  #pace: BodyPace | undefined
  #tooLarge: (() => Problem) | undefined
  #hasLast = false
  #settled: (() => void) | undefined
  #drained: (() => void) | undefined
  #drainBytesMax = 0

  /** `guard` runs the code that a chunk triggers: an exception from a chunk handler would end the process. */
  constructor(response: HttpResponse, bytesMax: number, guard: (task: () => void) => void) {
    this.#bytesMax = bytesMax
    response.onData((chunk, isLast) => guard(() => this.#take(chunk, isLast)))
  }

  /** Whether the whole body has arrived, stored or not. */
  get hasLast(): boolean {
    return this.#hasLast
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** Changes the largest size of the body. Call it before any chunk arrives. */
  limit(bytesMax: number): void {
    this.#bytesMax = bytesMax
  }

  /**
   * Passes chunks on instead of collecting them. Call it before any chunk arrives. `tooLarge`: the error for a body
   * that exceeds the largest size.
   */
  stream(into: ReceivedBody, tooLarge: () => Problem): void {
    this.#stream = into
    this.#tooLarge = tooLarge
  }

  /** Requires the rest of the body to arrive at this pace. */
  watch(pace: BodyPace, monotonicNow: number): void {
    if (this.#hasLast) return
    this.#pace = pace
    pace.start(monotonicNow)
  }

  /** Call it when the body is complete or no longer needed. */
  unwatch(): void {
    this.#pace?.stop()
    this.#pace = undefined
  }

  /** Pauses the sender, and the pace check with it. `response` is undefined if the client disconnected. */
  hold(response: HttpResponse | undefined): void {
    this.#pace?.stop()
    response?.pause()
  }

  release(response: HttpResponse | undefined, monotonicNow: number): void {
    this.#pace?.start(monotonicNow)
    response?.resume()
  }

  /** Drops all bytes, also those that arrive later. They still count towards the largest size. */
  discard(): void {
    this.#isDiscarding = true
    this.#chunks = []
    this.#stream?.drop(false)
  }

  /** Call it when the client disconnected. The reader of a streamed body still gets the bytes that arrived. */
  cut(): void {
    this.unwatch()
    if (this.#stream) this.#stream.drop(true)
    else this.discard()
  }

  /**
   * Calls `listener` once: with the bytes when the body is complete, or with undefined when it is too large. Does not
   * call it after `drain`. `isKept`: the bytes can be read again.
   */
  whenSettled(listener: (bytes: Uint8Array | undefined) => void, isKept = false): void {
    const settled = () => listener(this.#state === 'complete' ? this.#bytes(isKept) : undefined)
    if (this.#state === 'reading') this.#settled = settled
    else settled()
  }

  /** Drops the rest of the body. Calls `listener` once when all of it, or `bytesMax` more of it, was dropped. */
  drain(bytesMax: number, listener: () => void): void {
    this.discard()
    this.#settled = undefined
    this.#drainBytesMax = this.#receivedBytes + bytesMax
    this.#drained = listener
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#receivedBytes += chunk.byteLength
    this.#hasLast ||= isLast
    if (isLast) this.unwatch()
    else this.#pace?.received(chunk.byteLength)
    if (this.#state === 'reading' && this.#receivedBytes > this.#bytesMax) {
      if (this.#stream) this.#stream.finish(this.#tooLarge?.())
      else this.discard()
      this.#settle('over')
    } else if (this.#state === 'reading' && this.#stream) {
      this.#stream.add(chunk)
      if (isLast) this.#stream.finish()
      if (isLast) this.#settle('complete')
    } else if (this.#state === 'reading') {
      // A copy: the parser clears the chunk when this returns.
      if (!this.#isDiscarding && chunk.byteLength > 0) this.#chunks.push(new Uint8Array(chunk.slice(0)))
      if (isLast) this.#settle('complete')
    }
    if (this.#drained && (isLast || this.#receivedBytes > this.#drainBytesMax)) {
      const drained = this.#drained
      this.#drained = undefined
      drained()
    }
  }

  #settle(state: 'complete' | 'over'): void {
    this.#state = state
    const settled = this.#settled
    this.#settled = undefined
    settled?.()
  }

  #bytes(isKept: boolean): Uint8Array {
    const [only] = this.#chunks
    const bytes = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks)
    this.#chunks = isKept ? [bytes] : []
    return bytes
  }
}

/**
 * The time for each `stepBytes` of a body, and for the rest after the last full step. The parser also requires 16
 * KiB/s, but closes a connection only after 8 to 12 s.
 */
export const bodyPaceMs = 7_000
const stepBytes = 7 * 16 * 1024

/** The parts of a request that the pace check uses. */
export interface PacedRequest {
  readonly hasBegun: boolean
  fail(error: Problem, isCutting: boolean): void
}

/**
 * Checks the pace of a body. A body that arrives too slowly is answered 408 (RFC 9110 §15.5.9), before the parser
 * closes its connection without an answer.
 */
export class BodyPace implements PendingRequest {
  waitsSince = 0
  readonly #paced: PacedRequest
  readonly #pending: PendingRequests
  #bytes = 0

  constructor(paced: PacedRequest, pending: PendingRequests) {
    this.#paced = paced
    this.#pending = pending
  }

  get hasBegun(): boolean {
    return this.#paced.hasBegun
  }

  /** Starts the time, or starts it again after the server itself paused the sender: the pause does not count. */
  start(monotonicNow: number): void {
    this.waitsSince = monotonicNow
    this.#bytes = 0
    this.#pending.add(this)
  }

  stop(): void {
    this.#pending.remove(this)
  }

  received(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < stepBytes) return
    this.#bytes = 0
    this.#pending.renew(this)
  }

  expire(): void {
    this.#paced.fail(new Problem('too_slow'), true)
  }
}
