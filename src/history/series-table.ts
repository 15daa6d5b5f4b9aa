import { historyKeys } from '#history/history-keys'
import type { Shape } from '#model/shape'
import type { Operation, Storage } from '#runtime/storage'
import { keysBelow } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

/** The fields that a series shares with the same property of devices of the same kind. */
export interface SeriesKind {
  readonly service: string
  readonly propId: number
  /** Lower-case name of the type; `status` for the status of a device. */
  readonly type: string
}

/** The status of a device is a series of its own. */
export const statusKind: SeriesKind = { service: '', propId: 0, type: 'status' }

export interface Series extends SeriesKind {
  /**
   * Even. The next number is the id of the marks of the series: the times at which its value became an error or was
   * removed. Ids are never used again.
   */
  readonly id: number
}

/** The address of the device, 0 if it is unknown, and `[service, propId, type, id]` of each series. */
type StoredDevice = readonly [flakeAddress: number, series: readonly (readonly [string, number, string, number])[]]
const deviceFormat = {
  name: 'device of the history',
  version: 2,
  upgrades: { 1: (series: unknown) => [0, series] },
}

/** The ids of the series in the row of a device. */
export function idsIn(row: Uint8Array): number[] {
  const [, series] = unpackRecord(deviceFormat, row) as StoredDevice
  return series.map(([, , , id]) => id)
}

/** The series of the properties of one shape, for one device. */
class ShapeSeries {
  readonly shape: Shape
  readonly #firstId: number
  /** Set only if the ids are not consecutive. Most of the time for a report would go into reading such a list. */
  readonly #ids: Int32Array | undefined

  constructor(shape: Shape, ids: readonly number[]) {
    this.shape = shape
    const [firstId = 0] = ids
    this.#firstId = firstId
    this.#ids = ids.every((id, place) => id === firstId + 2 * place) ? undefined : Int32Array.from(ids)
  }

  /** The id of the series of a property, by the index of the property in the shape. */
  idAt(place: number): number {
    return this.#ids ? (this.#ids[place] as number) : this.#firstId + 2 * place
  }
}

/** The series of one device. */
export class SeriesOfDevice {
  readonly tenant: string
  readonly name: string
  /** The address of the device, 0 if it is unknown. A later device of the same name has a greater address. */
  flakeAddress = 0
  readonly kinds: SeriesKind[] = []
  readonly ids: number[] = []
  /** One for each declared service. A device has few services. */
  readonly shapes: ShapeSeries[] = []
  /** The shape that `SeriesTable.seriesOf` returned last. */
  latest: ShapeSeries | undefined

  constructor(tenant: string, name: string) {
    this.tenant = tenant
    this.name = name
  }

  *series(): Iterable<Series> {
    for (const [place, kind] of this.kinds.entries()) yield { ...kind, id: this.ids[place] as number }
  }

  idOf({ service, propId, type }: SeriesKind): number | undefined {
    const place = this.kinds.findIndex(
      (kind) => kind.propId === propId && kind.service === service && kind.type === type,
    )
    return this.ids[place]
  }
}

/**
 * All series, by tenant and device. All properties of a service get their series with the first report of the service.
 * The table is in memory; changed devices are stored with the points.
 */
export class SeriesTable {
  readonly #tenants = new Map<string, Map<string, SeriesOfDevice>>()
  /**
   * By tenant and address: the devices that have reported, so that they are found without decoding their names. Stored
   * addresses are not added, because the address of a device whose entries were lost is assigned again.
   */
  readonly #byAddress = new Map<string, Map<number, SeriesOfDevice>>()
  readonly #kinds = new Map<string, SeriesKind>()
  readonly #changed = new Set<SeriesOfDevice>()
  /** Devices that were removed since the last `changes`, by the key of their row. */
  readonly #removed = new Map<string, SeriesOfDevice>()
  /** Whether the device of each series exists. The index is half of the id of the series. */
  #alive = new Uint8Array(1024)
  nextId = 2

  static async load(storage: Storage): Promise<SeriesTable> {
    const table = new SeriesTable()
    for await (const page of pagesOf(storage, { ...keysBelow('device'), hasValues: true })) {
      for (const { key, value } of page) {
        const [tenant, name] = historyKeys.deviceOf(key)
        const device = table.device(tenant, name)
        const [flakeAddress, series] = unpackRecord(deviceFormat, value) as StoredDevice
        device.flakeAddress = flakeAddress
        for (const [service, propId, type, id] of series) table.#add(device, { service, propId, type }, id)
      }
    }
    return table
  }

