import type { WriteOrder } from '#actors/device/commands'
import type { LinkedDevice } from '#link/link'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant-key'
import type { World } from '#runtime/world'

/** Of one device: more than anybody waits for at once, and each may be a quarter of a megabyte. */
export const openWritesOfDeviceMax = 64
/** The same of one user, so that one user does not keep others from a device. */
export const openWritesOfUserMax = 32
/** Of all devices. */
export const openWritesMax = 10_000

type WriteStatus = 'OK' | 'REJECTED' | 'SENT'

/** What became of a write, property by property, in the order they were asked. Contract 3.5. */
export interface WriteOutcome {
  readonly updates: readonly WriteResult[]
}

export interface WriteResult {
  readonly propId: number
  readonly status: WriteStatus
  /** Why not, in the device's words. */
  readonly message?: string
}

/** A write somebody waits for: its RESULT is not complete, or it could not be sent yet. */
export interface OpenWrite {
  readonly tenant: string
  readonly device: string
  readonly id: string
  /** CRN of the user who asked. */
  readonly user: string | undefined
  readonly order: WriteOrder
  /** False: it is answered as soon as it is sent. */
  readonly isWaiting: boolean
  /** What the device said so far, by propId, and what it said nothing of yet. */
  readonly results: Map<number, WriteResult>
  readonly unanswered: Set<number>
  /** The generation of the device it was sent to last. */
  sentTo: LinkedDevice | undefined
  /** Settled by the two below. */
  readonly outcome: Promise<WriteOutcome>
  answered(outcome: WriteOutcome): void
  refused(problem: Problem): void
}

export function openWrite(
  tenant: string,
  device: string,
  id: string,
  user: string | undefined,
  order: WriteOrder,
  isWaiting: boolean,
): OpenWrite {
  let answered: OpenWrite['answered'] = () => {}
  let refused: OpenWrite['refused'] = () => {}
  const outcome = new Promise<WriteOutcome>((resolve, reject) => {
    answered = resolve
    refused = reject
  })
  const unanswered = new Set(order.updates.map(({ propId }) => propId))
  const results = new Map<number, WriteResult>()
  return {
    tenant,
    device,
    id,
    user,
    order,
    isWaiting,
    results,
    unanswered,
    sentTo: undefined,
    outcome,
    answered,
    refused,
  }
}

/**
 * The writes that wait, by device and in the order they were asked, and their deadline. All wait equally long, so the
 * oldest is due first, and one timer is enough.
 */
export class OpenWrites {
  readonly #world: World
  readonly #timeoutMs: number
  readonly #expired: (write: OpenWrite) => void
  /** By device, then by id. */
  readonly #writes = new Map<string, Map<string, OpenWrite>>()
  /** Until when, World.monotonic; in that order. */
  readonly #waiting = new Map<OpenWrite, number>()
  #isTimed = false

  /** `expired` is told of each that was taken out because its time is over. */
  constructor(world: World, timeoutMs: number, expired: (write: OpenWrite) => void) {
    this.#world = world
    this.#timeoutMs = timeoutMs
    this.#expired = expired
  }

  get size(): number {
    return this.#waiting.size
  }

  get(tenant: string, device: string, id: string): OpenWrite | undefined {
    return this.#writes.get(tenantKey(tenant, device))?.get(id)
  }

  /** A list of its own: whoever goes through it may take out what is in it. */
  of(tenant: string, device: string): readonly OpenWrite[] {
    return [...(this.#writes.get(tenantKey(tenant, device))?.values() ?? [])]
  }

  all(): readonly OpenWrite[] {
    return [...this.#waiting.keys()]
  }

  /** @throws Problem `overloaded`, `too_many_requests` */
  add(write: OpenWrite): void {
    const key = tenantKey(write.tenant, write.device)
    const before = this.#writes.get(key)
    if (this.size >= openWritesMax || (before?.size ?? 0) >= openWritesOfDeviceMax) throw new Problem('overloaded')
    if (write.user !== undefined && countOf(before, write.user) >= openWritesOfUserMax) {
      throw new Problem('too_many_requests', `at most ${openWritesOfUserMax} writes of one user wait for a device`, {
        headers: { 'Retry-After': '1' },
      })
    }
    if (before) before.set(write.id, write)
    else this.#writes.set(key, new Map([[write.id, write]]))
    this.#waiting.set(write, this.#world.monotonic() + this.#timeoutMs)
    this.#time(this.#timeoutMs)
  }

  /** False when it was taken out before. */
  remove(write: OpenWrite): boolean {
    if (!this.#waiting.delete(write)) return false
    const key = tenantKey(write.tenant, write.device)
    const writes = this.#writes.get(key)
    writes?.delete(write.id)
    if (writes?.size === 0) this.#writes.delete(key)
    return true
  }

  #time(delayMs: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    this.#world.after(delayMs, () => {
      this.#isTimed = false
      this.#expireDue()
    })
  }

  #expireDue(): void {
    const now = this.#world.monotonic()
    for (const [write, until] of this.#waiting) {
      const leftMs = until - now
      // A timer may fire a fraction early; never wait for less than a millisecond.
      if (leftMs > 0) {
        this.#time(Math.max(1, leftMs))
        return
      }
      this.remove(write)
      this.#expired(write)
    }
  }
}

function countOf(writes: ReadonlyMap<string, OpenWrite> | undefined, user: string): number {
  let count = 0
  for (const write of writes?.values() ?? []) if (write.user === user) count++
  return count
}
