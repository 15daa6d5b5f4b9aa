import type { HttpResponse } from 'uWebSockets.js'
import type { BodyPace } from '#http/body-pace'
import type { ReceivedBody } from '#http/body-stream'
import type { Problem } from '#model/problem'

/**
 * Collects a request's body up to a limit, or hands it on as it comes.
 *
 * Obligations: attached before the first `await` (what arrives before is lost); the bytes kept never exceed the limit;
 * above it the chunks kept so far are let go at once and the rest is only counted. A listener is called at most once.
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

  /** `guard` runs what a chunk sets off: a throw out of a chunk handler would end the process. */
  constructor(response: HttpResponse, bytesMax: number, guard: (task: () => void) => void) {
    this.#bytesMax = bytesMax
    response.onData((chunk, isLast) => guard(() => this.#take(chunk, isLast)))
  }

  /** Whether the whole body has arrived, kept or not. */
  get hasLast(): boolean {
    return this.#hasLast
  }

  get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** Before any chunk arrives: another limit than the one it began with. */
  limit(bytesMax: number): void {
    this.#bytesMax = bytesMax
  }

  /** Before any chunk arrives: they are not collected but handed on. `tooLarge`: what is said above the limit. */
  stream(into: ReceivedBody, tooLarge: () => Problem): void {
    this.#stream = into
    this.#tooLarge = tooLarge
  }

  /** From now on it has to come at a pace, if it still comes. */
  watch(pace: BodyPace, monotonicNow: number): void {
    if (this.#hasLast) return
    this.#pace = pace
    pace.start(monotonicNow)
  }

  /** All has come, or nobody waits for it. */
  unwatch(): void {
    this.#pace?.stop()
    this.#pace = undefined
  }

  /** Holds the sender back, who is not waited for then. Undefined: he is gone. */
  hold(response: HttpResponse | undefined): void {
    this.#pace?.stop()
    response?.pause()
  }

  release(response: HttpResponse | undefined, monotonicNow: number): void {
    this.#pace?.start(monotonicNow)
    response?.resume()
  }

  /** Nobody wants the bytes: they are counted against the limit and thrown away. */
  discard(): void {
    this.#isDiscarding = true
    this.#chunks = []
    this.#stream?.drop(false)
  }

  /** The other side went away. What is on its way to somebody who takes it still gets there. */
  cut(): void {
    this.unwatch()
    if (this.#stream) this.#stream.drop(true)
    else this.discard()
  }

  /** Calls once with the bytes when the body is there, or with undefined when it is larger than the limit. */
  whenSettled(listener: (bytes: Uint8Array | undefined) => void): void {
    const settled = () => listener(this.#state === 'complete' ? this.#bytes() : undefined)
    if (this.#state === 'reading') this.#settled = settled
    else settled()
  }

  /** Calls once when the rest of the body has been thrown away, or `bytesMax` more of it. */
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
    else this.#pace?.came(chunk.byteLength)
    if (this.#state === 'reading' && this.#receivedBytes > this.#bytesMax) {
      if (this.#stream) this.#stream.finish(this.#tooLarge?.())
      else this.discard()
      this.#settle('over')
    } else if (this.#state === 'reading' && this.#stream) {
      this.#stream.add(chunk)
      if (isLast) this.#stream.finish()
      if (isLast) this.#settle('complete')
    } else if (this.#state === 'reading') {
      // Copied: the chunk is emptied when this returns.
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

  #bytes(): Uint8Array {
    const [only] = this.#chunks
    const bytes = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks)
    this.#chunks = []
    return bytes
  }
}
