import { EventSocket } from '#client/event-socket'
import type { ObservableValue } from '#client/observable'
import type { Socket } from '#client/options'
import type { Platform } from '#client/platform'
import { ConnectionLost, Problem, pauseAfter } from '#client/problem'
import { requestOf } from '#client/requests'
import type { Connection, Position } from '#client/state'
import type { RawAnswer, Request } from '#client/transport'
import type { StreamEvent } from '#model/event'

/** What a stream needs of the client. */
export interface StreamDoor {
  readonly platform: Platform
  /** By the server's clock, which is what is told. */
  now(): number
  read(request: Request): Promise<RawAnswer>
  /** A socket to there. */
  open(path: string): Socket
  /** Whether the session goes on after all. */
  renew(): Promise<boolean>
  rightsChanged(): void
}

/** Whom it tells. */
export interface StreamListener {
  heard(event: StreamEvent): void
  /** Something was missed, or nothing is known yet: all is to be read anew, as of this offset or later. */
  startOver(offset: number): void
  /** Resolves with an offset, when all that was read is folded in: what was heard up to there makes it whole. */
  caughtUp(signal: AbortSignal): Promise<number>
  /** It is over. */
  ended(problem: Error): void
}

/** How a connection came to its end. */
type Ending = { readonly code: number } | { readonly problem: Error }

/** How often a position is asked for that is behind what was read. */
const headPauseMs = 50

/** Servers that restart are given time, and what waits for them is spread. */
const leastAttemptOf: Readonly<Record<number, number>> = { 1012: 3, 1013: 3, 4400: 5, 4403: 5 }

/**
 * The event stream over as many sockets as it takes, each going on where the last one ended. Contract 4.
 *
 * 1012 and what breaks: again, with back-off and jitter. 4401: again once the session is renewed, else the end. 4403: all is
 * read anew, for somebody's rights have changed. RESYNC, and a STREAM that was not recovered: the same over the socket that
 * is there.
 */
export class EventStream {
  readonly #door: StreamDoor
  readonly #listener: StreamListener
  readonly #connection: ObservableValue<Connection>
  readonly #query: Readonly<Record<string, string>>
  #running = new AbortController()
  #position: Position | undefined
  #wasConnected = false
  /** In a row; 0 while it is live. */
  #attempt = 0
  #socket: EventSocket | undefined
  /** Aborted when that socket closes. */
  #closed = AbortSignal.abort()
  /** The last sign of life. */
  #heardAt = 0
  /** Only the last one says that it is live. */
  #catchUps = 0
  /** What is true while connected, whether or not it is stale. */
  #standing: Connection
  #wake: (() => void) | undefined

  constructor(
    door: StreamDoor,
    listener: StreamListener,
    connection: ObservableValue<Connection>,
    query: Readonly<Record<string, string>>,
  ) {
    this.#door = door
    this.#listener = listener
    this.#connection = connection
    this.#standing = connection.value
    this.#query = query
  }

  /** Everything up to there was heard. */
  get position(): Position | undefined {
    return this.#position
  }

  start(): void {
    this.stop()
    this.#running = new AbortController()
    this.#position = undefined
    this.#wasConnected = false
    this.#attempt = 0
    void this.#run(this.#running.signal)
  }

  stop(): void {
    this.#running.abort()
    this.#socket?.close()
  }

