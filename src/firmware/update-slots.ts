import type { StoredUpdate } from '#actors/update/state'
import { type UpdateState, updateStates } from '#model/firmware'
import { isOfTenant, tenantKey } from '#model/tenant'
import { backgroundSliceMs, Slices } from '#runtime/slices'
import type { World } from '#runtime/world'
import { isBusy } from '#workers/rate-limit'

/**
 * The largest number of updates that wait for a slot. Above it, updates are dropped, and found again by their next
 * trigger.
 */
export const waitingMax = 100_000

/** An update without a message for this long loses its slot, although it may still complete. */
export const silentMs = 60_000

/**
 * The largest number of updates that start in a second. As many may start at once after a pause. The cost of an update,
 * from the offer to the reconnected device, must not delay device reports. With long downloads, updates start more
 * slowly, because slots become free more slowly.
 */
export const startsPerSecond = 128

/** Starts per second while the loop is busy: a lower rate delays the changes of other devices less. */
export const busyStartsPerSecond = 64

/** An automatic update that needs a slot. */
export interface SlotRequest {
  readonly tenant: string
  readonly device: string
}

export interface UpdateSlotsOptions<T extends SlotRequest> {
  readonly world: World
  readonly countMax: number
  /**
   * Called with a waiting update that has a slot now. The function must call `leave` if no update starts, and must not
   * throw.
   */
  readonly begin: (waited: T) => void
}

/**
 * The slots of automatic updates: a fleet must not download all at once. Without a free slot, updates wait in order.
 */
export class UpdateSlots<T extends SlotRequest> {
  readonly #options: UpdateSlotsOptions<T>
  /** World.monotonic of the last message of each update, by tenant and device; the oldest first. */
  readonly #slots = new Map<string, number>()
  readonly #waiting = new Map<string, T>()
  /** The starts so far use up the permitted rate until this time, by World.monotonic. */
  #pacedUntil = Number.NEGATIVE_INFINITY
  #isBeginning = false
  #cancel: (() => void) | undefined

  constructor(options: UpdateSlotsOptions<T>) {
    this.#options = options
  }

  get placedCount(): number {
    return this.#slots.size
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  /** Whether no more updates can wait. */
  get isFull(): boolean {
    return this.#waiting.size >= waitingMax
  }

  /** Whether the update of a device has a slot or waits for one. */
  has(tenant: string, device: string): boolean {
    const key = tenantKey(tenant, device)
    return this.#slots.has(key) || this.#waiting.has(key)
  }

  /** Takes a slot if one is free, no other update waits and the rate permits a start. */
  take(tenant: string, device: string): boolean {
    if (this.#waiting.size > 0 || this.#slots.size >= this.#options.countMax || this.#earlyMs() > 0) return false
    this.#paced()
    this.hold(tenant, device)
    return true
  }

  /** Gives a slot to a running update, even if all slots are taken, or renews it after a message. */
  hold(tenant: string, device: string): void {
    const key = tenantKey(tenant, device)
    this.#slots.delete(key)
    this.#slots.set(key, this.#options.world.monotonic())
    this.#watch(silentMs)
  }

  renew(tenant: string, device: string): void {
    if (this.#slots.has(tenantKey(tenant, device))) this.hold(tenant, device)
  }

  /** Makes an update wait for a slot. Returns false if too many wait. */
  wait(waiting: T): boolean {
    const key = tenantKey(waiting.tenant, waiting.device)
    if (this.#waiting.has(key)) return true
    if (this.isFull) return false
    this.#waiting.set(key, waiting)
    this.#beginSoon()
    return true
  }

  leave(tenant: string, device: string): void {
    if (this.#slots.delete(tenantKey(tenant, device))) this.#beginSoon()
  }

  /** Drops the slots and waiting updates of all tenants, or of one. */
  clear(tenant = ''): void {
    for (const entries of [this.#slots, this.#waiting]) {
      for (const key of [...entries.keys()]) if (tenant === '' || isOfTenant(key, tenant)) entries.delete(key)
    }
    this.#beginSoon()
  }

  #beginSoon(): void {
    if (this.#isBeginning || this.#waiting.size === 0 || this.#slots.size >= this.#options.countMax) return
    this.#isBeginning = true
    const { world } = this.#options
    const earlyMs = this.#earlyMs()
    if (earlyMs > 0) world.after(Math.max(1, earlyMs), () => this.#begin())
    else world.soon(() => this.#begin())
  }

  #begin(): void {
    const { world, countMax, begin } = this.#options
    const slice = new Slices(world, backgroundSliceMs)
    for (const [key, waited] of this.#waiting) {
      if (this.#slots.size >= countMax || slice.isOver || this.#earlyMs() > 0) break
      this.#waiting.delete(key)
      this.#paced()
      this.hold(waited.tenant, waited.device)
      begin(waited)
    }
    this.#isBeginning = false
    this.#beginSoon()
  }

  /** Milliseconds until the next update may start. */
  #earlyMs(): number {
    return this.#pacedUntil - this.#options.world.monotonic()
  }

  #paced(): void {
    const { world } = this.#options
    const pauseMs = 1_000 / (isBusy(world) ? busyStartsPerSecond : startsPerSecond)
    const earliest = world.monotonic() - 1_000 + pauseMs
    this.#pacedUntil = Math.max(this.#pacedUntil, earliest) + pauseMs
  }

  #watch(delayMs: number): void {
    this.#cancel ??= this.#options.world.after(delayMs, () => {
      this.#cancel = undefined
      this.#giveUpSilent()
    })
  }

  #giveUpSilent(): void {
    const { world } = this.#options
    for (const [key, signAt] of this.#slots) {
      const leftMs = signAt + silentMs - world.monotonic()
      if (leftMs > 0) {
        // A timer may fire a fraction early; never wait for less than a millisecond.
        this.#watch(Math.max(1, leftMs))
        break
      }
      this.#slots.delete(key)
    }
    this.#beginSoon()
  }
}

/** Whether the device reported that the update started. */
export function hasBegunAt(state: UpdateState): boolean {
  return isWithin(state, 'started', 'rebooting')
}

/** Whether an update uses a slot: automatic updates do, from the offer to the end of the download. */
export function needsSlot({ state, context }: StoredUpdate): boolean {
  return context.by !== 'post' && isWithin(state, 'offering', 'downloading')
}

function isWithin(state: UpdateState, first: UpdateState, last: UpdateState): boolean {
  const rank = updateStates.indexOf(state)
  return rank >= updateStates.indexOf(first) && rank <= updateStates.indexOf(last)
}
