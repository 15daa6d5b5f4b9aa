import type { StreamEvent } from '#bench/dashboard'
import { FleetCounts } from '#bench/fleet/counts'
import { SimulatedDevice } from '#bench/fleet/device'
import type { Fleet } from '#bench/fleet/fleet'
import { FleetLink } from '#bench/fleet/link'
import { fleetDefaults } from '#bench/fleet/options'
import type { ReceivedUpdate } from '#bench/fleet/stream-comparison'
import { type ProofFleetOptions, proofFleets } from '#bench/proof/fleets'
import { SeededRandom } from '#bench/random'
import { unixMs, until } from '#bench/time'

/** The last settled frame of a device at a time in Unix ms. */
interface SettledFrame {
  readonly at: number
  readonly settled: number
}

/** How often the devices are read: a recorded time is late by at most this. */
const pollMs = 1
const onlineMsMax = 20_000
const welcomeMsMax = 10_000
const detailsMax = 3

/**
 * Fleets that report over links with all protocols and forms, and when they learned which frames were stored, by ACK or
 * by the `seq` of WELCOME. For any moment they know which frames a server on a copy of the folder must have.
 */
export class FleetLedger {
  readonly fleets: readonly Fleet[]
  readonly #key: string
  readonly #known = new Map<SimulatedDevice, SettledFrame[]>()
  #timer: NodeJS.Timeout | undefined

  /** `url`: `http://host:port` of the server that they report to. */
  constructor(url: string, options: ProofFleetOptions) {
    this.#key = options.key
    this.fleets = proofFleets(url, options)
    for (const fleet of this.fleets) for (const device of fleet.devices) this.#known.set(device, [])
  }

  /** They report from now on, over all lives of the server. @throws when they cannot connect */
  async start(): Promise<void> {
    this.#timer = setInterval(() => this.#readDevices(), pollMs)
    for (const fleet of this.fleets) fleet.start()
    for (const fleet of this.fleets)
      if (!(await fleet.allOnline(onlineMsMax))) throw new Error(`fleet ${fleet.options.prefix} did not connect`)
  }

  /** Stops, and returns the faults of the server's messages. */
  async stop(): Promise<readonly string[]> {
    clearInterval(this.#timer)
    await Promise.all(this.fleets.map((fleet) => fleet.stop(false)))
    return this.fleets.flatMap((fleet) => fleet.counts.faults)
  }

  get framesAcknowledged(): number {
    return this.fleets.reduce((sum, { counts }) => sum + counts.framesAcknowledged, 0)
  }

  /** The devices as of a moment; later frames may be stored, too. */
  devicesAt(at: number): readonly SimulatedDevice[] {
    return [...this.#known].map(([device, known]) => {
      const then = new SimulatedDevice(device.index, device.identifier, device.plan, device.session)
      then.sent = device.sent
      then.settled = known.findLast((each) => each.at < at)?.settled ?? 0
      // A frame that was given up, or refused, is never acknowledged later.
      for (const frame of device.uncertain) then.uncertain.add(frame)
      for (const frame of device.refused) then.refused.add(frame)
      return then
    })
  }

  /**
   * A device that connects to a copy continues after its last stored frame: otherwise a frame would be stored twice, or
   * never. `devices`: as of a moment. `events`: the whole stream of the copy.
   */
  async sessionFaults(
    url: string,
    devices: readonly SimulatedDevice[],
    events: readonly StreamEvent[],
  ): Promise<readonly string[]> {
    const last = new Map<string, number>()
    const byIdentifier = new Map(devices.map((device) => [device.identifier, device]))
    for (const event of events) {
      if (event.type !== 'OBJECT_UPDATED') continue
      const { deviceIdentifier, serviceIdentifier, updates } = event as unknown as ReceivedUpdate
      const frame = byIdentifier.get(deviceIdentifier)?.plan.frameNumberOf(serviceIdentifier, updates)
      if (frame !== undefined) last.set(deviceIdentifier, frame)
    }
    const back = devices.filter(({ identifier, session }) => session !== undefined && last.has(identifier))
    if (back.length === 0) return []
    const counts = new FleetCounts()
    const options = { ...fleetDefaults, url: url.replace(/^http/, 'ws'), key: this.#key }
    const link = new FleetLink(back, { options, counts, random: new SeededRandom(1), onRoom() {} })
    link.connect()
    await until(() => back.every(({ isWelcome }) => isWelcome), welcomeMsMax, 5)
    // Closing a link resets `isWelcome` of its devices.
    const wrong = back.filter((device) => !device.isWelcome || device.settled !== last.get(device.identifier))
    link.stop(false)
    const faults = wrong.map(
      ({ identifier, settled, isWelcome }) =>
        `${identifier}: ${isWelcome ? `WELCOME says ${settled}` : 'no WELCOME'}, and its last stored frame is ${last.get(identifier)}`,
    )
    return [...counts.faults, ...faults].slice(0, detailsMax)
  }

  #readDevices(): void {
    const at = unixMs()
    for (const [device, known] of this.#known)
      if (device.settled !== (known.at(-1)?.settled ?? 0)) known.push({ at, settled: device.settled })
  }
}

/** How many frames the devices know to be stored. */
export function framesOf(devices: readonly SimulatedDevice[]): number {
  let count = 0
  for (const device of devices)
    for (let frame = 1; frame <= device.settled; frame++) if (device.isAcknowledged(frame)) count++
  return count
}
