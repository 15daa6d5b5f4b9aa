import { type DeviceValue, encodeChange, type SimulatedProperty } from '#bench/fleet/encoding'
import type { Change, Frame, FramePlan } from '#bench/fleet/frames'
import { controlsService } from '#bench/fleet/kinds'
import { DeviceFirmware } from '#bench/fleet/updates'
import type { LinkWire } from '#bench/fleet/wire'
import type { DeviceControls } from '#bench/fleet/writes'

/** A frame that was sent, and was neither acknowledged nor refused. */
export interface InFlight {
  readonly frame: number
  /** When it was due, on the monotonic clock: latency counts from here. */
  readonly dueAt: number
  readonly timestamp: number | undefined
  /** Sent more than once: its latency would include the outage. */
  isResent: boolean
}

/**
 * `named`: numbering continues over reconnects, and nothing is lost. `none`: frames that are in flight at a disconnect
 * are given up.
 */
export type SessionKind = 'named' | 'none'

/**
 * One device: numbers its frames, and records which of them the server acknowledged or refused.
 *
 * Frames are numbered 1, 2, 3 … for the device's whole life. With a named session `seq` is the frame's number; without
 * one the numbering on the wire starts again after every HELLO.
 * - `settled`: every frame up to this one was acknowledged, refused or given up; an acknowledged one is stored.
 * - `refused`: answered with an ERROR that names its seq. It must never be published.
 * - `uncertain`: given up at a disconnect. It may have been stored or not, but at most once.
 *
 * Results of writes are reported in frames of the same numbering. Their content is remembered.
 *
 * A device that restarts (`restart`) has a new session: its frames in flight are given up as well.
 */
export class SimulatedDevice {
  readonly index: number
  readonly identifier: string
  readonly plan: FramePlan
  readonly firmware: DeviceFirmware
  readonly controls: DeviceControls | undefined
  readonly refused = new Set<number>()
  readonly uncertain = new Set<number>()
  readonly inFlight: InFlight[] = []
  flakeAddress = 0
  sent = 0
  settled = 0
  isWelcome = false
  /** Has no power until it restarts. */
  isDown = false
  begunAt = 0
  #session: string | undefined
  #starts = 0
  /** The server does not know its session yet. */
  #isFresh = false
  /** seq = frame − offset. */
  #seqOffset = 0
  readonly #controlFrames = new Map<number, Frame>()

  constructor(
    index: number,
    identifier: string,
    plan: FramePlan,
    session: string | undefined,
    controls?: DeviceControls,
    firmware = new DeviceFirmware('refuse'),
  ) {
    this.index = index
    this.identifier = identifier
    this.plan = plan
    this.#session = session
    this.firmware = firmware
    this.controls = controls
  }

  get session(): string | undefined {
    return this.#session !== undefined && this.#starts > 0 ? `${this.#session}-${this.#starts}` : this.#session
  }

  /** Starts a new session, whose frames are numbered from 1. The device sends nothing until it is welcome. */
  restart(): void {
    this.isWelcome = false
    this.isDown = true
    this.#starts++
    this.#isFresh = true
  }

  hello(wire: LinkWire): object {
    const { kind } = this.plan
    return {
      type: 'HELLO',
      deviceIdentifier: this.identifier,
      ...(this.session !== undefined && { session: this.session }),
      project: kind.code.toLowerCase(),
      firmwares: [{ firmware: this.firmware.version, hardware: 'rev-b', index: 0 }],
      services: kind.services.map((service) => ({
        serviceIdentifier: service.serviceIdentifier,
        properties: service.properties.map((property) => {
          const value = this.#declared(property)
          return {
            propId: property.propId,
            type: property.type,
            modifier: {
              ...(property.order === undefined && { isReadOnly: true }),
              ...(property.order === 'actionable' && { isActionable: true }),
              ...(property.type.endsWith('-ARRAY') && { isArray: true }),
            },
            ...(value !== undefined && { value: wire.value({ property, value }) }),
          }
        }),
      })),
    }
  }

