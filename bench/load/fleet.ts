import type { Authorizations } from '#bench/harness/identity'
import { LatencyHistogram } from '#bench/histogram'
import { FleetLink, type NumberOf, type Reconnecting, reportingHello } from '#bench/load/fleet-link'
import { firstPeerNumber } from '#bench/load/peer-template'
import type { Protocol } from '#bench/load/protocol'
import { UpdateTemplate } from '#bench/load/update-template'
import { sleep } from '#bench/time'

export interface LoadFleetOptions {
  readonly port: number
  readonly devices: number
  readonly links: number
  /** Unacknowledged frames per link of a fleet that sends at full speed. */
  readonly window: number
  readonly changes: number
  readonly properties: number
  readonly prefix: string
  readonly service?: string
  readonly authorizations?: Authorizations | undefined
  /**
   * The protocol of another system. Where it acknowledges nothing, a message counts as acknowledged when it is sent.
   */
  readonly protocol?: Protocol | undefined
  /** At a steady rate each link sends its due frames at this interval, in milliseconds; default 5. */
  readonly gatherMs?: number
  /** Maximum number of unacknowledged frames of a link at a steady rate. */
  readonly paceWindow?: number
  /** Links reconnect; absent: an error ends the measurement. */
  readonly reconnecting?: Reconnecting | undefined
  /** The local address from which a link connects; absent: the default address. */
  readonly localAddressOf?: (link: number) => string
}

/** The server closes a link with more than 1 024 unacknowledged frames. Contract 7. */
const paceWindowDefault = 1_000

/** Each gateway sends its due frames every five milliseconds: each millisecond, a fifth of the gateways does. */
const tickMs = 1
const gatherMsDefault = 5
const opensAtOnce = 64

/**
 * A cheap fleet: 10 000 devices on 50 links send a million changes a second with half a core. The simulator
 * (`bench/fleet`) costs more, and behaves like real devices.
 */
