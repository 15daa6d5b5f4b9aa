import { Problem } from '#model/problem'
import type { Listing, Pages } from '#runtime/listing'
import { type Storage, StorageFailure } from '#runtime/storage'
import { below } from '#store/keys'

/** Lists from the key space: names are what follows the prefix of a key. */
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
    const scan = this.#storage().scan({
      after: after === '' ? first : `${range.after}${after}`,
      // The highest character of our names is below '~'.
      before: prefix === '' ? range.before : `${first}\uffff`,
      hasValues: false,
    })
    const start = range.after.length
    return {
      next: async (countMax) => {
        const rows = await scan.next(countMax).catch((error: unknown) => {
          throw isClosed(error) ? new Problem('storage') : error
        })
        return rows.map(({ key }) => key.slice(start))
      },
      close: () => scan.close(),
    }
  }
}

/** Behind a failed write the store is read anew under whoever lists: who comes again is answered. */
function isClosed(error: unknown): boolean {
  return error instanceof StorageFailure && error.code === 'closed'
}