  /**
   * Handles the answer to HELLO. `seq` is the last stored frame of this session; later frames must be sent again.
   * Returns the settled frames, and a fault if the server has lost an acknowledged frame or names one that was never
   * sent.
   */
  welcome(flakeAddress: number, seq: number): { readonly settled: readonly InFlight[]; readonly fault?: string } {
    this.flakeAddress = flakeAddress
    this.isWelcome = true
    if (this.session === undefined || this.#isFresh) {
      this.#isFresh = false
      this.#giveUp()
      return seq === 0 ? { settled: [] } : { settled: [], fault: `WELCOME of a new session has seq ${seq}, not 0` }
    }
    const stored = this.frameOf(seq)
    const before = this.settled
    const settled = this.#settle(Math.min(stored, this.sent))
    for (const it of this.inFlight) it.isResent = true
    if (stored > this.sent)
      return { settled, fault: `WELCOME has seq ${seq}, but only ${this.seqOf(this.sent)} were sent` }
    if (stored < before && !this.#isAllRefused(stored + 1, before)) {
      return { settled, fault: `WELCOME has seq ${seq}, but ${this.seqOf(before)} was acknowledged` }
    }
    return { settled }
  }

  /** `changes`: results of writes, if the frame reports those. */
  next(dueAt: number, timestamp: number | undefined, changes?: readonly Change[]): InFlight {
    this.sent++
    if (changes) {
      const serviceIndex = this.plan.kind.services.indexOf(controlsService)
      this.#controlFrames.set(this.sent, { number: this.sent, service: controlsService, serviceIndex, changes })
    }
    const sent = { frame: this.sent, dueAt, timestamp, isResent: false }
    this.inFlight.push(sent)
    return sent
  }

  acknowledge(seq: number): readonly InFlight[] | undefined {
    const frame = this.frameOf(seq)
    return frame <= this.sent ? this.#settle(frame) : undefined
  }

  refuse(seq: number): boolean {
    const frame = this.frameOf(seq)
    const place = this.inFlight.findIndex((it) => it.frame === frame)
    if (place < 0) return false
    this.inFlight.splice(place, 1)
    this.refused.add(frame)
    return true
  }

  seqOf(frame: number): number {
    return frame - this.#seqOffset
  }

  frameOf(seq: number): number {
    return seq + this.#seqOffset
  }

  frame(number: number): Frame {
    return this.#controlFrames.get(number) ?? this.plan.frame(this.index, number)
  }

  changeCount(number: number): number {
    return this.#controlFrames.get(number)?.changes.length ?? this.plan.changeCount(this.index, number)
  }

  /** Frames that report the result of a write carry no change number. */
  isOfControls(frame: number): boolean {
    return this.#controlFrames.has(frame)
  }

  /** Acknowledged by the server, and so stored. */
  isAcknowledged(frame: number): boolean {
    return frame <= this.settled && !this.refused.has(frame) && !this.uncertain.has(frame)
  }

  /** The value in HELLO; only of properties that are not reported regularly. */
  #declared(property: SimulatedProperty): DeviceValue | undefined {
    if (property.isConstant) return encodeChange(property, this.index, 0)
    return property.order === undefined ? undefined : this.controls?.valueOf(property)
  }

  #settle(frame: number): readonly InFlight[] {
    let count = 0
    while ((this.inFlight[count]?.frame ?? Infinity) <= frame) count++
    if (frame > this.settled) this.settled = frame
    return this.inFlight.splice(0, count)
  }

  #giveUp(): void {
    for (const { frame } of this.inFlight) this.uncertain.add(frame)
    this.inFlight.length = 0
    this.settled = this.sent
    this.#seqOffset = this.sent
  }

  /** A refused frame is settled without being stored: the server need not remember its seq. */
  #isAllRefused(from: number, to: number): boolean {
    for (let frame = from; frame <= to; frame++) if (!this.refused.has(frame)) return false
    return true
  }
}