  /** More is to be read than was: it is not live before that is. */
  look(): void {
    if (!this.#closed.aborted && this.#standing.state === 'live') void this.#catchUp()
  }

  /** Not everything can be read so far. */
  stumbled(problem: Error): void {
    if (!this.#closed.aborted && this.#standing.state === 'catching up') this.#stand('catching up', problem)
  }

  /** There is a network again: not to wait any longer. */
  hurry(): void {
    this.#wake?.()
  }

  async #run(running: AbortSignal): Promise<void> {
    const { platform } = this.#door
    while (!running.aborted) {
      this.#attempt++
      this.#tell({ attempt: this.#attempt })
      const ending = await this.#connect(running).catch((problem: Error) => ({ problem }))
      if (running.aborted) return
      const problem = await this.#judge(ending, running)
      if (running.aborted) return
      if (!problem) continue
      const waitMs = pauseAfter(problem, Math.max(this.#attempt, leastAttempt(ending)), platform.random)
      this.#tell({ attempt: this.#attempt + 1, nextAttemptAt: this.#door.now() + waitMs, problem })
      await this.#pause(waitMs, running)
    }
  }

  /** What the next attempt is to wait for; undefined: nothing. */
  async #judge(ending: Ending, running: AbortSignal): Promise<Error | undefined> {
    if ('code' in ending && ending.code === 4401) {
      try {
        // Once: a session that is renewed and refused again is not waited for in a hurry.
        if (await this.#door.renew()) return this.#attempt <= 1 ? undefined : new ConnectionLost('the session ended')
      } catch (error) {
        return error as Error
      }
      // Whoever signed in meanwhile has begun anew.
      if (!running.aborted) this.#end(new Problem(401, { error: 'session over' }))
      return undefined
    }
    if ('problem' in ending) {
      const { problem } = ending
      if (problem instanceof Problem && problem.status === 401) this.#end(problem)
      return problem
    }
    if (ending.code === 4403) {
      // What may be read still is read also while no socket is to be had; and once more when there is one.
      this.#listener.startOver(0)
      this.#position = undefined
      this.#door.rightsChanged()
      return new Problem(403, undefined)
    }
    return new ConnectionLost(`the connection ended (${ending.code})`)
  }

  #end(problem: Error): void {
    this.stop()
    this.#listener.ended(problem)
  }

  async #pause(waitMs: number, running: AbortSignal): Promise<void> {
    const waited = new AbortController()
    const wake = () => waited.abort()
    running.addEventListener('abort', wake)
    this.#wake = wake
    await this.#door.platform.sleep(waitMs, waited.signal)
    running.removeEventListener('abort', wake)
    this.#wake = undefined
  }

  /** One connection from its beginning to its end. */
  async #connect(running: AbortSignal): Promise<Ending> {
    const { platform } = this.#door
    const request = requestOf('GET /events/ticket', { signal: running })
    const { status, headers, body } = await this.#door.read({ ...request, silenceMs: 15_000 })
    if (status !== 200) throw new Problem(status, body, headers)
    running.throwIfAborted()
    const from = this.#position
    const place = from ? { epoch: from.epoch, offset: String(from.offset) } : { offset: 'now' }
    const query = new URLSearchParams({ ...this.#query, ...place })
    const path = `/events/${(body as { readonly ticket: string }).ticket}?${query}`
    return new Promise((resolve) => {
      const closed = new AbortController()
      this.#closed = closed.signal
      const socket = new EventSocket(platform, this.#door.open(path), {
        began: (position, isRecovered) => this.#began(position, isRecovered && from !== undefined),
        resync: (position) => this.#resync(position),
        positioned: (position) => this.#positioned(position),
        heard: (event) => this.#heard(event),
        stale: (isStale) => this.#staled(isStale),
        closed: (code) => {
          closed.abort()
          this.#heardAt = this.#door.now() - socket.silentMs
          if (this.#socket === socket) this.#socket = undefined
          resolve({ code })
        },
      })
      this.#socket = socket
    })
  }

  #began(position: Position, isRecovered: boolean): void {
    this.#wasConnected = true
    if (isRecovered) this.#position = { epoch: position.epoch, offset: this.#position?.offset ?? position.offset }
    else this.#startOver(position)
    void this.#catchUp()
  }

  #resync(position: Position): void {
    this.#door.rightsChanged()
    this.#startOver(position)
    void this.#catchUp()
  }

  #startOver(position: Position): void {
    this.#position = position
    this.#listener.startOver(position.offset)
  }

  #positioned({ epoch, offset }: Position): void {
    this.#position = { epoch, offset: Math.max(offset, this.#position?.offset ?? 0) }
  }

  #heard(event: StreamEvent): void {
    const before = this.#position
    if (!before || event.offset <= before.offset) return
    this.#position = { epoch: before.epoch, offset: event.offset }
    this.#listener.heard(event)
  }

  /** Live is what was read to its end and heard up to what the server had. */
  async #catchUp(): Promise<void> {
    const { platform } = this.#door
    const closed = this.#closed
    const turn = ++this.#catchUps
    this.#stand('catching up')
    const whole = await this.#listener.caughtUp(closed)
    while (!closed.aborted && (this.#position?.offset ?? -1) < whole) {
      this.#socket?.ping()
      await platform.sleep(headPauseMs, closed)
    }
    if (closed.aborted || turn !== this.#catchUps) return
    this.#attempt = 0
    this.#stand('live')
  }

  /** Stale goes before it. */
  #stand(state: 'catching up' | 'live', problem?: Error): void {
    const { since } = state === this.#standing.state ? this.#standing : { since: this.#door.now() }
    this.#standing = { state, since, ...(problem && { problem }) }
    if (this.#connection.value.state !== 'stale') this.#connection.set(this.#standing)
  }

  #staled(isStale: boolean): void {
    const silentMs = this.#socket?.silentMs ?? 0
    this.#connection.set(isStale ? { state: 'stale', since: this.#door.now() - silentMs } : this.#standing)
  }

  /** Not connected, for whatever reason. */
  #tell(more: Omit<Connection, 'state' | 'since'>): void {
    const before = this.#connection.value
    const state = this.#wasConnected ? 'reconnecting' : 'connecting'
    const since = before.state === state ? before.since : this.#wasConnected ? this.#heardAt : this.#door.now()
    this.#standing = { state, since, ...more }
    this.#connection.set(this.#standing)
  }
}

function leastAttempt(ending: Ending): number {
  return 'code' in ending ? (leastAttemptOf[ending.code] ?? 1) : 1
}
