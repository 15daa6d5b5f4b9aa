/** Computed lists of devices by key: equal lists are the same object while they are in use. */
export class InternedLists<List> {
  readonly #lists = new Map<string, { readonly list: List; usedAt: number }>()
  #sizeMax = listsMin

  /** `version` is the time of use. */
  of(key: string, version: number, make: () => List): List {
    let known = this.#lists.get(key)
    if (!known) {
      known = { list: make(), usedAt: version }
      this.#lists.set(key, known)
    }
    known.usedAt = version
    return known.list
  }

  /**
   * Drops lists that were not used lately, when there are twice as many as after the last sweep. A caller that still
   * holds a dropped list gets another object with the same content, which only costs a repeated check.
   */
  sweep(version: number): void {
    if (this.#lists.size <= this.#sizeMax) return
    for (const [key, { usedAt }] of this.#lists) if (usedAt < version) this.#lists.delete(key)
    this.#sizeMax = Math.max(listsMin, 2 * this.#lists.size)
  }
}

/** Minimum number of cached lists: a few hundred KB. */
const listsMin = 1_024
