import { type Authorizations, gateway } from '#bench/harness/identity'
import { LoadFleet } from '#bench/load/fleet'
import type { SentFrames } from '#bench/proof/event-checker'
import { SeededRandom } from '#bench/random'

export interface ProofFleetOptions {
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
    const settled = this.fleets.map((fleet) =>
      fleet.settled(timeoutMs).then(
        () => true,
        () => false,
      ),
    )
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
