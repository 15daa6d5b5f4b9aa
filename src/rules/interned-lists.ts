/** Lists worked out for devices, found by their keys: equal ones are the same object while they are in use. */
export class InternedLists<List> {
  readonly #lists = new Map<string, { readonly list: List; usedAt: number }>()
  #sizeMax = listsMin

  /** `version` says when. */
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
   * Lets go of lists that nobody asked for lately, once there are twice as many as last time. Whoever still holds such
   * a list gets another one of the same content, and does once for nothing what he does for a new one.
   */
  sweep(version: number): void {
    if (this.#lists.size <= this.#sizeMax) return
    for (const [key, { usedAt }] of this.#lists) if (usedAt < version) this.#lists.delete(key)
    this.#sizeMax = Math.max(listsMin, 2 * this.#lists.size)
  }
}

/** Lists that are kept without a look: a few hundred KB. */
const listsMin = 1_024
