import { gateway } from '#bench/harness/identity'
import { FleetLink, reportingHello } from '#bench/load/fleet-link'
import type { SentFrames } from '#bench/proof/event-checker'
import { type ProofFleetOptions, ProofFleets } from '#bench/proof/fleets'
import { unixMs } from '#bench/time'

/** The last acknowledged frame of each device of each fleet at a time in Unix ms. */
interface Acknowledged {
  readonly at: number
  readonly frames: readonly (readonly number[])[]
}

/** The interval at which the devices are read. A recorded time is late by at most this. */
const pollMs = 1
const detailsMax = 3

/**
 * Fleets that report over links. Records when they learned which frames were stored, by ACK or by the `seq` of WELCOME.
 * This determines which frames a copy of the folder from any moment must contain.
 */
export class FleetLedger {
  readonly #fleets: ProofFleets
  readonly #key: string
  readonly #known: Acknowledged[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(options: ProofFleetOptions) {
    this.#key = options.key
    this.#fleets = new ProofFleets(options)
  }

  /** The fleets report from now on, over all lives of the server. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#readDevices(), pollMs)
    await this.#fleets.start()
  }

  /** Stops, and returns the faults of the server's messages. */
  stop(): readonly string[] {
    clearInterval(this.#timer)
    this.#readDevices()
    this.#fleets.close()
    return this.#fleets.faults
  }

  get framesAcknowledged(): number {
    return this.#fleets.fleets.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  /** The frames that were acknowledged before a moment; later frames may be stored, too. */
  framesAt(at: number): readonly SentFrames[] {
    const known = this.#known.findLast((each) => each.at < at)?.frames
    return this.#fleets.sentFrames().map((fleet, place) => ({
      ...fleet,
      acknowledged: known?.[place] ?? fleet.sent.map(() => 0),
    }))
  }

  /**
   * Checks that a device that connects to a copy would continue after its last stored frame: otherwise a frame would be
   * stored twice, or never. `stored`: by fleet and device, the last frame in the stream of the copy.
   */
  async sessionFaults(port: number, stored: readonly ArrayLike<number>[]): Promise<readonly string[]> {
    const faults: string[] = []
    for (const [place, { options }] of this.#fleets.fleets.entries()) {
      const { prefix, devices, properties } = options
      const last = Array.from(stored[place] ?? [])
      // Without any report, the copy may be of a moment before the key was created.
      if (!last.some((frame) => frame > 0)) continue
      const hello = reportingHello(properties)
      const link = new FleetLink({
        ...{ port, prefix, authorization: gateway(this.#key), first: 0, step: 1, count: devices, hello },
        failed: ({ message }) => faults.push(message),
      })
      link.sent.set(last)
      // `failed` has already recorded a refused HELLO.
      await link.open().catch(() => undefined)
      link.close()
      for (const [device, seq] of link.acknowledged.entries()) {
        const frame = last[device]
        if (seq !== frame) faults.push(`${prefix}-${device}: WELCOME has seq ${seq}, its last stored frame is ${frame}`)
      }
    }
    return faults.slice(0, detailsMax)
  }

  /** Records the acknowledged frames if some have changed. */
  #readDevices(): void {
    const frames = this.#fleets.sentFrames().map(({ acknowledged }) => acknowledged)
    const before = this.#known.at(-1)?.frames
    if (frames.some((fleet, place) => fleet.some((frame, device) => frame !== before?.[place]?.[device])))
      this.#known.push({ at: unixMs(), frames })
  }
}

/** How many frames were acknowledged. */
export function framesOf(fleets: readonly SentFrames[]): number {
  return fleets.reduce((sum, { acknowledged }) => acknowledged.reduce((all, each) => all + each, sum), 0)
}
