import type { Entry } from '#model/entry'

/** What is stored to have been told of updates, gathered from the parts of the stream that are still there. */
export class StoredStatuses {
  readonly #last = new Map<string, object>()
  #upTo = 0
  #isPartlySeen = false

  /** `from`: the first that is retained. `upTo`: the last that is committed. */
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
        const { kind: _, device, index, status, ...told } = entry
        this.#last.set(`${device} ${index}`, { ...told, status: status.toUpperCase() })
      }
    }
    this.#upTo = upTo
  }

  /** What was told last; `unknown` when that may have been gone before anybody looked. */
  of(device: string, index: number): object | 'unknown' | undefined {
    return this.#last.get(`${device} ${index}`) ?? (this.#isPartlySeen ? 'unknown' : undefined)
  }
}
