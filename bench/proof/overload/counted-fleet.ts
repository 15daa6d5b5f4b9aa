import type { ServerTarget } from '#bench/harness/server-target'
import { UpdateTemplate } from '#bench/load/update-template'
import { CountedLink } from '#bench/proof/overload/counted-link'
import type { EndCounts } from '#bench/proof/overload/end-counts'
import { SeededRandom } from '#bench/random'

export interface CountedFleetOptions extends ServerTarget {
  readonly devices: number
  readonly links: number
  readonly framesPerSecond: number
  readonly prefix: string
  readonly service: string
  readonly seed: number
  /** Maximum number of unacknowledged frames of one link; the server closes it beyond 1 024. Contract 7. */
  readonly window: number
  /** The interval at which each link sends due frames. */
  readonly gatherMs: number
  /** The fleet disconnects at its end: unacknowledged frames are not sent again. */
  readonly isPassing?: boolean
}

/**
 * The frames of a fleet at its end: device n sent 1 to `sent[n]`, of which 1 to `acknowledged[n]` were acknowledged.
 */
export interface FrameCounts {
  readonly prefix: string
  readonly service: string
  readonly sent: readonly number[]
  readonly acknowledged: readonly number[]
  readonly ends: EndCounts
  readonly faults: readonly string[]
}

const tickMs = 1
const calmWindow = 1_000
const faultsKeptMax = 20

/**
 * Devices that send at a steady rate, however slow the server is: a delayed frame is sent later and counts from its due
 * time. Frame n is of device n, in rotation.
 */
export class CountedFleet {
  readonly options: CountedFleetOptions
  readonly ends: EndCounts = {}
  readonly #links: readonly CountedLink[]
  readonly #faults: string[] = []
  #window: number
  #startedAt = Number.POSITIVE_INFINITY
  /** After the steady rate: the number of frames that were due. */
  #limit: number | undefined
  #hasGivenUp = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: CountedFleetOptions) {
    const { devices, links, seed, port, prefix, service, authorizations } = options
    if (devices % links !== 0) throw new RangeError('every link must have as many devices')
    this.options = options
    this.#window = options.window
    const random = new SeededRandom(seed)
    const template = new UpdateTemplate(1)
    this.#links = Array.from({ length: links }, (_, first) => {
      return new CountedLink({
        port,
        authorization: authorizations?.link,
        prefix,
        service,
        session: `counted-${seed}`,
        first,
        step: links,
        count: devices / links,
        template,
        chance: () => random.next(),
        ends: this.ends,
        fault: (text) => {
          if (this.#faults.length < faultsKeptMax) this.#faults.push(text)
        },
      })
    })
  }

  async open(timeoutMs: number): Promise<void> {
    for (const link of this.#links) link.open()
    if (!(await this.#until(() => this.#links.every((link) => link.isReady), timeoutMs))) {
      throw new Error(`not all of ${this.options.prefix} were welcome within ${timeoutMs / 1000} s`)
    }
  }

  begin(): void {
    this.#startedAt = performance.now()
    let tick = 0
    this.#timer = setInterval(() => {
      const phase = tick++ % this.options.gatherMs
      const frames = this.#framesDue()
      for (const [place, link] of this.#links.entries()) {
        if (place % this.options.gatherMs === phase) this.#send(link, place, frames)
      }
    }, tickMs)
  }

  /** No further frames become due; due ones are still sent. */
  pause(): void {
    this.#limit = this.#framesDue()
  }

  /**
   * Sends no further frames, and completes those in flight, unless the fleet only passes. Returns how many frames were
   * sent, and how many were due and not sent.
   */
  giveUp(): { readonly sent: number; readonly heldBack: number } {
    this.pause()
    this.#hasGivenUp = true
    this.#window = calmWindow
    const sent = this.#links.reduce((sum, link) => sum + link.sent.reduce((all, each) => all + each, 0), 0)
    if (this.options.isPassing) this.close()
    return { sent, heldBack: this.#framesDue() - sent }
  }

  /** After either: whether all sent or due frames are acknowledged. */
  async settled(timeoutMs: number): Promise<boolean> {
    if (this.options.isPassing && this.#hasGivenUp) return true
    const frames = this.#framesDue()
    return this.#until(() => this.#links.every((link, first) => this.#isSettled(link, first, frames)), timeoutMs)
  }

  close(): void {
    clearInterval(this.#timer)
    for (const link of this.#links) link.stop()
  }

  /** When frame `sequence` of a device was due, on the monotonic clock. */
  dueAt(device: number, sequence: number): number {
    const { devices, framesPerSecond } = this.options
    return this.#startedAt + (((sequence - 1) * devices + device) * 1000) / framesPerSecond
  }

  frameCounts(): FrameCounts {
    const { devices, links, prefix, service } = this.options
    const of = (which: 'sent' | 'acknowledged') =>
      Array.from({ length: devices }, (_, device) => {
        return (this.#links[device % links] as CountedLink)[which][Math.floor(device / links)] as number
      })
    return {
      prefix,
      service,
      sent: of('sent'),
      acknowledged: of('acknowledged'),
      ends: this.ends,
      faults: this.#faults,
    }
  }

  #framesDue(): number {
    const elapsedMs = performance.now() - this.#startedAt
    return this.#limit ?? Math.max(0, Math.floor((elapsedMs * this.options.framesPerSecond) / 1000) + 1)
  }

  #send(link: CountedLink, first: number, frames: number): void {
    link.send((device) => this.#dueOf(link, first, device, frames), this.#window)
  }

  #dueOf(link: CountedLink, first: number, device: number, frames: number): number {
    const { devices, links } = this.options
    if (this.#hasGivenUp) return link.sent[(device - first) / links] as number
    return device < frames ? Math.floor((frames - 1 - device) / devices) + 1 : 0
  }

  #isSettled(link: CountedLink, first: number, frames: number): boolean {
    return link.acknowledged.every(
      (acknowledged, place) => acknowledged === this.#dueOf(link, first, first + place * this.options.links, frames),
    )
  }

  async #until(isTrue: () => boolean, timeoutMs: number): Promise<boolean> {
    const end = performance.now() + timeoutMs
    while (!isTrue()) {
      if (performance.now() > end) return false
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return true
  }
}
