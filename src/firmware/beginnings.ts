import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { updateAddress } from '#actors/update/address'
import { isHeldBack, waitingAttempts } from '#actors/update/attempts'
import type { BeginUpdate, FoundUpdate } from '#actors/update/commands'
import { isRunning } from '#actors/update/machine'
import { type StoredUpdate, updateRecord } from '#actors/update/state'
import type { Checks } from '#firmware/checks'
import { type Considered, type Waiting, waitingOf } from '#firmware/considered'
import type { UpdateOptions } from '#firmware/options'
import { Returning } from '#firmware/returning'
import { firstUpdate, questionsOf } from '#firmware/search'
import { needsPlace, UnderWay } from '#firmware/under-way'
import type { Links } from '#link/links'
import { graceMs } from '#link/presence'
import type { Entry } from '#model/entry'
import { type Trigger, type UpdateState, updateStates } from '#model/firmware'
import { Problem } from '#model/problem'
import { isOfTenant, tenantKey } from '#model/tenant-key'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { System } from '#runtime/system'

export interface BeginningsParts {
  readonly system: System<Entry>
  readonly links: Pick<Links, 'offers' | 'linkedOf'>
  readonly checks: Pick<Checks, 'now' | 'soon'>
  readonly options: UpdateOptions
  readonly bug: (error: unknown, where: string) => void
}

/**
 * Begins the updates that nobody waits for: those that begin by themselves, and those of further firmwares of a device. The
 * update server is asked first, and only where there is an update one is begun: a fleet that comes back leaves no trace.
 * What fails on the way is found again by what begins updates next.
 */
export class Beginnings {
  readonly #parts: BeginningsParts
  readonly #places: UnderWay<Waiting>
  readonly #returning: Returning
  /** By tenant and device: as stored, some moments late. */
  readonly #running = new Map<string, StoredUpdate>()
  /** How many of those are in each state. */
  readonly states = Object.fromEntries(updateStates.map((state) => [state, 0])) as Record<UpdateState, number>
  #isStopped = false