export class LoadFleet {
  readonly options: LoadFleetOptions
  /** From the due time of a frame to its acknowledgement, for frames sent at a steady rate. */
  readonly latency = new LatencyHistogram()
  sent = 0
  acknowledged = 0
  /** The number in the last acknowledged frame of each device, as far as it is known; -1 before the first. */
  readonly numbers: Float64Array
  readonly failures: Error[] = []
  readonly #links: readonly FleetLink[]
  #turn = 0
  #isFilling = false
  /** Set while the load has a steady rate: frame n is due n intervals after the start. */
  #pace: { readonly startedAt: number; readonly intervalMs: number; readonly firstNumber: number } | undefined
  /** The last acknowledged sequence of each device, now and before the steady rate began. */
  readonly #last: Uint32Array
  readonly #before: Uint32Array
  /** At a steady rate frames up to this number, exclusive, are due. */
  #limit = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LoadFleetOptions) {
    this.options = options
    const { devices, links, port, prefix, properties, changes, authorizations, protocol, service } = options
    this.sent = protocol ? firstPeerNumber : 0
    this.numbers = new Float64Array(devices).fill(-1)
    this.#last = new Uint32Array(devices)
    this.#before = new Uint32Array(devices)
    const template = new UpdateTemplate(changes)
    const hello = reportingHello(properties, service)
    const failed = (error: Error) => this.failures.push(error)
    this.#links = Array.from({ length: links }, (_, first) => {
      const count = Math.floor((devices - first + links - 1) / links)
      const link: FleetLink = new FleetLink({
        ...{ port, prefix, first, step: links, count, failed, protocol, hello },
        authorization: authorizations?.link,
        localAddress: options.localAddressOf?.(first),
        reconnecting: options.reconnecting,
        template,
        counted: (messages) => {
          this.acknowledged += messages
        },
        acknowledged: (device, sequence, number) => this.#acknowledgedOne(device, sequence, number),
        onRead: () => this.#fill(link),
      })
      return link
    })
  }

  async open(): Promise<void> {
    for (let first = 0; first < this.#links.length; first += opensAtOnce)
      await Promise.all(this.#links.slice(first, first + opensAtOnce).map((link) => link.open()))
  }

  close(): void {
    clearInterval(this.#timer)
    for (const link of this.#links) link.close()
  }

  check(): void {
    if (this.failures[0]) throw this.failures[0]
  }

  /** How many links are connected with all their devices. */
  get ready(): number {
    return this.#links.filter(({ isReady }) => isReady).length
  }

  cutAll(): void {
    for (const link of this.#links) link.cut()
  }

  /** The last sequence of each device that was sent, and that was acknowledged. */
  sequences(): { readonly sent: readonly number[]; readonly acknowledged: readonly number[] } {
    const { devices, links } = this.options
    const of = (which: 'sent' | 'acknowledged') =>
      Array.from(
        { length: devices },
        (_, device) => this.#links[device % links]?.[which][Math.floor(device / links)] ?? 0,
      )
    return { sent: of('sent'), acknowledged: of('acknowledged') }
  }

  /** Sends as fast as the windows allow, until `pause`. */
  begin(): void {
    this.#pace = undefined
    this.#isFilling = true
    for (const link of this.#links) this.#fill(link)
  }

  /** Makes no new frames; `settled` still sends the due frames. */
  pause(): void {
    this.#isFilling = false
    clearInterval(this.#timer)
    if (this.#pace) this.#limit = this.#dueNow()
  }

  /** Makes no new frames, and drops the due ones that were not sent. Returns their number. */
  giveUp(): number {
    this.pause()
    const heldBack =
      this.#limit - this.#links.reduce((sum, link) => sum + link.sent.reduce((all, each) => all + each, 0), 0)
    this.#limit = 0
    return heldBack
  }

  sendTogether(count: number): void {
    this.#links[this.#turn++ % this.#links.length]?.send(count, this.#numberOf)
  }

  /**
   * Sends at a steady rate as far as windows allow; no frame may be in flight at the beginning. Latency counts from the
   * due time: otherwise a server that stalls would look fast. Frame n is of device n and on link n, both in rotation.
   */
  beginPace(framesPerSecond: number): void {
    const { devices, links } = this.options
    if (devices % links !== 0)
      throw new RangeError(`the number of devices must be a multiple of ${links}, the number of links`)
    this.#before.set(this.#last)
    // The first number is a multiple of the number of devices, so that a frame's number determines its device.
    const firstNumber = Math.ceil(this.sent / devices) * devices
    this.sent = firstNumber
    this.#pace = { startedAt: performance.now(), intervalMs: 1000 / framesPerSecond, firstNumber }
    for (const link of this.#links) link.resetRotation()
    const ticksOfLink = this.options.gatherMs ?? gatherMsDefault
    let tick = 0
    this.#timer = setInterval(() => {
      const phase = tick++ % ticksOfLink
      this.#limit = this.#dueNow()
      this.#links.forEach((link, place) => {
        if (place % ticksOfLink === phase) this.#sendDue(link)
      })
    }, tickMs)
  }

  /** Frames up to this number, exclusive, are due. */
  #dueNow(): number {
    const pace = this.#pace
    if (!pace) return 0
    return pace.firstNumber + Math.floor((performance.now() - pace.startedAt) / pace.intervalMs) + 1
  }

  #sendDue(link: FleetLink): void {
    link.send((this.options.paceWindow ?? paceWindowDefault) - link.unacknowledged, this.#numberOf)
  }

  readonly #numberOf: NumberOf = (device, sequence, isAgain) => {
    const pace = this.#pace
    if (!pace) return this.sent++
    const round = sequence - 1 - (this.#before[device] as number)
    const number = pace.firstNumber + round * this.options.devices + device
    if (!isAgain && number >= this.#limit) return undefined
    this.sent = Math.max(this.sent, number + 1)
    return number
  }

  /** The due time of the frame with this number; undefined when it was not sent at a steady rate. */
  dueAt(number: number): number | undefined {
    const pace = this.#pace
    return pace && number >= pace.firstNumber
      ? pace.startedAt + (number - pace.firstNumber) * pace.intervalMs
      : undefined
  }

  /** After `pause`: waits until every due frame is sent and acknowledged. @throws Error on a timeout or a failure */
  async settled(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs
    for (;;) {
      this.check()
      if (this.#pace) for (const link of this.#links) this.#sendDue(link)
      if (this.#links.every(({ isSettled }) => isSettled)) return
      if (performance.now() > end) throw new Error('not everything sent was acknowledged in time')
      await sleep(1)
    }
  }

  #fill(link: FleetLink): void {
    if (this.#isFilling) link.send(this.options.window - link.unacknowledged, this.#numberOf)
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
