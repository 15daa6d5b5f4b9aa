import type { Socket, SocketEvent } from '#client/options'
import type { Platform } from '#client/platform'
import type { Position } from '#client/state'
import type { StreamEvent } from '#model/event'

/** What of any message is looked at. */
type Message = Position & { readonly type: string; readonly recovered?: boolean }

/** What one socket says. */
export interface EventSocketListener {
  /** The first message: whether what was asked for follows. Contract 4.4 */
  began(position: Position, isRecovered: boolean): void
  /** All is to be read again. Contract 4.5 */
  resync(position: Position): void
  /** Everything up to there was said. Contract 4.7 */
  positioned(position: Position): void
  heard(event: StreamEvent): void
  /** What was asked is not answered for long, or something was heard again. */
  stale(isStale: boolean): void
  /** Once. 1006: it broke, or was never open. */
  closed(code: number): void
}

const beginsWithinMs = 10_000
const pingAfterMs = 10_000
/** Of a ping that is not answered. */
const staleAfterMs = 5_000
const deadAfterMs = 20_000
/** Browsers let a page that is not seen look once a minute. */
const lookEveryMs = 1_000

/**
 * One socket of the event stream, watched: what says nothing is asked, and what does not answer is called stale, then given
 * up. Silence alone says nothing: who looks once a minute has not asked yet.
 */
export class EventSocket {
  readonly #platform: Platform
  readonly #socket: Socket
  readonly #listener: EventSocketListener
  readonly #over = new AbortController()
  #hasBegun = false
  #isStale = false
  #heardAt: number
  /** When the first ping was sent that nothing was heard after. */
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

  /** Since the last sign of life. */
  get silentMs(): number {
    return this.#platform.now() - this.#heardAt
  }

  /** Asks for the position. */
  ping(): void {
    if (!this.#hasBegun || this.#over.signal.aborted) return
    if (this.#askedAt <= this.#heardAt) this.#askedAt = this.#platform.now()
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
    const message = messageIn(data)
    if (!message) {
      // This is not our server.
      this.close(1006)
      return
    }
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
      const { silentMs } = this
      const waitedMs = this.#askedAt > this.#heardAt ? this.#platform.now() - this.#askedAt : 0
      if (waitedMs >= deadAfterMs || (!this.#hasBegun && silentMs >= beginsWithinMs)) return this.close(1006)
      if (waitedMs >= staleAfterMs && !this.#isStale) this.#say(true)
      if (silentMs >= pingAfterMs && waitedMs === 0) this.ping()
      await this.#platform.sleep(lookEveryMs, signal)
    }
  }

  #say(isStale: boolean): void {
    this.#isStale = isStale
    this.#listener.stale(isStale)
  }
}

/** Undefined for what is no message of the event stream. */
function messageIn(text: string): Message | undefined {
  try {
    return (JSON.parse(text) as Message | null) ?? undefined
  } catch {
    return undefined
  }
}
