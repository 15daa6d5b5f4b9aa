import type { StoredUpdate } from '#actors/update/state'
import { type UpdateState, updateStates } from '#model/firmware'
import { isOfTenant, tenantKey } from '#model/tenant-key'
import { backgroundSliceMs, Slices } from '#runtime/slices'
import type { World } from '#runtime/world'
import { isBusy } from '#workers/busy'

/** Updates that wait for a place. What finds no room is found again by what begins updates next. */
export const waitingMax = 100_000

/** Without a sign for so long an update gives its place up, though it may still come to an end. */
export const silentMs = 60_000

/**
 * So many begin a second, and as many at once after a pause: what an update costs the server, from the offer to the device
 * that came back, must not hold up those that report. Devices that download for a while leave places more slowly.
 */
export const beginningsPerSecond = 128

/** Beside a busy loop: the fewer, the less the changes that others report wait. */
export const beginningsBesideMuch = 64

/** An update that begins by itself, as far as places are concerned. */
export interface Placed {
  readonly tenant: string
  readonly device: string
}

export interface UnderWayOptions<T extends Placed> {
  readonly world: World
  /** Places. */
  readonly countMax: number
  /** One that waited has a place from now on, and gives it up if nothing comes of it. Must not throw. */
  readonly begin: (waited: T) => void
}

/**
 * The places of updates that begin by themselves: a fleet must not download all at once. Who finds none waits, in the
 * order they came.
 */
export class UnderWay<T extends Placed> {
  readonly #options: UnderWayOptions<T>
  /** World.monotonic of the last sign of each, by tenant and device, in that order. */
  readonly #places = new Map<string, number>()
  readonly #waiting = new Map<string, T>()
  /** World.monotonic of when all that were begun would be, one after the other. */
  #pacedUntil = Number.NEGATIVE_INFINITY
  #isBeginning = false
  #cancel: (() => void) | undefined

  constructor(options: UnderWayOptions<T>) {
    this.#options = options
  }

  get placedCount(): number {
    return this.#places.size
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  /** No more can wait. */
  get isFull(): boolean {
    return this.#waiting.size >= waitingMax
  }

  /** Whether it has a place, or waits for one. */
  has(tenant: string, device: string): boolean {
    const key = tenantKey(tenant, device)
    return this.#places.has(key) || this.#waiting.has(key)
  }

  /** A place, if there is one that nobody waits for. */
  take(tenant: string, device: string): boolean {
    if (this.#waiting.size > 0 || this.#places.size >= this.#options.countMax || this.#earlyMs() > 0) return false
    this.#paced()
    this.hold(tenant, device)
    return true
  }

  /** It is under way already, whether there is a place or not; or it gave a sign. */
  hold(tenant: string, device: string): void {
    const key = tenantKey(tenant, device)
    this.#places.delete(key)
    this.#places.set(key, this.#options.world.monotonic())
    this.#watch(silentMs)
  }

  /** The same for one that has a place. */
  sign(tenant: string, device: string): void {
    if (this.#places.has(tenantKey(tenant, device))) this.hold(tenant, device)
  }

  /** False when too many wait. */
  wait(waiting: T): boolean {
    const key = tenantKey(waiting.tenant, waiting.device)
    if (this.#waiting.has(key)) return true
    if (this.isFull) return false
    this.#waiting.set(key, waiting)
    this.#beginSoon()
    return true
  }

  leave(tenant: string, device: string): void {
    if (this.#places.delete(tenantKey(tenant, device))) this.#beginSoon()
  }

  /** Of all tenants, or of one: nothing of it is under way any more, and nothing waits. */
  clear(tenant = ''): void {
    for (const entries of [this.#places, this.#waiting]) {
      for (const key of [...entries.keys()]) if (tenant === '' || isOfTenant(key, tenant)) entries.delete(key)
    }
    this.#beginSoon()
  }

  #beginSoon(): void {
    if (this.#isBeginning || this.#waiting.size === 0 || this.#places.size >= this.#options.countMax) return
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
      if (this.#places.size >= countMax || slice.isOver || this.#earlyMs() > 0) break
      this.#waiting.delete(key)
      this.#paced()
      this.hold(waited.tenant, waited.device)
      begin(waited)
    }
    this.#isBeginning = false
    this.#beginSoon()
  }

  /** How much too early it is for the next to begin. */
  #earlyMs(): number {
    return this.#pacedUntil - this.#options.world.monotonic()
  }

  #paced(): void {
    const { world } = this.#options
    const pauseMs = 1_000 / (isBusy(world) ? beginningsBesideMuch : beginningsPerSecond)
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
    for (const [key, signAt] of this.#places) {
      const leftMs = signAt + silentMs - world.monotonic()
      if (leftMs > 0) {
        // A timer may fire a fraction early; never wait for less than a millisecond.
        this.#watch(Math.max(1, leftMs))
        break
      }
      this.#places.delete(key)
    }
    this.#beginSoon()
  }
}

/** What the states of an update mean to whoever brings it about. They are in the order in which it goes through them. */

/** Whether the device said that it began. */
export function hasBegunAt(state: UpdateState): boolean {
  return isWithin(state, 'started', 'rebooting')
}

/** Whether it counts among those that go on at once: begun by itself, and perhaps to download still. */
export function needsPlace({ state, context }: StoredUpdate): boolean {
  return context.by !== 'post' && isWithin(state, 'offering', 'downloading')
}

function isWithin(state: UpdateState, first: UpdateState, last: UpdateState): boolean {
  const rank = updateStates.indexOf(state)
  return rank >= updateStates.indexOf(first) && rank <= updateStates.indexOf(last)
}
