import { FleetCounts } from '#bench/fleet/counts'
import { SimulatedDevice } from '#bench/fleet/device'
import { changesPerFrameMax, FramePlan } from '#bench/fleet/frames'
import type { DeviceKind } from '#bench/fleet/kinds'
import { deviceKinds } from '#bench/fleet/kinds'
import { FleetLink } from '#bench/fleet/link'
import type { FleetOptions } from '#bench/fleet/options'
import { fleetDefaults } from '#bench/fleet/options'
import { firmwareOf } from '#bench/fleet/updates'
import { controlsOf } from '#bench/fleet/writes'
import { SeededRandom } from '#bench/random'
import { until } from '#bench/time'

const tickMs = 5
/** Links opened per tick, so that thousands do not connect at once. */
const connectsPerTick = 20

/** Frames would delay connecting links: the fleet sends nothing until all are connected or this time is over. */
const gatherMsMax = 10_000

/**
 * Devices that behave like a real fleet on the device link (contract 7), and record what they sent and what the server
 * acknowledged. `start` connects, and sends until `pause` or `stop`.
 */
export class Fleet {
  readonly options: FleetOptions
  readonly kinds: readonly DeviceKind[]
  readonly devices: readonly SimulatedDevice[]
  readonly counts = new FleetCounts()
  readonly #links: readonly FleetLink[]
  readonly #linkOf: readonly FleetLink[]
  readonly #pace: Pace
  #tick: NodeJS.Timeout | undefined
  #isPaused = false
  #hasBegun = false
  #startedAt = 0
  /** When full windows last delayed a frame. */
  #heldUntil = 0
  #linksAsked = 0
  #turn = 0
  #stormAt = Infinity
  #livenessAt = 0

  constructor(given: Partial<FleetOptions>) {
    const options: FleetOptions = { ...fleetDefaults, ...given }
    this.options = options
    const { properties, flap, writes } = options
    this.kinds = options.kinds ?? deviceKinds(properties, { isFlapping: flap > 0, isControlled: writes !== 'none' })
    for (const kind of this.kinds) {
      const most = changesPerFrameMax(kind)
      if (options.changes > most) throw new RangeError(`a frame of ${kind.name} holds at most ${most} changes`)
    }
    const plans = this.kinds.map((kind) => new FramePlan(kind, options.changes, options.flap))
    // A device has a new session after each boot. The seed determines content, not the session.
    const boot = Date.now().toString(36)
    const random = new SeededRandom(options.seed)
    this.devices = Array.from({ length: options.devices }, (_, index) => {
      const plan = plans[index % plans.length] as FramePlan
      const identifier = `${options.prefix}-${plan.kind.code}-${String(index).padStart(6, '0')}`
      const session = options.session === 'named' ? `${boot}-${options.seed}-${index}` : undefined
      const firmware = firmwareOf(options.updates, index)
      return new SimulatedDevice(index, identifier, plan, session, controlsOf(options.writes, index), firmware)
    })
    this.#links = spread(this.devices, Math.min(options.links, options.devices)).map(
      (devices) => new FleetLink(devices, { options, counts: this.counts, random, onRoom: (link) => this.#fill(link) }),
    )
    const linkOf = new Map(this.#links.flatMap((link) => link.devices.map((device) => [device, link] as const)))
    this.#linkOf = this.devices.map((device) => linkOf.get(device) as FleetLink)
    const meanChanges = plans.reduce((sum, plan) => sum + plan.meanChangesPerFrame, 0) / plans.length
    this.#pace = new Pace(options.rate / meanChanges)
  }

  get devicesOnline(): number {
    return this.devices.reduce((count, device) => count + (device.isWelcome ? 1 : 0), 0)
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

  resume(): void {
    this.#isPaused = false
    this.#pace.start(performance.now())
    for (const link of this.#links) this.#fill(link)
  }

  cutAll(): void {
    for (const link of this.#links) link.cut()
  }

  async allOnline(timeoutMs: number): Promise<boolean> {
    return until(() => this.devices.every((device) => device.isWelcome), timeoutMs)
  }

  /** After `pause`: waits until no frame is in flight; `false` on a timeout. */
  async settled(timeoutMs: number): Promise<boolean> {
    const isSettled = (device: SimulatedDevice) => device.isWelcome && device.inFlight.length === 0
    return until(() => this.devices.every(isSettled) && this.#links.every((link) => !link.isOwing), timeoutMs)
  }

  async stop(isPolite = true): Promise<void> {
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
      this.#pace.start(now)
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
    if (this.#isPaused || !this.#hasBegun || this.options.rate === 0) return
    this.#keepPace(now)
  }

  /** Sends due frames, each device in turn. Skips devices that are offline or whose link is full. */
  #keepPace(now: number): void {
    for (let dueAt = this.#pace.due(now); dueAt !== undefined; dueAt = this.#pace.due(now)) {
      const device = this.#nextWithRoom()
      if (!device) {
        // No device is online: an outage, not slowness. The schedule goes on without these frames.
        if (this.devicesOnline === 0) this.counts.framesSkipped += this.#pace.skip(now)
        else this.#heldUntil = now
        return
      }
      // A frame that waited for the server counts from when it was due; one that waited for our tick does not.
      this.#linkOf[device.index]?.send(device, dueAt <= this.#heldUntil ? dueAt : now)
      this.#pace.sent()
    }
  }

  #nextWithRoom(): SimulatedDevice | undefined {
    for (let tries = 0; tries < this.devices.length; tries++) {
      const device = this.devices[this.#turn++ % this.devices.length]
      if (device?.isWelcome && this.#linkOf[device.index]?.hasRoom) return device
    }
    return undefined
  }

  /** Without a rate a link sends whenever its window has room. */
  #fill(link: FleetLink): void {
    if (this.options.rate !== 0 || this.#isPaused || !this.#hasBegun) return
    const now = performance.now()
    while (link.hasRoom) {
      const device = link.nextDevice()
      if (!device) return
      link.send(device, now)
    }
  }
}

function spread(devices: readonly SimulatedDevice[], linkCount: number): readonly (readonly SimulatedDevice[])[] {
  const shares: SimulatedDevice[][] = Array.from({ length: linkCount }, () => [])
  for (const device of devices) shares[device.index % linkCount]?.push(device)
  return shares
}

/** The schedule may fall behind by this; then it is shifted. */
const behindMsMax = 60_000

/**
 * When frames are due at a steady rate. A frame that was delayed by a full window keeps its due time, and its latency
 * counts from there: otherwise a server that stalls would look fast, because nothing would be measured during the
 * stall.
 */
export class Pace {
  readonly #intervalMs: number
  #nextAt = 0

  constructor(framesPerSecond: number) {
    this.#intervalMs = framesPerSecond > 0 ? 1000 / framesPerSecond : Infinity
  }

  start(now: number): void {
    this.#nextAt = now
  }

  /** The due time of the next frame, if that is not after `now`. */
  due(now: number): number | undefined {
    if (now - this.#nextAt > behindMsMax) this.#nextAt = now - behindMsMax
    return this.#nextAt <= now ? this.#nextAt : undefined
  }

  sent(): void {
    this.#nextAt += this.#intervalMs
  }

  /** Skips the due frames; returns their number. */
  skip(now: number): number {
    const frames = Math.max(0, Math.floor((now - this.#nextAt) / this.#intervalMs) + 1)
    this.#nextAt += frames * this.#intervalMs
    return frames
  }
}
