import WebSocket from 'ws'
import { type DeviceEntry, FoldedState } from '#bench/dashboard/folded-state'
import { authorizationHeader } from '#bench/harness/identity'
import { request } from '#bench/http'
import { sleep } from '#bench/time'

/** A position in the stream of a tenant: everything up to and including `offset` was received. */
export interface StreamPosition {
  readonly epoch: string
  readonly offset: number
}

export type StreamEvent = Readonly<Record<string, unknown>> & { readonly type: string; readonly offset: number }

export interface DashboardOptions {
  readonly url: string
  /** `state` (default): full read, then all later events. `now`: only new events. A position: all events after it. */
  readonly from?: 'state' | 'now' | StreamPosition
  /** Keeps a folded state. Default true. */
  readonly isFolding?: boolean
  /** Filters of the stream: `types`, `devices`, `services` (contract 4.2). */
  readonly query?: Readonly<Record<string, string>>
  readonly onEvent?: (event: StreamEvent) => void
  readonly authorization?: string | undefined
  readonly backoffMsMax?: number
}

const faultsKeptMax = 50
const backoffMsMin = 50

/**
 * A subscriber that checks the server: it reads the full state, updates it by events, and resumes at its position after
 * a disconnect. It records a fault for each of these breaches of contract 4: an offset that does not rise, an event
 * before STREAM, a second STREAM, a message without its fields, and a message that is not JSON text.
 */
export class Dashboard {
  readonly state = new FoldedState()
  /** `notRecovered`: STREAM messages with `recovered: false`. */
  readonly counts = { events: 0, items: 0, notRecovered: 0, resyncs: 0 }
  readonly faults: string[] = []
  faultCount = 0
  /** Whether STREAM was received on this connection. */
  isLive = false
  readonly #options: DashboardOptions
  #position: StreamPosition | undefined
  #socket: WebSocket | undefined
  #isStopped = false
  #attempts = 0
  #retry: NodeJS.Timeout | undefined
  /** Whether the full state was read, or is not needed. */
  #hasState: boolean
  #pongs: (() => void)[] = []

  constructor(options: DashboardOptions) {
    this.#options = options
    if (typeof options.from === 'object') this.#position = options.from
    this.#hasState = options.from !== undefined && options.from !== 'state'
  }

  start(): void {
    void this.#connect()
  }

  /** Breaks the connection without a close frame. The dashboard reconnects by itself. */
  cut(): void {
    this.#socket?.terminate()
  }

  /** Stops reading from the socket, like a browser that hangs. */
  stall(): void {
    // `pause` fails on a socket that was closed before it opened.
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.pause()
  }

