/**
 * Going through what is stored, in the order of names. A listing shows what was committed when it was begun; whoever
 * needs the state of a thing asks for it then.
 */
export interface Listing {
  /** Ids of stored `redo` actors of a kind, after one of them. */
  actors(kind: string, tenant: string, after?: string): Pages
  /** Entries of an index that begin with `prefix`, after one of them. */
  entries(index: string, tenant: string, prefix?: string, after?: string): Pages
}

export interface Pages {
  /** The next names, at most `countMax`, and often fewer; only an empty page is the end. */
  next(countMax: number): Promise<readonly string[]>
  close(): Promise<void>
}

/** Names that are in memory, in their order. */
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
