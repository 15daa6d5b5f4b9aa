import type { DeviceValue, SimulatedProperty } from '#bench/fleet/encoding'
import { decodeChange, encodeChange, encodeCrossing, isWide } from '#bench/fleet/encoding'
import { type DeviceKind, levelService, type SimulatedService } from '#bench/fleet/kinds'

export interface Change {
  readonly property: SimulatedProperty
  readonly value: DeviceValue
}

export interface Frame {
  readonly number: number
  readonly service: SimulatedService
  readonly serviceIndex: number
  readonly changes: readonly Change[]
}

/** Every eighth frame reports the diagnostics. */
const diagnosticsEvery = 8

/**
 * The content of the frames of one kind of device: a pure function of the device and the frame's number, so nothing
 * that was sent has to be stored to send it again or to check it later.
 *
 * Frame `n` (from 1) of a device with K changes a frame carries the changes (n − 1)·K + 1 … n·K, in this order. The
 * first change is of a wide property, which carries the number; no property occurs twice in a frame. A frame of the
 * diagnostics has at most as many changes as they have properties, one of an alternating level has one; the remaining
 * numbers are skipped.
 */
export class FramePlan {
  readonly kind: DeviceKind
  readonly changesPerFrame: number
  /** Every how many frames the level crosses its threshold; 0: never. */
  readonly #flap: number
  readonly #services: readonly {
    readonly wide: readonly SimulatedProperty[]
    readonly all: readonly SimulatedProperty[]
  }[]
  readonly #propertyOf = new Map<string, Map<number, SimulatedProperty>>()

  /** `flap`: with a kind that has a level. */
  constructor(kind: DeviceKind, changesPerFrame: number, flap = 0) {
    this.kind = kind
    this.changesPerFrame = changesPerFrame
    this.#flap = flap
    this.#services = kind.services.map(({ properties }) => ({
      wide: properties.filter(isWide),
      all: properties.filter((property) => !property.isConstant),
    }))
    for (const service of kind.services) {
      this.#propertyOf.set(service.serviceIdentifier, new Map(service.properties.map((it) => [it.propId, it])))
    }
  }

  frame(deviceIndex: number, number: number): Frame {
    const crossing = this.#crossingOf(deviceIndex, number)
    if (crossing !== undefined) return this.#crossingFrame(number, crossing)
    const serviceIndex = serviceIndexOf(deviceIndex, number)
    const service = this.kind.services[serviceIndex]
    const available = this.#services[serviceIndex]
    if (!service || !available) throw new RangeError(`${this.kind.name} has no service ${serviceIndex}`)
    const properties = pick(available.wide, available.all, this.#sizeOf(available.all), number)
    const firstChange = this.#firstChangeOf(number)
    return {
      number,
      service,
      serviceIndex,
      changes: properties.map((property, place) => ({
        property,
        value: encodeChange(property, deviceIndex, firstChange + place),
      })),
    }
  }

  changeCount(deviceIndex: number, number: number): number {
    if (this.#crossingOf(deviceIndex, number) !== undefined) return 1
    return this.#sizeOf(this.#services[serviceIndexOf(deviceIndex, number)]?.all ?? [])
  }

  get meanChangesPerFrame(): number {
    const [measured, diagnostics] = this.#services.map(({ all }) => this.#sizeOf(all))
    const others = ((measured ?? 0) * (diagnosticsEvery - 1) + (diagnostics ?? 0)) / diagnosticsEvery
    return this.#flap > 0 ? others + (1 - others) / this.#flap : others
  }

  property(serviceIdentifier: string, propId: number): SimulatedProperty | undefined {
    return this.#propertyOf.get(serviceIdentifier)?.get(propId)
  }

  /** The number of the frame that an event's items came in, from the first wide item. */
  frameNumberOf(serviceIdentifier: string, items: readonly { propId: number; value?: unknown }[]): number | undefined {
    for (const item of items) {
      const property = this.property(serviceIdentifier, item.propId)
      const change = property && decodeChange(property, item.value)
      if (change !== undefined) return Math.ceil(change / this.changesPerFrame)
    }
    return undefined
  }

  /** The crossing of the level that a frame reports, if it reports one. Devices cross at different times. */
  #crossingOf(deviceIndex: number, number: number): number | undefined {
    const turn = this.#flap > 0 ? (number + deviceIndex) / this.#flap : 0.5
    return Number.isInteger(turn) ? turn : undefined
  }

  #crossingFrame(number: number, crossing: number): Frame {
    const [property] = levelService.properties
    if (!property) throw new RangeError('there is no level')
    const value = encodeCrossing(property, crossing % 2 === 1, this.#firstChangeOf(number))
    const serviceIndex = this.kind.services.indexOf(levelService)
    return { number, service: levelService, serviceIndex, changes: [{ property, value }] }
  }

  #firstChangeOf(number: number): number {
    return (number - 1) * this.changesPerFrame + 1
  }

  #sizeOf(available: readonly SimulatedProperty[]): number {
    return Math.min(this.changesPerFrame, available.length)
  }
}

/** Devices report their diagnostics at different times. */
function serviceIndexOf(deviceIndex: number, number: number): number {
  return (number + deviceIndex) % diagnosticsEvery === 0 ? 1 : 0
}

export function changesPerFrameMax(kind: DeviceKind): number {
  return kind.services[0]?.properties.length ?? 0
}

/** A wide property first, then others, each in rotation: over some frames every property is reported. */
function pick(
  wide: readonly SimulatedProperty[],
  all: readonly SimulatedProperty[],
  count: number,
  number: number,
): readonly SimulatedProperty[] {
  const first = wide[number % wide.length]
  if (!first) throw new RangeError('a service without a wide property carries no frame')
  const picked = [first]
  for (let place = number * (count - 1); picked.length < count; place++) {
    const next = all[place % all.length]
    if (next && next !== first) picked.push(next)
  }
  return picked
}
