import { Problem } from '#model/problem'
import { type Listing, type Pages, type Scan, type Storage, StorageFailure } from '#runtime/storage'
import { keysBelow } from '#store/key-space'

/**
 * Lists from the key space: names are the rest of a key after its prefix. While the store is being reopened, every
 * listing fails with Problem `storage`, also one that has begun.
 */
export class StoreListing implements Listing {
  readonly #storage: () => Storage

  constructor(storage: () => Storage) {
    this.#storage = storage
  }

  actors(kind: string, tenant: string, after = ''): Pages {
    return this.#names(`actor/${kind}/${tenant}`, after)
  }

  entries(index: string, tenant: string, prefix = '', after = ''): Pages {
    return this.#names(`index/${index}/${tenant}`, after, prefix)
  }

  #names(folder: string, after: string, prefix = ''): Pages {
    const range = keysBelow(folder)
    const first = range.after + prefix
    const start = range.after.length
    const scan = refusingScan(() =>
      this.#storage().scan({
        after: after === '' ? first : `${range.after}${after}`,
        // The highest character in names is below '~'.
        before: prefix === '' ? range.before : `${first}\uffff`,
        hasValues: false,
      }),
    )
    return {
      next: async (countMax) => (await scan.next(countMax)).map(({ key }) => key.slice(start)),
      close: scan.close,
    }
  }
}

/**
 * A scan that translates errors: after a failed write the store is closed and reopened, and its scans end.
 *
 * @throws Problem `storage`; any other error unchanged; so does `next`
 */
export function refusingScan(open: () => Scan): Scan {
  try {
    const scan = open()
    return { next: (countMax) => scan.next(countMax).catch(refuseWhileClosed), close: () => scan.close() }
  } catch (error) {
    return refuseWhileClosed(error)
  }
}

function refuseWhileClosed(error: unknown): never {
  throw error instanceof StorageFailure && error.code === 'closed' ? new Problem('storage') : error
}
