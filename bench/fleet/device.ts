import { type DeviceValue, encodeChange, type SimulatedProperty } from '#bench/fleet/encoding'
import type { Change, Frame, FramePlan } from '#bench/fleet/frames'
import { controlsService } from '#bench/fleet/kinds'
import { DeviceFirmware } from '#bench/fleet/updates'
import type { LinkWire } from '#bench/fleet/wire'
import type { DeviceControls } from '#bench/fleet/writes'

/** A frame on its way: sent, neither acknowledged nor refused. */
export interface InFlight {
  readonly frame: number
  /** When it should have left, on the monotonic clock: latency counts from here. */
  readonly dueAt: number
  readonly timestamp: number | undefined
  /** Sent more than once; its latency would be that of the outage. */
  isResent: boolean
}

/** `named`: numbering continues over reconnects, nothing is lost. `none`: what was on its way at a cut is given up. */
export type SessionKind = 'named' | 'none'

/**
 * One device: its numbering, and the books on what it sent and what the server answered for.
 *
 * Frames are numbered 1, 2, 3 … for the device's whole life. With a named session `seq` is the frame's number; without
 * one the numbering on the wire starts again after every HELLO.
 * - `settled`: every frame up to this one was acknowledged or refused or given up; an acknowledged one is stored.
 * - `refused`: answered with an ERROR that names its seq. It must never be heard.
 * - `uncertain`: given up at a cut. It may have been stored or not, but at most once.
 *
 * What it was written is said in frames of the same numbering, which are remembered.
 *
 * A device that begins anew (`restart`) has another session: what was on its way is given up likewise.
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
  /** Without power, until it begins anew. */
  isDown = false
  begunAt = 0
  #session: string | undefined
  #starts = 0
  /** Its session is not known to the server yet. */
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

  /** From now on it is another session, whose frames are numbered anew. It says nothing before it is welcome. */
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
   * The server's answer to HELLO: `seq` is the last it stored of this session. What is above is to be sent again.
   * Answers the frames that this settled, and a fault when the server has forgotten what it acknowledged, or remembers
   * what was never sent.
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

  /** `changes`: what the controls became, where the frame tells that. */
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

  /** Tells of what was written, and carries no number. */
  isOfControls(frame: number): boolean {
    return this.#controlFrames.has(frame)
  }

  /** Stored, by the server's own word. */
  isAcknowledged(frame: number): boolean {
    return frame <= this.settled && !this.refused.has(frame) && !this.uncertain.has(frame)
  }

  /** What HELLO says of a property: of those alone that are not reported all the time. */
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

  /** A refused frame is settled without being stored, so the server need not remember its seq. */
  #isAllRefused(from: number, to: number): boolean {
    for (let frame = from; frame <= to; frame++) if (!this.refused.has(frame)) return false
    return true
  }
}
