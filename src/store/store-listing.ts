import type { Listing, Pages } from '#runtime/listing'
import type { Storage } from '#runtime/storage'
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
      next: async (countMax) => (await scan.next(countMax)).map(({ key }) => key.slice(start)),
      close: () => scan.close(),
    }
  }
}
