import { FleetCounts } from '#bench/fleet/counts'
import { SimulatedDevice } from '#bench/fleet/device'
import { type DeviceKind, deviceKinds, FramePlan } from '#bench/fleet/kinds'
import { FleetLink } from '#bench/fleet/link'
import { type FleetOptions, fleetDefaults } from '#bench/fleet/options'
import { firmwareOf } from '#bench/fleet/updates'
import { controlsOf } from '#bench/fleet/writes'
import { SeededRandom } from '#bench/random'
import { until } from '#bench/time'

const tickMs = 5
/** Links opened per tick, so that thousands do not connect at once. */
const connectsPerTick = 20

/** Frames would delay connecting links: the fleet sends nothing until all are connected or this time is over. */
const gatherMsMax = 10_000

/** If sending has fallen behind its schedule by more than this, the schedule is shifted. */
const behindMsMax = 1_000

/**
 * Devices that behave like a real fleet on the device link (contract 7). `start` connects, and sends until `pause` or
 * `stop`. The load generator (`bench/load`) costs less, and only reports.
 */
export class Fleet {
  readonly options: FleetOptions
  readonly kinds: readonly DeviceKind[]
  readonly devices: readonly SimulatedDevice[]
  readonly counts = new FleetCounts()
  isStopped = false
  readonly #links: readonly FleetLink[]
  /** The time between two frames; 0: as fast as the windows allow. */
  readonly #intervalMs: number
  #nextAt = 0
  #tick: NodeJS.Timeout | undefined
  #isPaused = false
  #hasBegun = false
  #startedAt = 0
  #linksAsked = 0
  #turn = 0
  #stormAt = Infinity
  #livenessAt = 0

  constructor(given: Partial<FleetOptions>) {
    const options: FleetOptions = { ...fleetDefaults, ...given }
    this.options = options
    const { flap, writes, rate } = options
    this.kinds = options.kinds ?? deviceKinds({ isFlapping: flap > 0, isControlled: writes !== 'none' })
    const plans = this.kinds.map((kind) => new FramePlan(kind, options.changes, options.flap))
    // Each boot has new sessions, even with the same seed.
    const boot = Date.now().toString(36)
    const random = new SeededRandom(options.seed)
    this.devices = Array.from({ length: options.devices }, (_, index) => {
      const plan = plans[index % plans.length] as FramePlan
      const identifier = `${options.prefix}-${plan.kind.code}-${String(index).padStart(6, '0')}`
      return new SimulatedDevice(index, identifier, {
        ...{ plan, session: `${boot}-${options.seed}-${index}`, firmware: firmwareOf(options.updates, index) },
        controls: controlsOf(options.writes, index),
      })
    })
    const linksCount = Math.min(options.links, options.devices)
    this.#links = Array.from({ length: linksCount }, (_, place) => {
      const devices = this.devices.filter(({ index }) => index % linksCount === place)
      return new FleetLink(devices, { options, counts: this.counts, random, onRoom: (link) => this.#fill(link) })
    })
    const meanChanges = plans.reduce((sum, plan) => sum + plan.meanChangesPerFrame, 0) / plans.length
    this.#intervalMs = rate === 0 ? 0 : (1000 * meanChanges) / rate
  }

  get devicesOnline(): number {
    return this.devices.filter(({ isWelcomed }) => isWelcomed).length
  }

  start(): void {
    const now = performance.now()
    const { storm } = this.options
    if (storm > 0) this.#stormAt = now + storm * 1000
    this.#startedAt = now
    this.#tick = setInterval(() => this.#onTick(performance.now()), tickMs)
  }

  /** Sends no new frames; frames in flight are still completed. */
  pause(): void {
    this.#isPaused = true
  }

  cutAll(): void {
    for (const link of this.#links) link.cut()
  }

  async allOnline(timeoutMs: number): Promise<boolean> {
    return until(() => this.devices.every((device) => device.isWelcomed), timeoutMs)
  }

  /** After `pause`: waits until no frame is in flight; `false` on a timeout. */
  async settled(timeoutMs: number): Promise<boolean> {
    return until(() => this.devices.every((device) => device.isWelcomed && device.inFlight.length === 0), timeoutMs)
  }

  async stop(isPolite = true): Promise<void> {
    this.isStopped = true
    this.#isPaused = true
    clearInterval(this.#tick)
    for (const link of this.#links) link.stop(isPolite)
    await until(() => this.#links.every((link) => !link.isOpen), 2_000)
  }

  report() {
    return {
      devices: this.devices.length,
      devicesOnline: this.devicesOnline,
      links: this.#links.length,
      linksOpen: this.#links.filter((link) => link.isOpen).length,
      ...this.counts.report(),
    }
  }

  #onTick(now: number): void {
    for (let opened = 0; opened < connectsPerTick && this.#linksAsked < this.#links.length; opened++) {
      this.#links[this.#linksAsked++]?.connect()
    }
    if (!this.#hasBegun && (now - this.#startedAt > gatherMsMax || this.devicesOnline === this.devices.length)) {
      this.#hasBegun = true
      this.#nextAt = now
      for (const link of this.#links) this.#fill(link)
    }
    if (now >= this.#livenessAt) {
      this.#livenessAt = now + 1_000
      for (const link of this.#links) link.checkLiveness(now)
    }
    if (now >= this.#stormAt) {
      this.#stormAt = now + this.options.storm * 1000
      this.cutAll()
    }
    if (!this.#isPaused && this.#hasBegun && this.#intervalMs > 0) this.#keepPace(now)
  }

  /** Sends due frames, each link in turn. Skips links that are closed or full. */
  #keepPace(now: number): void {
    this.#nextAt = Math.max(this.#nextAt, now - behindMsMax)
    for (let tries = 0; this.#nextAt <= now && tries < this.#links.length; ) {
      const link = this.#links[this.#turn++ % this.#links.length]
      const device = link?.hasRoom ? link.nextDevice() : undefined
      tries = device ? 0 : tries + 1
      if (!device) continue
      link?.send(device)
      this.#nextAt += this.#intervalMs
    }
  }

  /** Without a rate a link sends whenever its window has room. */
  #fill(link: FleetLink): void {
    if (this.#intervalMs > 0 || this.#isPaused || !this.#hasBegun) return
    for (let device = link.nextDevice(); device && link.hasRoom; device = link.nextDevice()) link.send(device)
  }
}
