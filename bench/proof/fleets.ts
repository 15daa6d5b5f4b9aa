import { type Authorizations, gateway } from '#bench/harness/identity'
import { LoadFleet } from '#bench/load/fleet'
import { FleetLink, reportingHello } from '#bench/load/fleet-link'
import type { SentFrames } from '#bench/proof/event-checker'
import { SeededRandom } from '#bench/random'
import { isFulfilled, unixMs } from '#bench/time'

interface ProofFleetOptions {
  readonly port: number
  readonly devices: number
  /** Changes a second, of all fleets together. */
  readonly rate: number
  readonly seed: number
  /** A provisioning key. */
  readonly key: string
}

/**
 * The number of changes in a frame and of properties of a device: each frame overrides all values of the frame before.
 */
const changes = 4
const devicesPerGateway = 10

/** Devices that report over the whole proof, and continue after the last stored frame when the server is back. */
export class ProofFleets {
  /** Devices with a link each, and devices behind gateways. */
  readonly fleets: readonly LoadFleet[]
  /** Faults of the server. */
  readonly faults: string[] = []
  readonly #framesPerSecond: number

  constructor({ port, devices, rate, seed, key }: ProofFleetOptions) {
    const random = new SeededRandom(seed)
    const authorizations: Authorizations = { link: gateway(key), person: '' }
    const gateways = Math.max(1, Math.round(devices / 2 / devicesPerGateway))
    const alone = Math.max(1, devices - gateways * devicesPerGateway)
    const ended = (how: string) => {
      if (/^ERROR (?!OVERLOADED|STORAGE)/.test(how)) this.faults.push(how)
    }
    const reconnecting = { ended, chance: () => random.next(), isRepeating: true, backoffMsMax: 400 }
    this.fleets = [
      { prefix: 'ALONE', devices: alone, links: alone },
      { prefix: 'GATEWAY', devices: gateways * devicesPerGateway, links: gateways },
    ].map(
      (size) => new LoadFleet({ ...size, port, authorizations, reconnecting, changes, properties: changes, window: 0 }),
    )
    this.#framesPerSecond = rate / changes / this.fleets.length
  }

  async start(): Promise<void> {
    for (const fleet of this.fleets) await fleet.open()
    for (const fleet of this.fleets) fleet.beginPace(this.#framesPerSecond)
  }

  readonly sentFrames = (): readonly SentFrames[] =>
    this.fleets.map((fleet) => ({ prefix: fleet.options.prefix, ...fleet.sequences() }))

  get changesAcknowledged(): number {
    return this.fleets.reduce((sum, { acknowledged }) => sum + acknowledged * changes, 0)
  }

  /** Makes no new frames; resolves with whether all were acknowledged in time. */
  async settled(timeoutMs: number): Promise<boolean> {
    for (const fleet of this.fleets) fleet.pause()
    const settled = this.fleets.map((fleet) => isFulfilled(fleet.settled(timeoutMs)))
    return !(await Promise.all(settled)).includes(false)
  }

  cutSome(random: SeededRandom): void {
    random.pick(this.fleets)?.cutAll()
  }

  close(): void {
    for (const fleet of this.fleets) fleet.close()
    this.faults.push(...this.fleets.flatMap(({ failures }) => failures.map(({ message }) => message)))
  }
}

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
export class FleetLedger extends ProofFleets {
  readonly #known: Acknowledged[] = []
  #timer: NodeJS.Timeout | undefined

  /** The fleets report from now on, over all lives of the server. */
  override async start(): Promise<void> {
    this.#timer = setInterval(() => this.#readDevices(), pollMs)
    await super.start()
  }

  override close(): void {
    clearInterval(this.#timer)
    this.#readDevices()
    super.close()
  }

  get framesAcknowledged(): number {
    return this.fleets.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  /** The frames that were acknowledged before a moment; later frames may be stored, too. */
  framesAt(at: number): readonly SentFrames[] {
    const known = this.#known.findLast((each) => each.at < at)?.frames
    return this.sentFrames().map((fleet, place) => ({
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
    for (const [place, { options }] of this.fleets.entries()) {
      const { prefix, devices, properties, authorizations } = options
      const last = Array.from(stored[place] ?? [])
      // Without any report, the copy may be of a moment before the key was created.
      if (!last.some((frame) => frame > 0)) continue
      const hello = reportingHello(properties)
      const link = new FleetLink({
        ...{ port, prefix, authorization: authorizations?.link, first: 0, step: 1, count: devices, hello },
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
    const frames = this.sentFrames().map(({ acknowledged }) => acknowledged)
    const before = this.#known.at(-1)?.frames
    if (frames.some((fleet, place) => fleet.some((frame, device) => frame !== before?.[place]?.[device])))
      this.#known.push({ at: unixMs(), frames })
  }
}

/** How many frames were acknowledged. */
export function framesOf(fleets: readonly SentFrames[]): number {
  return fleets.reduce((sum, { acknowledged }) => acknowledged.reduce((all, each) => all + each, sum), 0)
}
