import type { Entry } from '#model/entry'
import { counterId, counterService, type SimulatedDevice } from '#test/simulation/simulated-device'
import { heaterService } from '#test/simulation/simulated-heater'

/** The stored reports of devices and their last update events, collected from the retained parts of the stream. */
export class StoredReports {
  /** By device, in the order of the stream. */
  readonly #counts = new Map<string, number[]>()
  readonly #numbers = new Set<number>()
  /** The last update event of each device and index. */
  readonly #updates = new Map<string, object>()
  #upTo = 0
  #isPartlySeen = false

  /** The end of the stream at the last read. */
  get upTo(): number {
    return this.#upTo
  }

  /** All numbers that heaters reported; undefined if some were deleted before they were read. */
  get numbers(): ReadonlySet<number> | undefined {
    return this.#isPartlySeen ? undefined : this.#numbers
  }

  /** `from`: the first retained offset. `upTo`: the last committed one. */
  gather(stream: readonly { readonly offset: number; readonly entry: Entry }[], from: number, upTo: number): void {
    // A part was deleted before it was read: the rest can still be checked for order and duplicates.
    if (from > this.#upTo + 1) {
      this.#isPartlySeen = true
      this.#updates.clear()
    }
    for (const { offset, entry } of stream) if (offset > this.#upTo) this.#add(entry)
    this.#upTo = upTo
  }

  #add(entry: Entry): void {
    if (entry.kind === 'device_removed') {
      for (const key of this.#updates.keys()) if (key.startsWith(`${entry.device} `)) this.#updates.delete(key)
    } else if (entry.kind === 'update_changed') {
      const { kind: _, device, index, status, ...rest } = entry
      this.#updates.set(`${device} ${index}`, { ...rest, status: status.toUpperCase() })
    } else if (entry.kind === 'reported' && entry.shape.serviceIdentifier === heaterService) {
      for (const item of entry.items) if (typeof item === 'number') this.#numbers.add(item)
    } else if (entry.kind === 'reported' && entry.shape.serviceIdentifier === counterService) {
      const counts = this.#counts.get(entry.device) ?? []
      counts.push(entry.items[1] as number)
      this.#counts.set(entry.device, counts)
    }
  }

  /** The last update event; `unknown` if it may have been deleted before it was read. */
  lastUpdate(device: string, index: number): object | 'unknown' | undefined {
    return this.#updates.get(`${device} ${index}`) ?? (this.#isPartlySeen ? 'unknown' : undefined)
  }

  /** Every acknowledged frame is stored, once, and each device's frames are in order. */
  check({ name, acknowledged }: SimulatedDevice): void {
    const counts = this.#counts.get(name) ?? []
    counts.forEach((count, index) => {
      if (index > 0 && count <= (counts[index - 1] as number)) {
        throw new Error(`${name}: ${count} is stored after ${counts[index - 1]} (property ${counterId})`)
      }
    })
    if (this.#isPartlySeen) return
    const stored = new Set(counts)
    const lost = acknowledged.filter((count) => !stored.has(count))
    if (lost.length > 0) throw new Error(`${name}: acknowledged and not stored: ${lost.join(', ')}`)
  }
}
