import { EventSocket, type StreamMessage } from '#client/event-socket'
import type { ObservableValue } from '#client/observable'
import type { Socket } from '#client/options'
import { following, type Platform } from '#client/platform'
import { ConnectionLost, Problem, pauseMsAfter } from '#client/problem'
import { requestOf } from '#client/requests'
import type { Answer } from '#client/routes'
import type { Connection, Position } from '#client/state'
import { type Exchange, problemOf } from '#client/transport'
import type { StreamEvent } from '#model/event'

/** The functions of the client that a stream uses. */
export interface ClientContext {
  readonly platform: Platform
  /** By the server's clock. */
  now(): number
  readonly read: Exchange
  /** Opens a socket to this path. */
  open(path: string): Socket
  /** Renews the session. Returns whether the stream can continue. */
  renew(): Promise<boolean>
  rightsChanged(): void
}

/** What a stream needs: the client, and the state that receives its events. */
interface StreamContext extends ClientContext {
  readonly connection: ObservableValue<Connection>
  /** The query of the websocket upgrade, contract 4.2. */
  readonly query: Readonly<Record<string, string>>
  received(event: StreamEvent): void
  /**
   * Reads everything again, as of this offset or later. Called when events were missed, when permissions have changed,
   * and before the first read.
   */
  startOver(offset: number): void
  /**
   * Resolves with an offset when all lists are read. The state is complete once the events up to this offset are
   * received.
   */
  whenCaughtUp(signal: AbortSignal): Promise<number>
  /** The stream has ended and does not reconnect. */
  ended(problem: Error): void
}

/** How a connection ended. */
type ConnectionEnd = { readonly code: number } | { readonly problem: Error }

/** Interval between pings while the position is behind the lists that were read. */
const headPauseMs = 50

/**
 * After these close codes, the pause is chosen as after at least this many failed attempts. This gives a restarting
 * server time, and spreads the clients that wait.
 */
const attemptMinByCode: Readonly<Record<number, number>> = { 1012: 3, 1013: 3, 4400: 5, 4403: 5 }

/**
 * The event stream over successive sockets. Each socket continues where the last socket ended. Contract 4. Reconnects
 * with back-off and jitter when a socket closes. 4401: renews the session and reconnects, or ends if the session is
 * over. 4403: reads everything again, because the permissions have changed. RESYNC, and a STREAM that was not
 * recovered: reads everything again over the same socket.
 */
export class EventStream {
  readonly #context: StreamContext
  #running = new AbortController()
  /** All events up to this position were received. */
  position: Position | undefined
  #wasConnected = false
  /** Attempts in a row; 0 while live. */
  #attempt = 0
  #socket: EventSocket | undefined
  /** Aborted when the current socket closes. */
  #closed = AbortSignal.abort()
  /** Time of the last message. */
  #lastMessageAt = 0
  /** The number of catch-ups. Only the latest catch-up may report `live`. */
  #catchUps = 0
  /** The state of the connection, apart from `stale`. */
  #connected: Connection
  #wake: (() => void) | undefined

  constructor(context: StreamContext) {
    this.#context = context
    this.#connected = context.connection.value
  }

  start(): void {
    this.stop()
    this.#running = new AbortController()
    this.position = undefined
    this.#wasConnected = false
    this.#attempt = 0
    void this.#run(this.#running.signal)
  }

  stop(): void {
    this.#running.abort()
    this.#socket?.close()
  }

