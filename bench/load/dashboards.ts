import { type Authorizations, askApi, authorizationHeader } from '#bench/harness/identity'
import { ReadTooSlowly } from '#bench/harness/read-too-slowly'
import { FrameCounter } from '#bench/load/frame-counter'
import { FrameReader, opcodes } from '#bench/load/frames'
import { HeardCounts } from '#bench/load/heard-counts'
import { RawSocket } from '#bench/load/raw-socket'
import { numberOf } from '#bench/load/update-template'

/** An event as far as its offset, whose place is always the same for a type: contract 4 fixes the first fields. */
const startOf = (type: string) => `{"type":"${type}","timestamp":`
const offsetBehind = (start: string) => `${start}1700000000000,"offset":`.length
const updated = startOf('OBJECT_UPDATED')
const offsetAt = offsetBehind(updated)
const turned = [true, false].map((isActive) => {
  const start = startOf(isActive ? 'ALARM_STATUS_ACTIVE' : 'ALARM_STATUS_INACTIVE')
  return { isActive, start, offsetAt: offsetBehind(start) }
})
const comma = 0x2c
const colon = 0x3a
const offsetName = '"offset":'
/** Wherever the offset of an event is, it is before this. */
const headBytes = 100
const zero = 0x30
const nothing = new Uint8Array(0)
/** So many sockets knock at a time. */
const opensAtOnce = 64
/** Smaller than for links: thousands of them are read in turn, a few events each. */
const readBytes = 64 * 1024

export interface LoadDashboardsOptions {
  readonly port: number
  readonly count: number
  readonly authorizations?: Authorizations | undefined
  /** The first one reads every event: told the number that its last value carries. */
  readonly heard?: (number: number) => void
  /** Likewise that an alarm turned. Without it none may. */
  readonly alarmTurned?: (isActive: boolean) => void
  /** Likewise of any other event; those do not count. With one dashboard. Without it there may be none. */
  readonly heardOther?: () => void
  /** Some of them heard something; called often. */
  readonly moved?: () => void
}

/**
 * Dashboards that cost little. Each counts its events; the first one, the witness, reads them all and finds out whether
 * an offset is missing.
 */
export class LoadDashboards {
  bytes = 0
  /** Offsets that the witness did not hear, or not in their order. */
  gaps = 0
  #failure: Error | undefined
  #lastOffset = 0
  readonly #options: LoadDashboardsOptions
  readonly #counts: HeardCounts
  readonly #sockets: RawSocket[] = []

  constructor(options: LoadDashboardsOptions) {
    this.#options = options
    this.#counts = new HeardCounts(options.count)
  }

  /** Opens them all; `check` throws from then on when one was closed. */
  async open(): Promise<void> {
    const { count } = this.#options
    for (let first = 0; first < count; first += opensAtOnce) {
      const places = Array.from({ length: Math.min(opensAtOnce, count - first) }, (_, index) => first + index)
      await Promise.all(places.map((place) => this.#open(place)))
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
  }

  check(): void {
    if (this.#failure) throw this.#failure
  }

  /** Events that each of them has heard. */
  get heardByAll(): number {
    return this.#counts.least
  }

  get deliveries(): number {
    return this.#counts.sum
  }

  /** Counts anew. */
  clear(): void {
    this.#counts.clear()
    this.bytes = 0
    this.gaps = 0
  }

  /** Waits until each has heard so many events. */
  async hearing(events: number, timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs
    while (this.heardByAll < events) {
      this.check()
      if (this.gaps > 0) throw new ReadTooSlowly(this.gaps)
      if (performance.now() > end) throw new Error(`a dashboard heard ${this.heardByAll} of ${events} events`)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  async #open(place: number): Promise<void> {
    const { port, moved, authorizations } = this.#options
    const headers = authorizationHeader(authorizations?.person)
    const { text } = await askApi(port, '/events/ticket', { headers })
    const { ticket } = JSON.parse(text) as { ticket: string }
    const push = place === 0 ? this.#readingAll() : this.#counting(place)
    this.#sockets[place] = await RawSocket.open({
      port,
      path: `/api/v1/events/${ticket}`,
      readBytes,
      received: (bytes) => {
        this.bytes += bytes.length
        this.#counts.add(place, push(bytes))
        moved?.()
      },
      closed: () => {
        this.#failure ??= new Error('the server closed a dashboard')
      },
    })
  }

  #counting(place: number): (bytes: Buffer) => number {
    const counter = new FrameCounter(() => this.#sockets[place]?.pong(nothing))
    return (bytes) => counter.push(bytes)
  }

  #readingAll(): (bytes: Buffer) => number {
    let texts = 0
    const reader = new FrameReader((bytes, start, end, opcode) => {
      if (opcode === opcodes.ping) this.#sockets[0]?.pong(bytes.subarray(start, end))
      if (opcode === opcodes.text && this.#witness(bytes, start, end)) texts++
    })
    return (bytes) => {
      texts = 0
      reader.push(bytes)
      return texts
    }
  }

  /** Whether it counts. */
  #witness(bytes: Buffer, start: number, end: number): boolean {
    const head = bytes.subarray(start, end).toString('latin1', 0, offsetAt)
    if (head.startsWith(updated)) {
      this.#heardOffset(naturalAt(bytes, start + offsetAt))
      this.#options.heard?.(numberOf(lastValue(bytes, end)))
      return true
    }
    const { alarmTurned, heardOther } = this.#options
    const turn = turned.find((each) => head.startsWith(each.start.slice(0, offsetAt)))
    if (alarmTurned && turn) {
      this.#heardOffset(naturalAt(bytes, start + turn.offsetAt))
      alarmTurned(turn.isActive)
      return true
    }
    if (heardOther) {
      const place = bytes.toString('latin1', start, Math.min(end, start + headBytes)).indexOf(offsetName)
      this.#heardOffset(naturalAt(bytes, start + place + offsetName.length))
      heardOther()
    } else {
      this.#failure ??= new Error(`a dashboard heard ${bytes.toString('utf8', start, Math.min(end, start + 200))}`)
    }
    return false
  }

  #heardOffset(offset: number): void {
    if (offset !== this.#lastOffset + 1 && this.#lastOffset > 0) this.gaps++
    this.#lastOffset = offset
  }
}

/** The digits from there to the comma. */
function naturalAt(bytes: Buffer, at: number): number {
  let number = 0
  for (let place = at; bytes[place] !== comma; place++) number = number * 10 + (bytes[place] as number) - zero
  return number
}

/** The number behind the last colon: events of a load end in `"value":1.5}]}`. */
export function lastValue(bytes: Buffer, end: number): number {
  let at = end
  while (bytes[at - 1] !== colon) at--
  return Number(bytes.toString('latin1', at, end - 3))
}
