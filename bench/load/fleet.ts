import type { Authorizations } from '#bench/harness/identity'
import { LatencyHistogram } from '#bench/histogram'
import { FleetLink, reportingHello } from '#bench/load/fleet-link'
import { firstPeerNumber, PeerLink } from '#bench/load/peer-link'
import type { Protocol } from '#bench/load/peer-protocols'
import { UpdateTemplate } from '#bench/load/update-template'

export interface LoadFleetOptions {
  readonly port: number
  readonly devices: number
  readonly links: number
  /** Unacknowledged frames per link of a fleet that sends at full speed. */
  readonly window: number
  readonly changes: number
  readonly properties: number
  readonly prefix: string
  readonly authorizations?: Authorizations | undefined
  /**
   * The protocol of another system: its links acknowledge nothing, and a message counts as acknowledged when it is
   * sent.
   */
  readonly protocol?: Protocol | undefined
  /** At a steady rate each link sends what is due at this interval, in milliseconds; default 5. */
  readonly gatherMs?: number
}

/**
 * Maximum number of unacknowledged frames of a link at a steady rate; the server closes it beyond 1 024. Contract 7.
 */
const linkWindow = 1_000

/** Each gateway sends what is due every five milliseconds; each millisecond a fifth of the gateways. */
const tickMs = 1
const gatherMsDefault = 5

/**
 * A cheap fleet: 10 000 devices on 50 links send a million changes a second with half a core. Unlike the simulator
 * (`bench/fleet`) it never reconnects, and an error ends the measurement.
 */
