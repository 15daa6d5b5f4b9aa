import {
  type Change,
  controlsService,
  type DeviceValue,
  type Frame,
  type FramePlan,
  reportedValue,
  type SimulatedProperty,
} from '#bench/fleet/kinds'
import type { DeviceFirmware } from '#bench/fleet/updates'
import type { DeviceControls } from '#bench/fleet/writes'

/** A frame that was sent, and was neither acknowledged nor refused. */
export interface FrameInFlight {
  readonly seq: number
  readonly frame: Frame
  readonly sentAt: number
  readonly timestamp: number | undefined
  /** Whether the frame was sent again after an outage: then its latency is not recorded. */
  isResent: boolean
}

interface DeviceParts {
  readonly plan: FramePlan
  readonly session: string
  readonly firmware: DeviceFirmware
  readonly controls: DeviceControls | undefined
}

/**
 * One device: numbers its frames 1, 2, 3 …, goes on counting after a reconnect, and keeps the frames that the server
 * has not acknowledged. A device that restarts has a new session, and has forgotten its frames.
 */
export class SimulatedDevice {
  readonly index: number
  readonly identifier: string
  readonly plan: FramePlan
  readonly firmware: DeviceFirmware
  readonly controls: DeviceControls | undefined
  inFlight: FrameInFlight[] = []
  flakeAddress = 0
  isWelcomed = false
  /** Between `restart` and the end of the pause after it: the device sends no frames. */
  isDown = false
  begunAt = 0
  readonly #session: string
  #starts = 0
  /** The server does not know the device's session yet; the frames in flight are of the previous session. */
  #isFresh = false
  /** The number of frames sent in this session. */
  #sent = 0
  #acknowledged = 0
  /** Planned frames in all sessions, without results of writes; the number selects the content. */
  #planned = 0

  constructor(index: number, identifier: string, { plan, session, firmware, controls }: DeviceParts) {
    this.index = index
    this.identifier = identifier
    this.plan = plan
    this.#session = session
    this.firmware = firmware
    this.controls = controls
  }

  get session(): string {
    return this.#starts > 0 ? `${this.#session}-${this.#starts}` : this.#session
  }

  /** Takes the device down; its next HELLO begins a new session. */
  restart(): void {
    this.isWelcomed = false
    this.isDown = true
    this.#starts++
    this.#isFresh = true
  }

  hello(): object {
    const { kind } = this.plan
    return {
      type: 'HELLO',
      deviceIdentifier: this.identifier,
      session: this.session,
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
            ...(value !== undefined && { value }),
          }
        }),
      })),
    }
  }

  /**
   * Handles the answer to HELLO. `seq` is the last stored frame of this session; later frames must be sent again.
   * Returns the settled frames, or a fault if the server has lost an acknowledged frame or names one that was not sent.
   */
  welcome(flakeAddress: number, seq: number): readonly FrameInFlight[] | string {
    this.flakeAddress = flakeAddress
    this.isWelcomed = true
    if (this.#isFresh) {
      this.#isFresh = false
      this.#sent = 0
      this.#acknowledged = 0
      this.inFlight = []
    }
    if (seq > this.#sent) return `WELCOME has seq ${seq}, but only ${this.#sent} were sent`
    if (seq < this.#acknowledged) return `WELCOME has seq ${seq}, but ${this.#acknowledged} was acknowledged`
    for (const frame of this.inFlight) frame.isResent = true
    return this.acknowledge(seq) as readonly FrameInFlight[]
  }

  /** The next frame to send. It reports `changes`, which are results of writes, or else the planned content. */
  nextFrame(timestamp: number | undefined, changes?: readonly Change[]): FrameInFlight {
    const frame = changes ? { service: controlsService, changes } : this.plan.frame(this.index, ++this.#planned)
    const sent = { seq: ++this.#sent, frame, sentAt: performance.now(), timestamp, isResent: false }
    this.inFlight.push(sent)
    return sent
  }

  /** Returns the settled frames; undefined if the frame was not sent. */
  acknowledge(seq: number): readonly FrameInFlight[] | undefined {
    if (seq > this.#sent) return undefined
    this.#acknowledged = Math.max(this.#acknowledged, seq)
    const settled = this.inFlight.filter((frame) => frame.seq <= seq)
    this.inFlight.splice(0, settled.length)
    return settled
  }

  refuse(seq: number): boolean {
    const place = this.inFlight.findIndex((frame) => frame.seq === seq)
    if (place >= 0) this.inFlight.splice(place, 1)
    return place >= 0
  }

  /** The value in HELLO; undefined for properties that are reported regularly. */
  #declared(property: SimulatedProperty): DeviceValue | undefined {
    if (property.isConstant) return reportedValue(property, this.index, 0)
    return property.order === undefined ? undefined : this.controls?.valueOf(property)
  }
}
