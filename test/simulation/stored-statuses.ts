import type { Entry } from '#model/entry'

/** The last stored update event of each device and index, collected from the retained parts of the stream. */
export class StoredStatuses {
  readonly #last = new Map<string, object>()
  #upTo = 0
  #isPartlySeen = false

  /** `from`: the first retained offset. `upTo`: the last committed one. */
  gather(stream: readonly { readonly offset: number; readonly entry: Entry }[], from: number, upTo: number): void {
    if (from > this.#upTo + 1) {
      this.#isPartlySeen = true
      this.#last.clear()
    }
    for (const { offset, entry } of stream) {
      if (offset <= this.#upTo) continue
      if (entry.kind === 'device_removed') {
        for (const key of this.#last.keys()) if (key.startsWith(`${entry.device} `)) this.#last.delete(key)
      } else if (entry.kind === 'update_changed') {
        const { kind: _, device, index, status, ...rest } = entry
        this.#last.set(`${device} ${index}`, { ...rest, status: status.toUpperCase() })
      }
    }
    this.#upTo = upTo
  }

  /** The last event; `unknown` if it may have been deleted before it was read. */
  of(device: string, index: number): object | 'unknown' | undefined {
    return this.#last.get(`${device} ${index}`) ?? (this.#isPartlySeen ? 'unknown' : undefined)
  }
}
