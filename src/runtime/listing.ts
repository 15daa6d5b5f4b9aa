/**
 * Lists stored names in order. A listing shows the commits before its begin; a caller that needs a present state reads
 * it separately.
 */
export interface Listing {
  /** Ids of stored `redo` actors of a kind, beginning after `after`. */
  actors(kind: string, tenant: string, after?: string): Pages
  /** Entries of an index with this prefix, beginning after `after`. */
  entries(index: string, tenant: string, prefix?: string, after?: string): Pages
}

export interface Pages {
  /** The next names, at most `countMax`, often fewer. Only an empty page is the end. */
  next(countMax: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** A listing of names in memory, in their order. */
export function namesOf(names: Iterable<string>): Pages {
  const rest = names[Symbol.iterator]()
  return {
    async next(countMax) {
      const page: string[] = []
      while (page.length < countMax) {
        const { value, done } = rest.next()
        if (done) break
        page.push(value)
      }
      return page
    },
    close: async () => {},
  }
}
