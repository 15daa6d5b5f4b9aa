import type { SimulatedProperty } from '#bench/fleet/encoding'
import type { DeviceKind } from '#bench/fleet/kinds'

const samplesMax = 8

/**
 * The latest values of a few devices, with names and units of their schemas: the first (device, property) pairs of
 * different kinds, each always in the same place.
 */
export class DemoSamples {
  readonly #properties = new Map<string, SimulatedProperty>()
  readonly #shown = new Map<string, string>()
  readonly #devices = new Set<string>()

  constructor(kinds: readonly DeviceKind[]) {
    for (const { serviceIdentifier, properties } of kinds.flatMap((kind) => kind.services)) {
      for (const property of properties) this.#properties.set(`${serviceIdentifier}/${property.propId}`, property)
    }
  }

  receive(event: Readonly<Record<string, unknown>>): void {
    const { deviceIdentifier, serviceIdentifier, updates } = event
    if (typeof deviceIdentifier !== 'string' || !Array.isArray(updates) || !this.#isChosen(deviceIdentifier)) return
    for (const { propId, value } of updates as { propId: number; value?: unknown }[]) {
      const property = this.#properties.get(`${String(serviceIdentifier)}/${propId}`)
      if (!property || property.isConstant) continue
      const key = `${deviceIdentifier} ${property.name}`
      if (!this.#shown.has(key) && this.#shown.size >= samplesMax) continue
      this.#shown.set(key, readable(property, value))
    }
  }

  lines(): readonly string[] {
    return [...this.#shown].map(([key, value]) => `${key.padEnd(34)} ${value}`).sort()
  }

  /** One device of each kind is enough. */
  #isChosen(deviceIdentifier: string): boolean {
    if (this.#devices.has(deviceIdentifier)) return true
    const kind = deviceIdentifier.split('-')[1]
    for (const chosen of this.#devices) if (chosen.split('-')[1] === kind) return false
    this.#devices.add(deviceIdentifier)
    return true
  }
}

function readable(property: SimulatedProperty, value: unknown): string {
  const unit = property.unit === undefined ? '' : ` ${property.unit}`
  const name = typeof value === 'number' ? property.enumeration?.[value] : undefined
  return (name ?? short(value)) + unit
}

function short(value: unknown): string {
  if (Array.isArray(value)) return value.map(short).join(' / ')
  if (typeof value === 'number' && !Number.isInteger(value)) return value.toFixed(1)
  return String(value)
}
