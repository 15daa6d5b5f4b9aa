import type { Socket, SocketEvent } from '#client/options'
import type { Platform } from '#client/platform'
import type { Position } from '#client/state'

/** An event, or one of the other messages of the server, which contain a position. Contract 4.4, 4.5, 4.7 */
export type StreamMessage = Position & { readonly type: string; readonly recovered?: boolean }

/** Receives the messages and the state of one socket. */
export interface EventSocketListener {
  received(message: StreamMessage): void
  /** True when a ping stays unanswered for too long; false at the next message. */
  stale(isStale: boolean): void
  /** Called once. 1006: the connection broke, or never opened. */
  closed(code: number): void
}

const firstMessageTimeoutMs = 10_000
const pingAfterMs = 10_000
/** How long after an unanswered ping a socket is stale. */
const staleAfterMs = 5_000
/** How long after an unanswered ping a socket is closed. */
const deadAfterMs = 20_000
/** How often liveness is checked. Browsers run the timers of hidden pages only once a minute. */
const checkEveryMs = 1_000

/**
 * One socket of the event stream with a liveness check. An idle socket is pinged; a socket that does not answer is
 * reported as stale, and later closed. Silence alone is not a failure, because a hidden page might not have sent its
 * ping yet.
 */
export class EventSocket {
  readonly #platform: Platform
  readonly #socket: Socket
  readonly #listener: EventSocketListener
  readonly #ended = new AbortController()
  #hasBegun = false
  #isStale = false
  #lastMessageAt: number
  /** When the first ping since the last message was sent. */
  #pingedAt = 0

  constructor(platform: Platform, socket: Socket, listener: EventSocketListener) {
    this.#platform = platform
    this.#socket = socket
    this.#listener = listener
    this.#lastMessageAt = platform.now()
    socket.addEventListener('message', (event) => this.#read(event))
    socket.addEventListener('close', (event) => this.#closed(event.code ?? 1006))
    socket.addEventListener('error', () => {})
    void this.#watch()
  }

  /** Time since the last message. */
  get silentMs(): number {
    return this.#platform.now() - this.#lastMessageAt
  }

  /** Requests the current position. */
  ping(): void {
    if (!this.#hasBegun || this.#ended.signal.aborted) return
    if (this.#pingedAt <= this.#lastMessageAt) this.#pingedAt = this.#platform.now()
    try {
      this.#socket.send('{"type":"PING"}')
    } catch {
      // The socket is closing, and reports that itself.
    }
  }

  /** Closes the socket. The listener receives `closed`, and nothing after it. */
  close(code = 1000): void {
    if (this.#ended.signal.aborted) return
    try {
      // A dead connection does not answer a close frame.
      if (code === 1006 && this.#socket.terminate) this.#socket.terminate()
      else this.#socket.close(1000)
    } catch {
      // The socket never opened.
    }
    this.#closed(code)
  }

  #read({ data }: SocketEvent): void {
    if (this.#ended.signal.aborted || typeof data !== 'string') return
    this.#lastMessageAt = this.#platform.now()
    if (this.#isStale) this.#setStale(false)
    const message = parseMessage(data)
    if (!message) {
      // The peer is not our server.
      this.close(1006)
      return
    }
    this.#hasBegun ||= message.type === 'STREAM'
    this.#listener.received(message)
  }

  #closed(code: number): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#listener.closed(code)
  }

  async #watch(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      const { silentMs } = this
      const waitedMs = this.#pingedAt > this.#lastMessageAt ? this.#platform.now() - this.#pingedAt : 0
      if (waitedMs >= deadAfterMs || (!this.#hasBegun && silentMs >= firstMessageTimeoutMs)) return this.close(1006)
      if (waitedMs >= staleAfterMs && !this.#isStale) this.#setStale(true)
      if (silentMs >= pingAfterMs && waitedMs === 0) this.ping()
      await this.#platform.sleep(checkEveryMs, signal)
    }
  }

  #setStale(isStale: boolean): void {
    this.#isStale = isStale
    this.#listener.stale(isStale)
  }
}

/** Undefined for `null`, and for a text that is not JSON. */
function parseMessage(text: string): StreamMessage | undefined {
  try {
    return (JSON.parse(text) as StreamMessage | null) ?? undefined
  } catch {
    return undefined
  }
}
