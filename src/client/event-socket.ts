import type { Socket, SocketEvent } from '#client/options'
import type { Platform } from '#client/platform'
import type { Position } from '#client/state'
import type { StreamEvent } from '#model/event'

/** What one socket says. */
export interface EventSocketListener {
  /** The first message: whether what was asked for follows. Contract 4.4 */
  began(position: Position, isRecovered: boolean): void
  /** All is to be read again. Contract 4.5 */
  resync(position: Position): void
  /** Everything up to there was said. Contract 4.7 */
  positioned(position: Position): void
  heard(event: StreamEvent): void
  /** Nothing was heard for long, or something again. */
  stale(isStale: boolean): void
  /** Once. 1006: it broke, or was never open. */
  closed(code: number): void
}

const beginsWithinMs = 10_000
const pingAfterMs = 10_000
const staleAfterMs = 15_000
const deadAfterMs = 30_000
const lookEveryMs = 1_000

/** One socket of the event stream, watched: what says nothing is asked, then called stale, then given up. */
export class EventSocket {
  readonly #platform: Platform
  readonly #socket: Socket
  readonly #listener: EventSocketListener
  readonly #over = new AbortController()
  #hasBegun = false
  #isStale = false
  #heardAt: number
  #askedAt = 0

  constructor(platform: Platform, socket: Socket, listener: EventSocketListener) {
    this.#platform = platform
    this.#socket = socket
    this.#listener = listener
    this.#heardAt = platform.now()
    socket.addEventListener('message', (event) => this.#received(event))
    socket.addEventListener('close', (event) => this.#closed(event.code ?? 1006))
    socket.addEventListener('error', () => {})
    void this.#watch()
  }

  /** Unix milliseconds. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** Asks for the position. */
  ping(): void {
    if (!this.#hasBegun || this.#over.signal.aborted) return
    this.#askedAt = this.#platform.now()
    try {
      this.#socket.send('{"type":"PING"}')
    } catch {
      // It is closing: that is told by itself.
    }
  }

  /** Not to be heard of again, but for `closed`. */
  close(code = 1000): void {
    if (this.#over.signal.aborted) return
    try {
      // One that is dead does not answer a goodbye.
      if (code === 1006 && this.#socket.terminate) this.#socket.terminate()
      else this.#socket.close(1000)
    } catch {
      // It was never open.
    }
    this.#closed(code)
  }

  #received({ data }: SocketEvent): void {
    if (this.#over.signal.aborted || typeof data !== 'string') return
    this.#heardAt = this.#platform.now()
    if (this.#isStale) this.#say(false)
    const message = JSON.parse(data) as Position & { readonly type: string; readonly recovered?: boolean }
    const { type, epoch, offset } = message
    if (type === 'STREAM') {
      this.#hasBegun = true
      this.#listener.began({ epoch, offset }, message.recovered === true)
    } else if (type === 'RESYNC') this.#listener.resync({ epoch, offset })
    else if (type === 'PONG') this.#listener.positioned({ epoch, offset })
    else if (typeof offset === 'number') this.#listener.heard(message as unknown as StreamEvent)
  }

  #closed(code: number): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#listener.closed(code)
  }

  async #watch(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      const now = this.#platform.now()
      const silentMs = now - this.#heardAt
      if (silentMs >= (this.#hasBegun ? deadAfterMs : beginsWithinMs)) return this.close(1006)
      if (silentMs >= staleAfterMs && !this.#isStale) this.#say(true)
      if (silentMs >= pingAfterMs && this.#askedAt <= this.#heardAt) this.ping()
      await this.#platform.sleep(lookEveryMs, signal)
    }
  }

  #say(isStale: boolean): void {
    this.#isStale = isStale
    this.#listener.stale(isStale)
  }
}
