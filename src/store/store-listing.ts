import { Problem } from '#model/problem'
import type { Listing, Pages } from '#runtime/listing'
import { type Storage, StorageFailure } from '#runtime/storage'
import { below } from '#store/keys'

/**
 * Lists from the key space: names are what follows the prefix of a key. While the store is being reopened nothing is listed,
 * as nothing else is answered then: whoever asks, or is in the middle of it, hears Problem `storage`.
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
    const range = below(folder)
    const first = range.after + prefix
    const start = range.after.length
    try {
      const scan = this.#storage().scan({
        after: after === '' ? first : `${range.after}${after}`,
        // The highest character of our names is below '~'.
        before: prefix === '' ? range.before : `${first}\uffff`,
        hasValues: false,
      })
      return {
        next: (countMax) =>
          scan.next(countMax).then((rows) => rows.map(({ key }) => key.slice(start)), refuseWhileClosed),
        close: () => scan.close(),
      }
    } catch (error) {
      return refuseWhileClosed(error)
    }
  }
}

/**
 * After a failed write the store is closed and opened anew, and its scans end.
 *
 * @throws Problem `storage`; what is no closed store, as it is
 */
export function refuseWhileClosed(error: unknown): never {
  throw error instanceof StorageFailure && error.code === 'closed' ? new Problem('storage') : error
}