  /** Another list is being read: the stream is not live until that list is complete. */
  listAdded(): void {
    if (!this.#closed.aborted && this.#connected.state === 'live') void this.#catchUp()
  }

  /** A list cannot be read at present. */
  readFailed(problem: Error): void {
    if (!this.#closed.aborted && this.#connected.state === 'catching up') this.#publishConnected('catching up', problem)
  }

  /** The network is back: reconnect now. */
  reconnectNow(): void {
    this.#wake?.()
  }

  async #run(running: AbortSignal): Promise<void> {
    const { platform } = this.#context
    while (!running.aborted) {
      this.#attempt++
      this.#publishDisconnected({ attempt: this.#attempt })
      const end = await this.#connect(running).catch((problem: Error) => ({ problem }))
      if (running.aborted) return
      const problem = await this.#reasonToWait(end, running)
      if (running.aborted) return
      if (!problem) continue
      const waitMs = pauseMsAfter(problem, Math.max(this.#attempt, attemptMin(end)), platform.random)
      this.#publishDisconnected({ attempt: this.#attempt + 1, nextAttemptAt: this.#context.now() + waitMs, problem })
      await this.#pause(waitMs, running)
    }
  }

  /** The reason to wait before the next attempt; undefined: no wait. */
  async #reasonToWait(end: ConnectionEnd, running: AbortSignal): Promise<Error | undefined> {
    if ('code' in end && end.code === 4401) {
      try {
        // Only the first attempt has no pause, because the server may refuse the renewed session again.
        if (await this.#context.renew()) return this.#attempt <= 1 ? undefined : new ConnectionLost('the session ended')
      } catch (error) {
        return error as Error
      }
      // After another sign-in the stream has already been restarted.
      if (!running.aborted) this.#end(new Problem(401, { error: 'session over' }))
      return undefined
    }
    if ('problem' in end) {
      const { problem } = end
      if (problem instanceof Problem && problem.status === 401) this.#end(problem)
      return problem
    }
    if (end.code === 4403) {
      // The lists are read now, even if no socket can connect, and once more after the reconnect.
      this.#context.startOver(0)
      this.position = undefined
      this.#context.rightsChanged()
      return new Problem(403, undefined)
    }
    return new ConnectionLost(`the connection ended (${end.code})`)
  }

  #end(problem: Error): void {
    this.stop()
    this.#context.ended(problem)
  }

  async #pause(waitMs: number, running: AbortSignal): Promise<void> {
    const { signal, abort, unfollow } = following(running)
    this.#wake = abort
    await this.#context.platform.sleep(waitMs, signal)
    unfollow()
    this.#wake = undefined
  }

  /** One connection from its opening to its end. */
  async #connect(running: AbortSignal): Promise<ConnectionEnd> {
    const { platform } = this.#context
    const answer = await this.#context.read(requestOf('GET /events/ticket', { signal: running, silenceMs: 15_000 }))
    if (answer.status !== 200) throw problemOf(answer)
    running.throwIfAborted()
    const from = this.position
    const place = from ? { epoch: from.epoch, offset: String(from.offset) } : { offset: 'now' }
    const query = new URLSearchParams({ ...this.#context.query, ...place })
    const path = `/events/${(answer.body as Answer<'GET /events/ticket'>).ticket}?${query}`
    return new Promise((resolve) => {
      const closed = new AbortController()
      this.#closed = closed.signal
      const socket = new EventSocket(platform, this.#context.open(path), {
        received: (message) => this.#received(message, from !== undefined),
        stale: (isStale) => this.#setStale(isStale),
        closed: (code) => {
          closed.abort()
          this.#lastMessageAt = this.#context.now() - socket.silentMs
          if (this.#socket === socket) this.#socket = undefined
          resolve({ code })
        },
      })
      this.#socket = socket
    })
  }

  /** @param isResumed whether the socket was opened with a position */
  #received(message: StreamMessage, isResumed: boolean): void {
    const { type, epoch, offset } = message
    const reached = this.position?.offset
    if (type === 'STREAM' || type === 'RESYNC') {
      this.#wasConnected = true
      if (type === 'RESYNC') this.#context.rightsChanged()
      if (type === 'STREAM' && message.recovered && isResumed) this.position = { epoch, offset: reached ?? offset }
      else {
        // Events were lost, or this is the first connection.
        this.position = { epoch, offset }
        this.#context.startOver(offset)
      }
      void this.#catchUp()
    } else if (type === 'PONG') {
      // All events up to this position were sent.
      this.position = { epoch, offset: Math.max(offset, reached ?? 0) }
    } else if (this.position && offset > this.position.offset) {
      this.position = { epoch: this.position.epoch, offset }
      this.#context.received(message as unknown as StreamEvent)
    }
  }

  /**
   * The stream is live when all lists are read, and all events up to the server's position at that time are received.
   */
  async #catchUp(): Promise<void> {
    const { platform } = this.#context
    const closed = this.#closed
    const turn = ++this.#catchUps
    this.#publishConnected('catching up')
    const completeAt = await this.#context.whenCaughtUp(closed)
    while (!closed.aborted && (this.position?.offset ?? -1) < completeAt) {
      this.#socket?.ping()
      await platform.sleep(headPauseMs, closed)
    }
    if (closed.aborted || turn !== this.#catchUps) return
    this.#attempt = 0
    this.#publishConnected('live')
  }

  /** Publishes a state, which is not visible while the connection is `stale`. */
  #publishConnected(state: 'catching up' | 'live', problem?: Error): void {
    const { since } = state === this.#connected.state ? this.#connected : { since: this.#context.now() }
    this.#connected = { state, since, ...(problem && { problem }) }
    if (this.#context.connection.value.state !== 'stale') this.#context.connection.set(this.#connected)
  }

  #setStale(isStale: boolean): void {
    const silentMs = this.#socket?.silentMs ?? 0
    this.#context.connection.set(isStale ? { state: 'stale', since: this.#context.now() - silentMs } : this.#connected)
  }

  /** Publishes that the stream is not connected. */
  #publishDisconnected(more: Omit<Connection, 'state' | 'since'>): void {
    const before = this.#context.connection.value
    const state = this.#wasConnected ? 'reconnecting' : 'connecting'
    const since = before.state === state ? before.since : this.#wasConnected ? this.#lastMessageAt : this.#context.now()
    this.#connected = { state, since, ...more }
    this.#context.connection.set(this.#connected)
  }
}

function attemptMin(end: ConnectionEnd): number {
  return 'code' in end ? (attemptMinByCode[end.code] ?? 1) : 1
}
