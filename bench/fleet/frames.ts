import {
  type DeviceKind,
  type DeviceValue,
  levelService,
  type SimulatedProperty,
  type SimulatedService,
} from '#bench/fleet/kinds'

export interface Change {
  readonly property: SimulatedProperty
  readonly value: DeviceValue
}

export interface Frame {
  readonly service: SimulatedService
  readonly changes: readonly Change[]
}

/** Every eighth frame reports the diagnostics. */
const diagnosticsEvery = 8

/** The content of the frames of one kind of device. It is a pure function of the device and the frame's number. */
export class FramePlan {
  readonly kind: DeviceKind
  readonly #changesPerFrame: number
  /** The level crosses its threshold once in this number of frames; 0: never. */
  readonly #flap: number
  /** By service, the properties that are not constant. The measuring service is first, the diagnostics second. */
  readonly #reported: readonly (readonly SimulatedProperty[])[]

  /** `flap` needs a kind with a level. */
  constructor(kind: DeviceKind, changesPerFrame: number, flap = 0) {
    this.kind = kind
    this.#changesPerFrame = changesPerFrame
    this.#flap = flap
    this.#reported = kind.services.map(({ properties }) => properties.filter((property) => !property.isConstant))
  }

  /** The frame with this number. It reports the next properties in rotation. */
  frame(deviceIndex: number, number: number): Frame {
    const crossing = this.#flap > 0 ? (number + deviceIndex) / this.#flap : 0.5
    if (Number.isInteger(crossing)) return this.#levelFrame(crossing % 2 === 1)
    // Devices report their diagnostics at different times.
    const serviceIndex = (number + deviceIndex) % diagnosticsEvery === 0 ? 1 : 0
    const properties = this.#reported[serviceIndex] ?? []
    const count = Math.min(this.#changesPerFrame, properties.length)
    const changes = Array.from({ length: count }, (_, place) => {
      const property = properties[(number * count + place) % properties.length] as SimulatedProperty
      return { property, value: reportedValue(property, deviceIndex, number * this.#changesPerFrame + place) }
    })
    return { service: this.kind.services[serviceIndex] as SimulatedService, changes }
  }

  get meanChangesPerFrame(): number {
    const [measured = 0, diagnostics = 0] = this.#reported.map(({ length }) => Math.min(this.#changesPerFrame, length))
    const others = (measured * (diagnosticsEvery - 1) + diagnostics) / diagnosticsEvery
    return this.#flap > 0 ? others + (1 - others) / this.#flap : others
  }

  #levelFrame(isAbove: boolean): Frame {
    const [property] = levelService.properties as readonly [SimulatedProperty]
    const [low, high] = property.range as readonly [number, number]
    return { service: levelService, changes: [{ property, value: isAbove ? high : low }] }
  }
}

export function reportedValue({ model }: SimulatedProperty, deviceIndex: number, number: number): DeviceValue {
  return model?.(number, deviceIndex) ?? 0
}
