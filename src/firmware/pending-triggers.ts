import type { DeviceState } from '#actors/device/state'
import type { FoundUpdate } from '#actors/update/state'
import type { TriggerOutcome } from '#model/firmware'
import { getOrInsert } from '#model/map-values'
import { Problem } from '#model/problem'
import { isOfTenant, tenantKey } from '#model/tenant'
import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'
import type { World } from '#runtime/world'

/** Maximum number of waiting requests: each keeps a connection open. */
export const pendingTriggersMax = 10_000

export interface PendingTrigger {
  /** Aborts when the client disconnected or the request was abandoned. */
  readonly signal: AbortSignal
  /** Returns the answer for a request that timed out. */
  readonly late: () => TriggerOutcome
  readonly answered: (outcome: TriggerOutcome) => void
  readonly refused: (problem: Problem) => void
}

/** Requests that wait for the result of an update, by device. Each is answered once. */
export class PendingTriggers {
  readonly #world: World
  readonly #timeoutMs: number
  /** By tenant and device: the waiting requests, each with the function that ends its wait. */
  readonly #waiting = new Map<string, Map<PendingTrigger, () => void>>()
  #size = 0

  constructor(world: World, timeoutMs: number) {
    this.#world = world
    this.#timeoutMs = timeoutMs
  }

  get size(): number {
    return this.#size
  }

  has(tenant: string, device: string): boolean {
    return this.#waiting.has(tenantKey(tenant, device))
  }

  /** Refuses at once if too many wait or the request was aborted. */
  add(tenant: string, device: string, waiter: PendingTrigger): void {
    const { signal } = waiter
    if (this.#size >= pendingTriggersMax) {
      waiter.refused(new Problem('overloaded'))
      return
    }
    const key = tenantKey(tenant, device)
    const abort = () => {
      if (this.#take(key, waiter)) waiter.refused(new Problem('stopping', 'the request was abandoned'))
    }
    const cancel = this.#world.after(this.#timeoutMs, () => {
      if (this.#take(key, waiter)) waiter.answered(waiter.late())
    })
    signal.addEventListener('abort', abort, { once: true })
    const end = () => {
      cancel()
      signal.removeEventListener('abort', abort)
    }
    getOrInsert(this.#waiting, key, () => new Map()).set(waiter, end)
    this.#size++
    if (signal.aborted) abort()
  }

  settle(tenant: string, device: string, outcome: TriggerOutcome): void {
    for (const waiter of this.#takeAll(tenantKey(tenant, device))) waiter.answered(outcome)
  }

  refuse(tenant: string, device: string, problem: Problem): void {
    for (const waiter of this.#takeAll(tenantKey(tenant, device))) waiter.refused(problem)
  }

  settleAll(outcome: TriggerOutcome): void {
    for (const key of [...this.#waiting.keys()]) for (const waiter of this.#takeAll(key)) waiter.answered(outcome)
  }

  /** Refuses all waiting requests of a tenant; without `tenant`, of every tenant. */
  refuseAll(problem: Problem, tenant = ''): void {
    const keys = [...this.#waiting.keys()].filter((key) => tenant === '' || isOfTenant(key, tenant))
    for (const key of keys) for (const waiter of this.#takeAll(key)) waiter.refused(problem)
  }

  #takeAll(key: string): readonly PendingTrigger[] {
    return [...(this.#waiting.get(key)?.keys() ?? [])].filter((waiter) => this.#take(key, waiter))
  }

  /** Removes a request and ends its wait. Returns false if it was removed before. */
  #take(key: string, waiter: PendingTrigger): boolean {
    const waiting = this.#waiting.get(key)
    const end = waiting?.get(waiter)
    if (!waiting || !end) return false
    end()
    waiting.delete(waiter)
    if (waiting.size === 0) this.#waiting.delete(key)
    this.#size--
    return true
  }
}

type Offered = OfferedFirmware | undefined

/**
 * The queries to the update server about a device: one for each firmware, by index. Empty without a project or
 * firmware. `only`: queries only for firmwares with these indexes.
 */
export function queriesOf(
  tenant: string,
  { device, project, firmwares }: Pick<DeviceState, 'device' | 'project' | 'firmwares'>,
  isAutomatic: boolean,
  only?: readonly number[],
): readonly UpdateQuery[] {
  if (project === null) return []
  const requested = only ? firmwares.filter(({ index }) => only.includes(index)) : [...firmwares]
  return requested
    .sort((a, b) => a.index - b.index)
    .map(({ firmware, hardware, index }) => {
      return { tenant, device, project, firmware, ...(hardware !== undefined && { hardware }), index, isAutomatic }
    })
}

/**
 * The first firmware of a device with a wanted update. Synchronous if all answers are synchronous. An error ends the
 * search.
 */
export function firstUpdate(
  queries: readonly UpdateQuery[],
  ask: (query: UpdateQuery) => Offered | Promise<Offered>,
  isWanted: (offer: OfferedFirmware, query: UpdateQuery) => boolean,
): FoundUpdate | undefined | Promise<FoundUpdate | undefined> {
  const [query, ...later] = queries
  if (!query) return undefined
  const next = (offer: Offered) => {
    if (!offer || !isWanted(offer, query)) return firstUpdate(later, ask, isWanted)
    return { index: query.index, from: query.firmware, offer, rest: later.map(({ index }) => index) }
  }
  const offer = ask(query)
  return offer instanceof Promise ? offer.then(next) : next(offer)
}