  constructor(parts: BeginningsParts) {
    this.#parts = parts
    this.#returning = new Returning(parts.system.world)
    this.#places = new UnderWay({
      world: parts.system.world,
      countMax: parts.options.underWayMax,
      begin: (waited) => void this.#placed(waited),
    })
  }

  /** Updates under way, however they were begun. */
  get runningCount(): number {
    return this.#running.size
  }

  /** Those that wait for a place; none of them has begun. */
  get waitingCount(): number {
    return this.#places.waitingCount
  }

  runningOf(tenant: string, device: string): StoredUpdate | undefined {
    return this.#running.get(tenantKey(tenant, device))
  }

  /** Where the update of a device stands now; undefined: nothing is left of it. */
  stands(tenant: string, device: string, stored: StoredUpdate | undefined): void {
    const key = tenantKey(tenant, device)
    this.#forget(key)
    if (stored && isRunning(stored.state)) {
      this.#running.set(key, stored)
      this.states[stored.state]++
    }
    if (stored && needsPlace(stored)) this.#places.hold(tenant, device)
    else this.#places.leave(tenant, device)
  }

  /** A device said something of its update. */
  sign(tenant: string, device: string): void {
    this.#places.sign(tenant, device)
  }

  /** The store was read, by a new process or anew: devices have a while to come back. */
  open(): void {
    this.#returning.open(graceMs)
  }

  /**
   * Begins an update if there is one for the device, and it is meant. At once where the server answers at once.
   * @throws Problem `overloaded` when too many wait, to who holds it
   */
  consider(considered: Considered): void | Promise<void> {
    if (considered.hold && this.#places.isFull) throw new Problem('overloaded')
    return this.#look(considered)
  }

  /**
   * The device is back. Where that alone begins nothing, it is considered for what it was awaited for, or because it was
   * away when it was to be tried again.
   */
  returned(tenant: string, device: string): void | Promise<void> {
    const awaited = this.#returning.take(tenant, device)
    const wanted = this.#parts.options.isConnectUpdateDisabled ? (awaited ?? this.retryOf(tenant, device)) : undefined
    const looked = this.#look({ ...(wanted ?? { by: 'connect' }), tenant, device })
    return awaited ? Promise.resolve(looked).finally(awaited.release) : looked
  }

  /** How it is tried again; undefined: it is not to be, or not yet. */
  retryOf(tenant: string, device: string): Pick<Considered, 'by' | 'isForRollout'> | undefined {
    const { system } = this.#parts
    const waiting = waitingAttempts(updateNow(system, tenant, device)?.attempts ?? [])
    const now = system.world.now()
    const [first, ...others] = waiting.filter(({ nextAt }) => nextAt <= now)
    // What one came by is for all of them.
    return first && { by: first.by, isForRollout: [first, ...others].every(({ rollout }) => rollout !== null) }
  }

  /** Of all tenants, or of one: nothing is under way, and nothing waits. */
  clear(tenant = ''): void {
    this.#places.clear(tenant)
    this.#returning.clear(tenant)
    for (const key of [...this.#running.keys()]) if (tenant === '' || isOfTenant(key, tenant)) this.#forget(key)
  }

  #forget(key: string): void {
    const before = this.#running.get(key)
    if (!before) return
    this.states[before.state]--
    this.#running.delete(key)
  }

  stop(): void {
    this.#isStopped = true
    this.#places.clear()
    this.#returning.stop()
  }

  #look(considered: Considered): void | Promise<void> {
    const { tenant, device } = considered
    if (this.#isStopped || this.#running.has(tenantKey(tenant, device)) || this.#places.has(tenant, device)) return
    return this.#safely(() => this.#consider(considered, false))
  }

  #consider(considered: Considered, hasPlace: boolean): void | Promise<void> {
    const { checks, links, options, system } = this.#parts
    const { tenant, device, by, only, isForRollout = false } = considered
    const known = deviceNow(system, tenant, device)
    if (!known || !isMeant(by, options, known.isAutoUpdated, true)) return
    if (!links.linkedOf(tenant, device)?.link.isOpen) {
      // Recorded as present: it was when the process before this one died.
      if (this.#returning.isOpen && known.status !== 'offline') this.#returning.wait(waitingOf(considered))
      return
    }
    const isAutomatic = by !== 'post'
    const found = firstUpdate(
      questionsOf(tenant, known, isAutomatic, only),
      (question) => (isAutomatic ? checks.soon(question, by) : checks.now(question)),
      (offer, { index }) => {
        if (!isMeant(by, options, known.isAutoUpdated, offer.isPinned)) return false
        if (isForRollout && offer.rollout === null && !offer.isPinned) return false
        const { attempts } = updateNow(system, tenant, device) ?? {}
        return !isAutomatic || !isHeldBack(attempts, { index, offer }, system.world.now())
      },
    )
    if (found instanceof Promise) return found.then((late) => this.#found(considered, late, hasPlace))
    return this.#found(considered, found, hasPlace)
  }

  #found(considered: Considered, found: FoundUpdate | undefined, hasPlace: boolean): void | Promise<void> {
    if (!found) return
    const { tenant, device, by } = considered
    if (by === 'post' || hasPlace) return this.#begin(considered, found)
    // Another trigger came first, while the server was asked.
    if (this.#places.has(tenant, device)) return
    if (!this.#places.take(tenant, device)) {
      const isForRollout = by !== 'connect' && found.offer.rollout !== null
      const waiting = waitingOf({ ...considered, isForRollout: considered.isForRollout || isForRollout })
      if (!this.#places.wait(waiting)) waiting.release()
      return
    }
    return this.#begin(considered, found).finally(() => this.#leaveUnlessRunning(considered))
  }

  async #begin({ tenant, device, by }: Considered, found: FoundUpdate): Promise<void> {
    const { links, system } = this.#parts
    // The server may have taken its time.
    const linked = links.linkedOf(tenant, device)
    const known = deviceNow(system, tenant, device)
    const isSame = known?.firmwares.some(({ index, firmware }) => index === found.index && firmware === found.from)
    if (this.#isStopped || !linked?.link.isOpen || !isSame || known?.project == null) return
    if (links.offers.urlOf(tenant, device, found.offer) === undefined) return
    const seed = Buffer.from(system.world.random(16)).toString('hex')
    const { project, firmwares } = known
    const { session } = linked
    const begin: BeginUpdate = { type: 'begin', by, project, firmwares, session, seed, found }
    // It follows from what was accepted: not refused because too much waits.
    await system.ask(updateAddress(tenant, device), begin, 0)
  }

  /** There is a place for one that waited for it: it is looked at anew, for that may be long ago. */
  async #placed(considered: Waiting): Promise<void> {
    if (!this.#isStopped) await this.#safely(() => this.#consider(considered, true))
    this.#leaveUnlessRunning(considered)
    considered.release()
  }

  #leaveUnlessRunning({ tenant, device }: Considered): void {
    const stored = this.runningOf(tenant, device)
    if (!stored || !needsPlace(stored)) this.#places.leave(tenant, device)
  }

  #safely(task: () => void | Promise<void>): void | Promise<void> {
    try {
      return task()?.catch((error: unknown) => this.#failed(error))
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    const isExpected =
      error instanceof UpdateServerBusy || error instanceof UpdateServerFailed || error instanceof Problem
    if (!isExpected) this.#parts.bug(error, 'beginning an update')
  }
}

/** The device, perhaps not stored yet. Undefined when there is none, or while the store is being read. */
export function deviceNow(system: System<Entry>, tenant: string, device: string): DeviceState | undefined {
  return system.isServing ? system.peek(deviceAddress(tenant, device)) : undefined
}

/** The same of the device's last update. */
export function updateNow(system: System<Entry>, tenant: string, device: string): StoredUpdate | undefined {
  if (!system.isServing) return undefined
  return system.recordOf(updateAddress(tenant, device), updateRecord) as StoredUpdate | undefined
}

/**
 * Whether something that begins updates is meant for a device. Contract 6, Options. A device that refuses to be updated
 * by itself is updated by `POST` alone, also when it is held at a version.
 *
 * `isPinned`: what it would be updated to is what it is held at. Who does not know yet asks with true: that is never less.
 */
export function isMeant(trigger: Trigger, options: UpdateOptions, isAutoUpdated: boolean, isPinned: boolean): boolean {
  return trigger === 'post' || (isAutoUpdated && automatic[trigger](options, isPinned))
}

const automatic: Readonly<Record<Exclude<Trigger, 'post'>, (options: UpdateOptions, isPinned: boolean) => boolean>> = {
  connect: ({ isConnectUpdateDisabled }) => !isConnectUpdateDisabled,
  cron: () => true,
  hook: ({ isHookForPinsOnly }, isPinned) => isPinned || !isHookForPinsOnly,
}