  unstall(): void {
    if (this.#socket?.isPaused) this.#socket.resume()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#retry)
    this.#socket?.terminate()
  }

  /** Waits until all events that are in the stream now were received; `false` on a timeout, or after `stop`. */
  async caughtUp(timeoutMs: number): Promise<boolean> {
    const end = performance.now() + timeoutMs
    while (performance.now() < end && !this.#isStopped) {
      const head = await streamHead(this.#options.url, this.#options.authorization).catch(() => undefined)
      while (head && performance.now() < end && this.#socket) {
        if (!this.isLive || !(await this.#ping(Math.min(2_000, end - performance.now())))) break
        if (this.isLive && (this.#position?.offset ?? -1) >= head.offset) return true
      }
      await sleep(20)
    }
    return false
  }

  /** Reads the full state and returns its differences from the folded state. Meaningful while nothing changes. */
  async differences(most?: number): Promise<readonly string[]> {
    return this.state.differences(await readFoldedState(this.#options.url, this.#options.authorization), most)
  }

  async #connect(): Promise<void> {
    if (this.#isStopped) return
    try {
      if (!this.#hasState) this.#position = await this.#read()
      const ticket = await request(`${this.#options.url}/api/v1/events/ticket`, {
        headers: authorizationHeader(this.#options.authorization),
      })
      if (ticket.status !== 200) throw new Error(`ticket: ${ticket.status}`)
      this.#open((JSON.parse(ticket.text) as { ticket: string }).ticket)
    } catch {
      this.#lost()
    }
  }

  #open(ticket: string): void {
    if (this.#isStopped) return
    const place = this.#position
      ? { epoch: this.#position.epoch, offset: String(this.#position.offset) }
      : { offset: 'now' }
    const query = new URLSearchParams({ ...this.#options.query, ...place })
    const base = this.#options.url.replace(/^http/, 'ws')
    const socket = new WebSocket(`${base}/api/v1/events/${ticket}?${query}`, { perMessageDeflate: false })
    this.#socket = socket
    socket.on('message', (data: Buffer, isBinary) => {
      if (socket === this.#socket) this.#received(data, isBinary)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket === this.#socket) this.#lost()
    })
  }

  #received(data: Buffer, isBinary: boolean): void {
    const event = isBinary ? undefined : parseObject(data)
    if (!event) this.#fault(`not JSON text: ${data.toString('latin1', 0, 100)}`)
    else if (event.type === 'STREAM') this.#streaming(event)
    else if (event.type === 'RESYNC') this.#resync(event)
    else if (event.type === 'PONG') this.#ponged(event)
    else this.#event(event)
  }

  /** The first message of a connection: states whether the missed events follow. */
  #streaming(event: Record<string, unknown>): void {
    if (this.isLive) this.#fault('a second STREAM on one connection')
    const position = this.#positionIn(event)
    if (!position) return
    this.#attempts = 0
    this.isLive = true
    if (event.recovered) {
      // The missed events follow: the position stays, under the new epoch.
      this.#position = { epoch: position.epoch, offset: this.#position?.offset ?? position.offset }
      return
    }
    this.counts.notRecovered++
    this.#startOver(position)
  }

  #resync(event: Record<string, unknown>): void {
    const position = this.#positionIn(event)
    if (!position) return
    this.counts.resyncs++
    this.#startOver(position)
  }

  /** Undefined, and a fault, if the message lacks its fields. */
  #positionIn(event: Record<string, unknown>): StreamPosition | undefined {
    const { type, epoch, offset, recovered } = event
    const isWhole = type !== 'STREAM' || typeof recovered === 'boolean'
    if (isWhole && typeof epoch === 'string' && typeof offset === 'number') return { epoch, offset }
    this.#fault(`a ${type} without its fields: ${JSON.stringify(event)}`)
    return undefined
  }

  /** Events may be missing: reads the full state again, and continues after it on a new connection. */
  #startOver(position: StreamPosition): void {
    this.#position = position
    if (this.#options.isFolding === false) return
    this.#hasState = false
    this.cut()
  }

  async #read(): Promise<StreamPosition> {
    const read = await readState(this.#options.url, this.#options.authorization)
    if (this.#options.isFolding !== false) this.state.replace(read.entries)
    this.#hasState = true
    return read.position
  }

  #event(event: Record<string, unknown>): void {
    const { type, timestamp, offset } = event
    if (typeof type !== 'string' || typeof timestamp !== 'number' || !Number.isSafeInteger(offset)) {
      this.#fault(`an event without type, timestamp or offset: ${JSON.stringify(event).slice(0, 200)}`)
      return
    }
    if (!this.isLive) this.#fault(`an event before STREAM: ${type} ${String(offset)}`)
    const received = event as unknown as StreamEvent
    const before = this.#position
    if (before && received.offset <= before.offset) {
      this.#fault(`${type} at offset ${received.offset} was received after ${before.offset}`)
      return
    }
    this.#position = { epoch: before?.epoch ?? '', offset: received.offset }
    this.counts.events++
    if (Array.isArray(event.updates)) this.counts.items += event.updates.length
    if (this.#options.isFolding !== false) this.state.apply(received)
    this.#options.onEvent?.(received)
  }

  #ponged(event: Record<string, unknown>): void {
    const position = this.#positionIn(event)
    if (!position) return
    const { epoch, offset } = position
    // Everything up to this offset was sent: `#event` reports any later event at or below it.
    if (this.isLive) this.#position = { epoch, offset: Math.max(offset, this.#position?.offset ?? 0) }
    for (const answered of this.#pongs.splice(0)) answered()
  }

  async #ping(timeoutMs: number): Promise<boolean> {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false
    this.#socket.send('{"type":"PING"}')
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.max(1, timeoutMs))
      this.#pongs.push(() => {
        clearTimeout(timer)
        resolve(true)
      })
    })
  }

  #lost(): void {
    this.#socket = undefined
    this.isLive = false
    this.#pongs = []
    if (this.#isStopped) return
    const ceiling = Math.min(this.#options.backoffMsMax ?? 2_000, backoffMsMin * 2 ** Math.min(this.#attempts++, 10))
    this.#retry = setTimeout(() => void this.#connect(), ceiling / 2 + Math.random() * (ceiling / 2))
  }

  #fault(text: string): void {
    this.faultCount++
    if (this.faults.length < faultsKeptMax) this.faults.push(text)
  }
}

/** The JSON object in these bytes; undefined if there is none. */
export function parseObject(data: Buffer): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(data.toString('utf8'))
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The full state, and a position: the state includes all events up to it, perhaps more. */
export async function readState(
  url: string,
  authorization?: string,
): Promise<{ readonly entries: readonly DeviceEntry[]; readonly position: StreamPosition }> {
  const { text, position } = await readDevices(url, 'depth=2', authorization)
  return { entries: JSON.parse(text) as DeviceEntry[], position }
}

export async function readFoldedState(url: string, authorization?: string): Promise<FoldedState> {
  const state = new FoldedState()
  state.replace((await readState(url, authorization)).entries)
  return state
}

/** The end of the stream, from a short read. */
export async function streamHead(url: string, authorization?: string): Promise<StreamPosition> {
  return (await readDevices(url, 'limit=1', authorization)).position
}

async function readDevices(url: string, query: string, authorization: string | undefined) {
  const headers = authorizationHeader(authorization)
  const { status, text, headers: found } = await request(`${url}/api/v1/devices?${query}`, { headers })
  if (status !== 200) throw new Error(`GET /devices: ${status} ${text.slice(0, 200)}`)
  const epoch = found['stream-epoch']
  const offset = Number(found['stream-offset'])
  if (typeof epoch !== 'string' || !Number.isSafeInteger(offset)) throw new Error('no Stream-Epoch or Stream-Offset')
  return { text, position: { epoch, offset } }
}