  isAlive(id: number): boolean {
    return this.#alive[id >> 1] === 1
  }

  find(tenant: string, name: string): SeriesOfDevice | undefined {
    return this.#tenants.get(tenant)?.get(name)
  }

  /** The devices of a tenant that have reported. `walkChunk` adds them. */
  devicesByAddress(tenant: string): Map<number, SeriesOfDevice> {
    let devices = this.#byAddress.get(tenant)
    if (!devices) {
      devices = new Map()
      this.#byAddress.set(tenant, devices)
    }
    return devices
  }

  device(tenant: string, name: string): SeriesOfDevice {
    let devices = this.#tenants.get(tenant)
    if (!devices) {
      devices = new Map()
      this.#tenants.set(tenant, devices)
    }
    let device = devices.get(name)
    if (!device) {
      device = new SeriesOfDevice(tenant, name)
      devices.set(name, device)
    }
    return device
  }

  identify(device: SeriesOfDevice, flakeAddress: number): void {
    device.flakeAddress = flakeAddress
    this.#changed.add(device)
  }

  devicesOf(tenant: string): Iterable<SeriesOfDevice> {
    return this.#tenants.get(tenant)?.values() ?? []
  }

  *all(): Iterable<Series & { readonly device: SeriesOfDevice }> {
    for (const devices of this.#tenants.values())
      for (const device of devices.values()) for (const series of device.series()) yield { ...series, device }
  }

  /** The series of each property of a shape. Creates missing series. */
  seriesOf(device: SeriesOfDevice, shape: Shape): ShapeSeries {
    if (device.latest?.shape !== shape) {
      device.latest = device.shapes.find((known) => known.shape === shape) ?? this.#declare(device, shape)
    }
    return device.latest
  }

  #declare(device: SeriesOfDevice, shape: Shape): ShapeSeries {
    const { serviceIdentifier: service, properties } = shape
    const ids = properties.map(({ propId, type }) => this.idOf(device, { service, propId, type: type.name }))
    const series = new ShapeSeries(shape, ids)
    const before = device.shapes.findIndex((known) => known.shape.serviceIdentifier === service)
    // Replaces an earlier declaration of the service.
    device.shapes[before >= 0 ? before : device.shapes.length] = series
    return series
  }

  idOf(device: SeriesOfDevice, kind: SeriesKind): number {
    const known = device.idOf(kind)
    if (known !== undefined) return known
    const id = this.nextId
    this.#changed.add(device)
    this.#add(device, kind, id)
    return id
  }

  /** Removes a device. Returns the ids of its series and of their marks. */
  remove(device: SeriesOfDevice): number[] {
    const { tenant, name, flakeAddress, ids } = device
    this.#tenants.get(tenant)?.delete(name)
    this.#byAddress.get(tenant)?.delete(flakeAddress)
    this.#changed.delete(device)
    this.#removed.set(historyKeys.device(tenant, name), device)
    for (const id of ids) this.#alive[id >> 1] = 0
    return ids.flatMap((id) => [id, id + 1])
  }

  /** The rows that changed since the last call. */
  changes(): Operation[] {
    const operations: Operation[] = [...this.#removed.keys()].map((key) => ({ key, value: null }))
    for (const { tenant, name, flakeAddress, kinds, ids } of this.#changed) {
      const series = kinds.map(({ service, propId, type }, place) => [service, propId, type, ids[place] as number])
      operations.push({
        key: historyKeys.device(tenant, name),
        value: packRecord(deviceFormat, [flakeAddress, series]),
      })
    }
    this.#removed.clear()
    this.#changed.clear()
    return operations
  }

  #add(device: SeriesOfDevice, kind: SeriesKind, id: number): void {
    const name = `${kind.service}/${kind.propId}/${kind.type}`
    const known = this.#kinds.get(name) ?? kind
    this.#kinds.set(name, known)
    device.kinds.push(known)
    device.ids.push(id)
    this.nextId = Math.max(this.nextId, id + 2)
    const place = id >> 1
    if (place >= this.#alive.length) {
      const grown = new Uint8Array(place * 2)
      grown.set(this.#alive)
      this.#alive = grown
    }
    this.#alive[place] = 1
  }
}