export class LoadFleet {
  readonly options: LoadFleetOptions
  /** From the due time of a frame to its acknowledgement, for frames sent at a steady rate. */
  readonly latency = new LatencyHistogram()
  sent = 0
  acknowledged = 0
  /** The number in the last acknowledged frame of each device, as far as it is known; -1 before the first. */
  readonly numbers: Float64Array
  readonly #links: readonly (FleetLink | PeerLink)[]
  #turn = 0
  #failure: Error | undefined
  #isFilling = false
  /** Set during a steady rate: frame n was due n intervals after the start. */
  #pace: { readonly startedAt: number; readonly intervalMs: number; readonly firstNumber: number } | undefined
  /** By link: the number of its next frame. */
  readonly #next: Float64Array
  /** The last acknowledged sequence of each device, now and before the steady rate began. */
  readonly #last: Uint32Array
  readonly #before: Uint32Array
  /** After a steady rate: frames up to this number, exclusive, were due. */
  #limit = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LoadFleetOptions) {
    this.options = options
    const { devices, links, port, prefix, properties, changes, authorizations, protocol } = options
    this.sent = protocol ? firstPeerNumber : 0
    this.numbers = new Float64Array(devices).fill(-1)
    this.#last = new Uint32Array(devices)
    this.#before = new Uint32Array(devices)
    this.#next = Float64Array.from({ length: links }, (_, link) => link)
    const template = new UpdateTemplate(changes)
    const hello = reportingHello(properties)
    const failed = (error: Error) => {
      this.#failure ??= error
    }
    this.#links = Array.from({ length: links }, (_, first) => {
      const count = Math.floor((devices - first + links - 1) / links)
      const place = { port, prefix, first, step: links, count, failed }
      if (protocol) {
        const written = (messages: number) => {
          this.acknowledged += messages
        }
        return new PeerLink({ ...place, protocol, written })
      }
      const link: FleetLink = new FleetLink({
        ...place,
        authorization: authorizations?.link,
        template,
        hello: () => hello,
        acknowledged: (device, sequence, number) => this.#acknowledgedOne(device, sequence, number),
        onRead: () => this.#fill(link),
      })
      return link
    })
  }

  async open(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.open()))
  }

  close(): void {
    clearInterval(this.#timer)
    for (const link of this.#links) if (link instanceof FleetLink) link.close()
  }

  check(): void {
    if (this.#failure) throw this.#failure
  }

  /** Sends as fast as the windows allow, until `pause`. */
  begin(): void {
    this.#pace = undefined
    this.#isFilling = true
    for (const link of this.#links) this.#fill(link)
  }

  /** Makes no new frames; `settled` still sends those that are due. */
  pause(): void {
    this.#isFilling = false
    clearInterval(this.#timer)
    this.#limit = this.#dueNow()
  }

  sendTogether(count: number): void {
    const link = this.#links[this.#turn++ % this.#links.length]
    link?.send(count, this.sent, 1)
    this.sent += count
  }

  /**
   * Sends at a steady rate as far as windows allow; no frame may be in flight at the beginning. Latency counts from the
   * due time: otherwise a server that stalls would look fast.
   */
  beginPace(framesPerSecond: number): void {
    const { devices } = this.options
    const startedAt = performance.now()
    const intervalMs = 1000 / framesPerSecond
    this.#before.set(this.#last)
    // Whole rounds, so that a frame's number determines its device.
    this.sent = Math.ceil(this.sent / devices) * devices
    const firstNumber = this.sent
    this.#pace = { startedAt, intervalMs, firstNumber }
    this.#links.forEach((link, place) => {
      link.resetRotation()
      this.#next[place] = firstNumber + place
    })
    const ticksOfLink = this.options.gatherMs ?? gatherMsDefault
    let tick = 0
    this.#timer = setInterval(() => {
      const phase = tick++ % ticksOfLink
      this.#sendBelow(this.#dueNow(), (place) => place % ticksOfLink === phase)
    }, tickMs)
  }

  /** Frames up to this number, exclusive, are due. */
  #dueNow(): number {
    const pace = this.#pace
    if (!pace) return 0
    return pace.firstNumber + Math.floor((performance.now() - pace.startedAt) / pace.intervalMs) + 1
  }

  /** Sends frames up to this number, exclusive: number n is of device n and on link n, both in rotation. */
  #sendBelow(limit: number, isSending: (place: number) => boolean = () => true): void {
    const { links, devices } = this.options
    if (devices % links !== 0) throw new RangeError('every link must have as many devices')
    this.#links.forEach((link, place) => {
      if (!isSending(place)) return
      const next = this.#next[place] as number
      const count = Math.min(Math.ceil((limit - next) / links), linkWindow - link.unacknowledged)
      if (count <= 0) return
      link.send(count, next, links)
      this.#next[place] = next + count * links
      this.sent = Math.max(this.sent, next + (count - 1) * links + 1)
    })
  }

  /** The due time of the frame with this number; undefined when it was not sent at a steady rate. */
  dueAt(number: number): number | undefined {
    const pace = this.#pace
    return pace && number >= pace.firstNumber
      ? pace.startedAt + (number - pace.firstNumber) * pace.intervalMs
      : undefined
  }

  /** After `pause`: waits until every frame is answered. */
  async settled(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs
    while (this.#isSending) {
      this.check()
      this.#sendBelow(this.#limit)
      if (performance.now() > end) throw new Error('not everything sent was acknowledged in time')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    this.check()
  }

  get #isSending(): boolean {
    const isDue = (place: number) => this.#pace !== undefined && (this.#next[place] as number) < this.#limit
    return this.#links.some((link, place) => link.unacknowledged > 0 || isDue(place))
  }

  #fill(link: FleetLink | PeerLink): void {
    if (!this.#isFilling) return
    const room = this.options.window - link.unacknowledged
    if (room <= 0) return
    link.send(room, this.sent, 1)
    this.sent += room
  }

  #acknowledgedOne(device: number, sequence: number, number: number | undefined): void {
    this.acknowledged++
    if (number !== undefined) this.numbers[device] = number
    this.#last[device] = sequence
    const pace = this.#pace
    if (!pace) return
    const round = sequence - (this.#before[device] as number) - 1
    const dueAt = this.dueAt(pace.firstNumber + round * this.options.devices + device)
    if (dueAt !== undefined) this.latency.record(performance.now() - dueAt)
  }
}
