import type { WriteOrder } from '#actors/device/commands'
import type { LinkedDevice } from '#link/link'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import type { World } from '#runtime/world'

/**
 * Limit for the open writes of one device, above any normal use. Until it is answered, a write may take about half a
 * megabyte of memory.
 */
export const openWritesOfDeviceMax = 64
/** Limit for the open writes of one user to one device, so that one user does not block others. */
export const openWritesOfUserMax = 32
/** Limit for the open writes of all devices. */
export const openWritesMax = 10_000

type WriteStatus = 'OK' | 'REJECTED' | 'SENT'

/** The result of a write for each property, in the order of the request. Contract 3.5. */
export interface WriteOutcome {
  readonly updates: readonly WriteResult[]
}

export interface WriteResult {
  readonly propId: number
  readonly status: WriteStatus
  /** The reason of a rejection, as the device sent it. */
  readonly message?: string
}

/** A write that was not sent yet, or has no complete RESULT. */
export interface OpenWrite extends Due {
  readonly tenant: string
  readonly device: string
  readonly id: string
  /** CRN of the user who requested the write. */
  readonly user: string | undefined
  readonly writeOrder: WriteOrder
  /** If false, the answer is sent with the WRITE and not with its RESULT. */
  readonly isWaiting: boolean
  /** The received results, by propId. */
  readonly results: Map<number, WriteResult>
  /** The propIds without a result. */
  readonly unanswered: Set<number>
  /** The connected device that the WRITE was last sent to. */
  sentTo: LinkedDevice | undefined
  /** Settled by `answered` or `refused`. */
  readonly outcome: Promise<WriteOutcome>
  answered(outcome: WriteOutcome): void
  refused(problem: Problem): void
}

export function openWrite(
  request: Pick<OpenWrite, 'tenant' | 'device' | 'id' | 'user' | 'writeOrder' | 'isWaiting'>,
): OpenWrite {
  let answered: OpenWrite['answered'] = () => {}
  let refused: OpenWrite['refused'] = () => {}
  const outcome = new Promise<WriteOutcome>((resolve, reject) => {
    answered = resolve
    refused = reject
  })
  const key = `${tenantKey(request.tenant, request.device)}\n${request.id}`
  const unanswered = new Set(request.writeOrder.updates.map(({ propId }) => propId))
  const results = new Map()
  return { ...unplaced, ...request, key, results, unanswered, sentTo: undefined, outcome, answered, refused }
}

/** Open writes by device, in the order of the requests, with their deadline. */
export class OpenWrites {
  readonly #world: World
  readonly #timeoutMs: number
  readonly #writes = new Map<string, Map<string, OpenWrite>>()
  readonly #waiting: DueQueue<OpenWrite>

  /** `expired` is called for each write that was removed at its deadline. */
  constructor(world: World, timeoutMs: number, expired: (write: OpenWrite) => void) {
    this.#world = world
    this.#timeoutMs = timeoutMs
    this.#waiting = new DueQueue(world, 'monotonic', (write) => {
      this.#forget(write)
      expired(write)
    })
  }

  get size(): number {
    return this.#waiting.size
  }

  get(tenant: string, device: string, id: string): OpenWrite | undefined {
    return this.#writes.get(tenantKey(tenant, device))?.get(id)
  }

  /** Returns a copy, so that writes may be removed during iteration. */
  of(tenant: string, device: string): readonly OpenWrite[] {
    return [...(this.#writes.get(tenantKey(tenant, device))?.values() ?? [])]
  }

  all(): readonly OpenWrite[] {
    return [...this.#waiting]
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
    this.#waiting.put(write, this.#world.monotonic() + this.#timeoutMs)
  }

  /** Returns false if the write was removed before. */
  remove(write: OpenWrite): boolean {
    if (this.#waiting.get(write.key) !== write) return false
    this.#waiting.delete(write.key)
    this.#forget(write)
    return true
  }

  #forget(write: OpenWrite): void {
    const key = tenantKey(write.tenant, write.device)
    const writes = this.#writes.get(key)
    writes?.delete(write.id)
    if (writes?.size === 0) this.#writes.delete(key)
  }
}

function countOf(writes: ReadonlyMap<string, OpenWrite> | undefined, user: string): number {
  let count = 0
  for (const write of writes?.values() ?? []) if (write.user === user) count++
  return count
}
