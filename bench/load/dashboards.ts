import { SlowLoadError } from '#bench/harness/benchmark'
import type { Authorizations } from '#bench/harness/identity'
import { payloadAt } from '#bench/load/frames'
import { type DeliveryHandler, messageCounter, messageReader } from '#bench/load/messages'
import { protocols } from '#bench/load/peer-protocols'
import type { Protocol } from '#bench/load/protocol'
import { RawSocket } from '#bench/load/raw-socket'
import { numberOf } from '#bench/load/update-template'
import { sleep } from '#bench/time'

/** The first fields of an event have a fixed order (contract 4), so the offset has a fixed position. */
const updated = '{"type":"OBJECT_UPDATED","timestamp":'
const offsetAt = `${updated}1700000000000,"offset":`.length
const colon = 0x3a
const offsetName = '"offset":'
/** The offset of every event is within this many bytes. */
const headBytes = 100
const naturalDigitsMax = 16
const opensAtOnce = 64
/** Smaller than for links, because thousands of sockets are read in turn, with a few events each. */
const readBytes = 64 * 1024
const answerMsMax = 20_000
/** Connections of publishers have lower numbers. */
const firstNumber = 1_000

export interface LoadDashboardsOptions {
  readonly port: number
  readonly count: number
  readonly authorizations?: Authorizations | undefined
  /** The protocol of another system. Absent: that of this server. */
  readonly protocol?: Protocol | undefined
  /** The number of dashboards, evenly spread, that parse every delivery. Default 1. */
  readonly witnesses?: number | undefined
  /** Called for each delivery that a witness reads, with the number of its frame. */
  readonly onChange: (number: number) => void
  /** Accepts other events and does not count them. Only with one dashboard. */
  readonly hasOtherEvents?: boolean | undefined
  /** Called often, after some dashboards have read events. */
  readonly moved?: () => void
}

/** Cheap dashboards. All count their events; witnesses parse them and detect missing offsets. */
export class LoadDashboards {
  bytes = 0
  /** How often the next offset that a witness received was not one higher. */
  gaps = 0
  #failure: Error | undefined
  readonly #options: LoadDashboardsOptions
  readonly #protocol: Protocol
  /** The number of events of each dashboard. */
  readonly #counts: Float64Array
  readonly #sockets: RawSocket[] = []

  constructor(options: LoadDashboardsOptions) {
    this.#options = options
    this.#protocol = options.protocol ?? protocols.own
    this.#counts = new Float64Array(options.count)
  }

  async open(): Promise<void> {
    const { count } = this.#options
    for (let first = 0; first < count; first += opensAtOnce) {
      const places = Array.from({ length: Math.min(opensAtOnce, count - first) }, (_, index) => first + index)
      await Promise.all(places.map((place) => this.#open(place)))
    }
  }

  /** Throws when a dashboard was closed or has received an unexpected event. */
  check(): void {
    if (this.#failure) throw this.#failure
  }

  /** The number of events that every dashboard has received; Infinity when there are no dashboards. */
  get receivedByAll(): number {
    let least = Infinity
    // An index loop, because there may be thousands of dashboards.
    for (let place = 0; place < this.#counts.length; place++) least = Math.min(least, this.#counts[place] as number)
    return least
  }

  get deliveries(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  clear(): void {
    this.#counts.fill(0)
    this.bytes = 0
    this.gaps = 0
  }

  async waitForEvents(events: number, timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs
    while (this.receivedByAll < events) {
      this.check()
      if (this.gaps > 0) throw new SlowLoadError(this.gaps)
      if (performance.now() > end) throw new Error(`a dashboard received ${this.receivedByAll} of ${events} events`)
      await sleep(1)
    }
  }

  async #open(place: number): Promise<void> {
    const { port, moved, authorizations, count, witnesses = 1 } = this.#options
    const { lengthOf } = this.#protocol
    const other = (bytes: Buffer, at: number, end: number) => {
      const answer = this.#protocol.answerTo?.(bytes, at, end)
      if (answer) this.#sockets[place]?.write(answer)
    }
    const isWitness = place % Math.ceil(count / witnesses) === 0
    const read = isWitness ? messageReader(lengthOf, this.#witness(), other) : messageCounter(lengthOf, other)
    const steps = this.#protocol.subscribe({ port, number: firstNumber + place, authorizations })
    const received = (bytes: Buffer) => {
      this.bytes += bytes.length
      this.#counts[place] = (this.#counts[place] as number) + read(bytes)
      moved?.()
    }
    const closed = () => {
      this.#failure ??= new Error('the server closed a dashboard')
    }
    this.#sockets[place] = await RawSocket.connect({ port, readBytes, answerMsMax, received, closed }, steps)
  }

  #witness(): DeliveryHandler {
    if (this.#protocol === protocols.own) return this.#eventWitness()
    const { valueAt } = this.#protocol
    return (bytes, at, end) => {
      const value = Number.parseFloat(bytes.toString('latin1', valueAt?.(bytes, at) ?? lastColon(bytes, end), end))
      if (Number.isFinite(value)) this.#options.onChange(numberOf(value))
      else this.#unexpected(bytes, Math.max(0, end - 300), end)
      return true
    }
  }

  #eventWitness(): DeliveryHandler {
    const { onChange, hasOtherEvents } = this.#options
    let lastOffset = 0
    const atOffset = (offset: number) => {
      if (offset !== lastOffset + 1 && lastOffset > 0) this.gaps++
      lastOffset = offset
    }
    return (bytes, at, end) => {
      const start = payloadAt(bytes, at)
      const head = bytes.toString('latin1', start, start + offsetAt)
      if (head.startsWith(updated)) {
        atOffset(naturalAt(bytes, start + offsetAt))
        onChange(numberOf(lastValue(bytes, end)))
        return true
      }
      if (hasOtherEvents) {
        const place = bytes.toString('latin1', start, Math.min(end, start + headBytes)).indexOf(offsetName)
        atOffset(naturalAt(bytes, start + place + offsetName.length))
      } else this.#unexpected(bytes, start, Math.min(end, start + 200))
      return false
    }
  }

  #unexpected(bytes: Buffer, start: number, end: number): void {
    this.#failure ??= new Error(`a dashboard received ${bytes.toString('latin1', start, end)}`)
  }
}

/** The number whose digits begin at `at`. */
const naturalAt = (bytes: Buffer, at: number) =>
  Number.parseInt(bytes.toString('latin1', at, at + naturalDigitsMax), 10)

/** The number after the last colon: events of a load end in `"value":1.5}]}`. */
export function lastValue(bytes: Buffer, end: number): number {
  return Number(bytes.toString('latin1', lastColon(bytes, end), end - 3))
}

function lastColon(bytes: Buffer, end: number): number {
  let at = end
  while (bytes[at - 1] !== colon) at--
  return at
}
