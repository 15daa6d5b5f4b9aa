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
 * Starts the updates that have no waiting request: automatic updates and those of further firmwares of a device. It
 * asks the update server first and starts an update only if there is one, so a fleet that reconnects leaves no trace.
 * If a step fails, the next trigger finds the update again.
 */
export class Beginnings {
  readonly #parts: BeginningsParts
  readonly #places: UnderWay<Waiting>
  readonly #returning: Returning
  /** By tenant and device: the stored updates, slightly delayed. */
  readonly #running = new Map<string, StoredUpdate>()
  /** Number of running updates in each state. */
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

  /** Number of running updates, with any trigger. */
  get runningCount(): number {
    return this.#running.size
  }

  /** Number of updates that wait for a slot; none of them has started. */
  get waitingCount(): number {
    return this.#places.waitingCount
  }

  runningOf(tenant: string, device: string): StoredUpdate | undefined {
    return this.#running.get(tenantKey(tenant, device))
  }

  /** Records the stored update of a device; undefined: it was deleted. */
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

  /** A device sent a message about its update. */
  sign(tenant: string, device: string): void {
    this.#places.sign(tenant, device)
  }

  /** The store was read, at the start or again: devices get a period to reconnect. */
  open(): void {
    this.#returning.open(graceMs)
  }

  /**
   * Starts an update if there is one for the device and the trigger applies to it. Synchronous if the server answers
   * synchronously.
   * @throws Problem `overloaded` if too many wait, and the caller holds the device
   */
  consider(considered: Considered): void | Promise<void> {
    if (considered.hold && this.#places.isFull) throw new Problem('overloaded')
    return this.#look(considered)
  }

  /**
   * The device reconnected. If a connection alone starts no update, the device is checked for the trigger that awaited
   * it, or for the retry that it missed while it was offline.
   */
  returned(tenant: string, device: string): void | Promise<void> {
    const awaited = this.#returning.take(tenant, device)
    const wanted = this.#parts.options.isConnectUpdateDisabled ? (awaited ?? this.retryOf(tenant, device)) : undefined
    const looked = this.#look({ ...(wanted ?? { by: 'connect' }), tenant, device })
    return awaited ? Promise.resolve(looked).finally(awaited.release) : looked
  }

  /** The trigger of the next retry; undefined: no retry is due. */
  retryOf(tenant: string, device: string): Pick<Considered, 'by' | 'isForRollout'> | undefined {
    const { system } = this.#parts
    const waiting = waitingAttempts(updateNow(system, tenant, device)?.attempts ?? [])
    const now = system.world.now()
    const [first, ...others] = waiting.filter(({ nextAt }) => nextAt <= now)
    // The restriction to a rollout holds only if all due retries have it.
    return first && { by: first.by, isForRollout: [first, ...others].every(({ rollout }) => rollout !== null) }
  }

  /** Drops running and waiting updates of all tenants, or of one. */
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
      // The device counts as online: it was connected when the previous process died.
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
    // Another trigger came first while the server was asked.
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
    // The check may have taken long, so the connection is read again.
    const linked = links.linkedOf(tenant, device)
    const known = deviceNow(system, tenant, device)
    const isSame = known?.firmwares.some(({ index, firmware }) => index === found.index && firmware === found.from)
    if (this.#isStopped || !linked?.link.isOpen || !isSame || known?.project == null) return
    if (links.offers.urlOf(tenant, device, found.offer) === undefined) return
    const seed = Buffer.from(system.world.random(16)).toString('hex')
    const { project, firmwares } = known
    const { session } = linked
    const begin: BeginUpdate = { type: 'begin', by, project, firmwares, session, seed, found }
    // Never refused for overload: it follows from an accepted request.
    await system.ask(updateAddress(tenant, device), begin, 0)
  }

  /** A waiting update has a slot now. It is checked again, because it may have waited long. */
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
    if (!isExpected) this.#parts.bug(error, 'starting an update')
  }
}

/** The device, perhaps not stored yet. Undefined if it does not exist or while the store is being read. */
export function deviceNow(system: System<Entry>, tenant: string, device: string): DeviceState | undefined {
  return system.isServing ? system.look(deviceAddress(tenant, device)) : undefined
}

/** The last update of the device, with the same limits. */
export function updateNow(system: System<Entry>, tenant: string, device: string): StoredUpdate | undefined {
  if (!system.isServing) return undefined
  return system.recordOf(updateAddress(tenant, device), updateRecord) as StoredUpdate | undefined
}

/**
 * Whether a trigger applies to a device. Contract 6, Options. A device that refuses automatic updates is updated by
 * `POST` only, even if a version is pinned.
 *
 * `isPinned`: whether the offered version is the pinned one. Callers that do not know yet pass true, which never
 * excludes an update.
 */
export function isMeant(trigger: Trigger, options: UpdateOptions, isAutoUpdated: boolean, isPinned: boolean): boolean {
  return trigger === 'post' || (isAutoUpdated && automatic[trigger](options, isPinned))
}

const automatic: Readonly<Record<Exclude<Trigger, 'post'>, (options: UpdateOptions, isPinned: boolean) => boolean>> = {
  connect: ({ isConnectUpdateDisabled }) => !isConnectUpdateDisabled,
  cron: () => true,
  hook: ({ isHookForPinsOnly }, isPinned) => isPinned || !isHookForPinsOnly,
}
