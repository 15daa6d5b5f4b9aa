import { type Caller, principalKey } from '#model/caller'
import { Problem } from '#model/problem'

/**
 * A queue that serves its groups in rotation: the first item of each group, then the second of each. So a group with
 * many items does not delay the items of other groups.
 *
 * With `sizeMax` it is bounded: one group may fill the queue. When it is full, a new item evicts the last item of the
 * largest group, if the group of the new item is smaller by at least two.
 */
export class FairQueue<T> {
  readonly #sizeMax: number
  /** In the order of the rotation. No group is empty. */
  readonly #groups = new Map<string, Map<unknown, T>>()
  #size = 0

  constructor(sizeMax = Number.POSITIVE_INFINITY) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#size
  }

  /** Whether `add` may be called for this group. */
  hasRoom(group: string): boolean {
    return this.#size < this.#sizeMax || this.#largest.size >= (this.#groups.get(group)?.size ?? 0) + 2
  }

  has(group: string, key: unknown): boolean {
    return this.#groups.get(group)?.has(key) ?? false
  }

  /** The items of a group. */
  of(group: string): Iterable<T> {
    return this.#groups.get(group)?.values() ?? []
  }

  /**
   * Adds an item under a key, by default the item itself. Call it only if `hasRoom`. Returns the item that was evicted
   * for it. If an item waits under the key already, that item keeps its place, and nothing is added.
   */
  add(group: string, item: T, key: unknown = item): T | undefined {
    if (this.has(group, key)) return undefined
    const evicted = this.#size < this.#sizeMax ? undefined : this.#removeLast(this.#largest)
    this.#size++
    const waiting = this.#groups.get(group)
    if (waiting) waiting.set(key, item)
    else this.#groups.set(group, new Map([[key, item]]))
    return evicted
  }

  /** Takes the next item. Its group goes to the end. Groups for which `mayTake` is false are skipped. */
  take(mayTake: (group: string) => boolean = () => true): T | undefined {
    for (const [group, waiting] of this.#groups) {
      if (!mayTake(group)) continue
      for (const [key, item] of waiting) {
        this.remove(group, key)
        if (this.#groups.delete(group)) this.#groups.set(group, waiting)
        return item
      }
    }
    return undefined
  }

  /** Returns whether the item was still waiting. */
  remove(group: string, key: unknown): boolean {
    const waiting = this.#groups.get(group)
    if (!waiting?.delete(key)) return false
    if (waiting.size === 0) this.#groups.delete(group)
    this.#size--
    return true
  }

  forget(group: string): void {
    this.#size -= this.#groups.get(group)?.size ?? 0
    this.#groups.delete(group)
  }

  clear(): void {
    this.#groups.clear()
    this.#size = 0
  }

  /** The group has more than one item, so it does not become empty. */
  #removeLast(waiting: Map<unknown, T>): T | undefined {
    const [key, item] = [...waiting].at(-1) ?? []
    if (waiting.delete(key)) this.#size--
    return item
  }

  /** The largest group. Of equally large ones, the group whose turn comes last. */
  get #largest(): Map<unknown, T> {
    let largest = new Map<unknown, T>()
    for (const waiting of this.#groups.values()) if (waiting.size >= largest.size) largest = waiting
    return largest
  }
}

export interface ConcurrencyLimits {
  /** The plural noun in the text of a refusal. */
  readonly things: string
  readonly perUserMax: number
  /**
   * Above `perUserMax`, so that a user does not block a tenant; below the capacity of the server, so that no tenant
   * blocks the others.
   */
  readonly perTenantMax: number
}

/**
 * Limits how many things (requests, sockets, uploads) each user and each tenant has at the same time. Nothing that has
 * begun is ended for another user. Callers without a session (authentication is off, devices, sign-in) are not counted,
 * because nothing distinguishes them.
 */
export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits
  /** By tenant, and by tenant and user. */
  readonly #counts = new Map<string, number>()

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits
  }

  /** @throws Problem `too_many_requests`, which names the limit */
  check(caller: Caller, count = 1): void {
    if (!caller.session) return
    const { things, perUserMax, perTenantMax } = this.#limits
    const mustFit = (key: string, max: number, owner: string) => {
      if ((this.#counts.get(key) ?? 0) + count <= max) return
      const headers = { 'Retry-After': '1' }
      throw new Problem('too_many_requests', `at most ${max} ${things} of one ${owner} at the same time`, { headers })
    }
    mustFit(principalKey(caller), perUserMax, 'user')
    mustFit(caller.tenant, perTenantMax, 'tenant')
  }

  enter(caller: Caller, count = 1): void {
    this.#change(caller, count)
  }

  /** The inverse of `enter`. */
  leave(caller: Caller, count = 1): void {
    this.#change(caller, -count)
  }

  #change(caller: Caller, by: number): void {
    if (!caller.session) return
    for (const key of [caller.tenant, principalKey(caller)]) {
      const count = (this.#counts.get(key) ?? 0) + by
      if (count > 0) this.#counts.set(key, count)
      else this.#counts.delete(key)
    }
  }
}
