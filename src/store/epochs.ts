import type { Storage } from '#runtime/storage'
import { keys, keysBelow, numberOf } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

export const epochFormat = { name: 'epoch', version: 1, upgrades: {} }

/** The number of remembered epochs. A client that was away for longer reads the full state. */
const epochsMax = 256

export interface Epoch {
  readonly number: number
  readonly name: string
  /** The last offset of each stream when the epoch began. */
  readonly heads: Readonly<Record<string, number>>
}

/**
 * The names under which offsets were assigned. Each start of a server begins an epoch, and stores it before any entry;
 * so does a reopening of the store that lost entries. A store that several nodes share keeps its epoch. After a power
 * loss, or with a restored backup, the same offsets may be given to other events, and only the epoch distinguishes
 * them.
 */
export class Epochs {
  readonly #epochs: Epoch[] = []

  static async load(storage: Storage): Promise<Epochs> {
    const epochs = new Epochs()
    for await (const page of pagesOf(storage, { ...keysBelow('epoch'), hasValues: true })) {
      for (const { key, value } of page) {
        const { name, heads } = unpackRecord(epochFormat, value) as Omit<Epoch, 'number'>
        epochs.#epochs.push({ number: numberOf(key), name, heads })
      }
    }
    return epochs
  }

  get current(): string {
    return this.#epochs.at(-1)?.name ?? ''
  }

  /** Begins an epoch. When the promise is fulfilled, the epoch survives a power failure. */
  async begin(storage: Storage, name: string, heads: ReadonlyMap<string, number>): Promise<void> {
    const number = (this.#epochs.at(-1)?.number ?? 0) + 1
    const epoch = { number, name, heads: Object.fromEntries(heads) }
    const forgotten = this.#epochs.slice(0, Math.max(0, this.#epochs.length + 1 - epochsMax))
    await storage.write(
      [
        { key: keys.epoch(number), value: packRecord(epochFormat, { name, heads: epoch.heads }) },
        ...forgotten.map((old) => ({ key: keys.epoch(old.number), value: null })),
      ],
      { sync: true },
    )
    this.#epochs.splice(0, forgotten.length)
    this.#epochs.push(epoch)
  }

  /**
   * The last offset of a stream in an epoch; undefined if the epoch is unknown. `now` is the last offset of the stream
   * at present.
   */
  lastUnder(name: string, tenant: string, now: number): number | undefined {
    const place = this.#epochs.findIndex((epoch) => epoch.name === name)
    if (place < 0) return undefined
    const next = this.#epochs[place + 1]
    if (!next) return now
    // A tenant may be named like a property that every object inherits.
    return Object.hasOwn(next.heads, tenant) ? next.heads[tenant] : 0
  }
}
