/** A property after a full read and the events that followed. */
interface FoldedProperty {
  readonly tag: 'value' | 'error'
  readonly type: string
  readonly value?: unknown
  readonly error?: unknown
  readonly timestamp: unknown
}

/** A device in the answer to `GET /devices?depth=2` (§2.3, contract 3.1). */
export interface DeviceEntry {
  readonly deviceIdentifier: string
  readonly services?: readonly {
    readonly serviceIdentifier: string
    readonly properties?: Readonly<Record<string, PropertyItem>>
  }[]
}

interface PropertyItem {
  readonly propId: number
  readonly tag?: string
  readonly type: string
  readonly value?: unknown
  readonly error?: unknown
  readonly timestamp?: unknown
}

interface UpdateEvent {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly updates: readonly PropertyItem[]
  readonly timestamp: number
}

type Services = Map<string, Map<number, FoldedProperty>>

/**
 * The state of all devices as a client holds it: read once, then updated by events alone.
 *
 * Events contain no declarations: properties without a value or an error are left out, and so are services that only
 * have such properties.
 */
export class FoldedState {
  readonly devices = new Map<string, Services>()

  replace(entries: readonly DeviceEntry[]): void {
    this.devices.clear()
    for (const entry of entries) {
      const services = this.#device(entry.deviceIdentifier)
      for (const { serviceIdentifier, properties } of entry.services ?? []) {
        for (const item of Object.values(properties ?? {})) fold(services, serviceIdentifier, item, item.timestamp)
      }
    }
  }

  apply(event: Readonly<Record<string, unknown>>): void {
    const { type, deviceIdentifier } = event
    if (typeof deviceIdentifier !== 'string') return
    if (type === 'DEVICE_ADD') this.#device(deviceIdentifier)
    if (type === 'DEVICE_DELETE') this.devices.delete(deviceIdentifier)
    if (type !== 'OBJECT_UPDATED') return
    const { serviceIdentifier, updates, timestamp } = event as unknown as UpdateEvent
    const services = this.#device(deviceIdentifier)
    for (const item of updates) fold(services, serviceIdentifier, item, timestamp)
  }

  differences(other: FoldedState, most = 20): readonly string[] {
    const found: string[] = []
    for (const [device, services] of this.devices) {
      const others = other.devices.get(device)
      if (!others) found.push(`${device} is known here only`)
      else for (const text of serviceDifferences(device, services, others)) found.push(text)
      if (found.length >= most) return found.slice(0, most)
    }
    for (const device of other.devices.keys()) {
      if (!this.devices.has(device)) found.push(`${device} is known there only`)
      if (found.length >= most) break
    }
    return found
  }

  #device(deviceIdentifier: string): Services {
    const known = this.devices.get(deviceIdentifier)
    if (known) return known
    const services: Services = new Map()
    this.devices.set(deviceIdentifier, services)
    return services
  }
}

function fold(services: Services, serviceIdentifier: string, item: PropertyItem, timestamp: unknown): void {
  const properties = services.get(serviceIdentifier) ?? new Map<number, FoldedProperty>()
  const isError = item.tag === 'error'
  if (item.tag === 'removed' || (!isError && item.value === undefined)) {
    properties.delete(item.propId)
    if (properties.size === 0) services.delete(serviceIdentifier)
    return
  }
  services.set(serviceIdentifier, properties)
  properties.set(item.propId, {
    tag: isError ? 'error' : 'value',
    type: item.type,
    timestamp,
    ...(isError ? { error: item.error } : { value: item.value }),
  })
}

function* serviceDifferences(device: string, here: Services, there: Services): Generator<string> {
  for (const serviceIdentifier of new Set([...here.keys(), ...there.keys()])) {
    const own = here.get(serviceIdentifier)
    const others = there.get(serviceIdentifier)
    for (const propId of new Set([...(own?.keys() ?? []), ...(others?.keys() ?? [])])) {
      const left = JSON.stringify(own?.get(propId))
      const right = JSON.stringify(others?.get(propId))
      if (left !== right) yield `${device}/${serviceIdentifier}/${propId}: here ${left}, there ${right}`
    }
  }
}
