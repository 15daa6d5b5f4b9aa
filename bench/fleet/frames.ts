import type { DeviceValue, SimulatedProperty } from '#bench/fleet/encoding'
import { decodeChange, encodeChange, isWide } from '#bench/fleet/encoding'
import type { DeviceKind, SimulatedService } from '#bench/fleet/kinds'

export interface Change {
  readonly property: SimulatedProperty
  readonly value: DeviceValue
}

/** What one UPDATE says. */
export interface Frame {
  readonly number: number
  readonly service: SimulatedService
  /** The service's place in HELLO, for the short form. */
  readonly serviceIndex: number
  readonly changes: readonly Change[]
}

/** Every so many frames the diagnostics speak instead of the measurements. */
const diagnosticsEvery = 8

/**
 * What the frames of one kind of device hold: a pure function of the device and the frame's number, so nothing that was
 * sent has to be remembered to send it again or to check it later.
 *
 * Frame `n` (from 1) of a device with K changes a frame carries the changes (n − 1)·K + 1 … n·K, in this order; the
 * first is of a wide property, which tells the number, and no property is in a frame twice. A frame of the diagnostics
 * has at most as many changes as they have properties; the numbers left over are skipped.
 */
export class FramePlan {
  readonly kind: DeviceKind
  readonly changesPerFrame: number
  readonly #services: readonly {
    readonly wide: readonly SimulatedProperty[]
    readonly all: readonly SimulatedProperty[]
  }[]
  readonly #propertyOf = new Map<string, Map<number, SimulatedProperty>>()

  constructor(kind: DeviceKind, changesPerFrame: number) {
    this.kind = kind
    this.changesPerFrame = changesPerFrame
    this.#services = kind.services.map(({ properties }) => ({
      wide: properties.filter(isWide),
      all: properties.filter((property) => !property.isConstant),
    }))
    for (const service of kind.services) {
      this.#propertyOf.set(service.serviceIdentifier, new Map(service.properties.map((it) => [it.propId, it])))
    }
  }

  frame(deviceIndex: number, number: number): Frame {
    const serviceIndex = serviceIndexOf(deviceIndex, number)
    const service = this.kind.services[serviceIndex]
    const available = this.#services[serviceIndex]
    if (!service || !available) throw new RangeError(`${this.kind.name} has no service ${serviceIndex}`)
    const properties = pick(available.wide, available.all, this.#sizeOf(available.all), number)
    const firstChange = (number - 1) * this.changesPerFrame + 1
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

  /** How many changes frame `number` of a device carries. */
  changeCount(deviceIndex: number, number: number): number {
    return this.#sizeOf(this.#services[serviceIndexOf(deviceIndex, number)]?.all ?? [])
  }

  /** Over a round of services. */
  get meanChangesPerFrame(): number {
    let changes = 0
    for (let number = 1; number <= diagnosticsEvery; number++) changes += this.changeCount(0, number)
    return changes / diagnosticsEvery
  }

  property(serviceIdentifier: string, propId: number): SimulatedProperty | undefined {
    return this.#propertyOf.get(serviceIdentifier)?.get(propId)
  }

  /** The frame that an event's items came in, told by the first of them that is wide. */
  frameNumberOf(serviceIdentifier: string, items: readonly { propId: number; value?: unknown }[]): number | undefined {
    for (const item of items) {
      const property = this.property(serviceIdentifier, item.propId)
      const change = property && decodeChange(property, item.value)
      if (change !== undefined) return Math.ceil(change / this.changesPerFrame)
    }
    return undefined
  }

  #sizeOf(available: readonly SimulatedProperty[]): number {
    return Math.min(this.changesPerFrame, available.length)
  }
}

/** Not all devices speak of themselves at once. */
function serviceIndexOf(deviceIndex: number, number: number): number {
  return (number + deviceIndex) % diagnosticsEvery === 0 ? 1 : 0
}

/** The most changes that a frame of this kind can carry. */
export function changesPerFrameMax(kind: DeviceKind): number {
  return kind.services[0]?.properties.length ?? 0
}

/** A wide property in turn, then others in turn: over some frames every property is said. */
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
