import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { isRunning } from '#actors/update/machine'
import {
  type FoundUpdate,
  type StoredUpdate,
  type UpdateCommand,
  updateAddress,
  updateRecord,
} from '#actors/update/state'
import { isHeldBack, waitingAttempts } from '#actors/update/transition'
import type { UpdateOptions } from '#firmware/options'
import { firstUpdate, queriesOf } from '#firmware/pending-triggers'
import type { UpdateChecks } from '#firmware/update-checks'
import { needsSlot, UpdateSlots } from '#firmware/update-slots'
import type { Links } from '#link/links'
import { graceMs } from '#link/presence'
import type { Entry } from '#model/entry'
import { type Trigger, type UpdateState, updateStates } from '#model/firmware'
import { Problem } from '#model/problem'
import { isOfTenant, tenantKey } from '#model/tenant'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

export interface UpdateStarterParts {
  readonly system: System<Entry>
  readonly links: Pick<Links, 'offers' | 'linkedOf'>
  readonly checks: Pick<UpdateChecks, 'now' | 'soon'>
  readonly options: UpdateOptions
  readonly bug: (error: unknown, where: string) => void
}

/**
 * Starts the updates that have no waiting request: automatic updates, and updates of further firmwares of a device. It
 * asks the update server first and starts an update only if there is one, so nothing is stored when a fleet without
 * updates reconnects. If a step fails, the next trigger finds the update again.
 */
export class UpdateStarter {
  readonly #parts: UpdateStarterParts
  readonly #slots: UpdateSlots<WaitingCandidate>
  readonly #grace: ReconnectGrace
  /** The stored updates that are running, by tenant and device. They can be slightly out of date. */
  readonly #running = new Map<string, StoredUpdate>()
  readonly states = Object.fromEntries(updateStates.map((state) => [state, 0])) as Record<UpdateState, number>
  #isStopped = false

  constructor(parts: UpdateStarterParts) {
    this.#parts = parts
    this.#grace = new ReconnectGrace(parts.system.world)
    this.#slots = new UpdateSlots({
      world: parts.system.world,
      countMax: parts.options.underWayMax,
      begin: (waiting) => void this.#startWaiting(waiting),
    })
  }

  get runningCount(): number {
    return this.#running.size
  }

  /** Number of updates that wait for a slot; none of them has started. */
  get waitingCount(): number {
    return this.#slots.waitingCount
  }

  runningOf(tenant: string, device: string): StoredUpdate | undefined {
    return this.#running.get(tenantKey(tenant, device))
  }

  /** Records the stored update of a device; undefined: the update was deleted. */
  setStored(tenant: string, device: string, stored: StoredUpdate | undefined): void {
    const key = tenantKey(tenant, device)
    this.#forget(key)
    if (stored && isRunning(stored.state)) {
      this.#running.set(key, stored)
      this.states[stored.state]++
    }
    if (stored && needsSlot(stored)) this.#slots.hold(tenant, device)
    else this.#slots.leave(tenant, device)
  }

  /** Renews the slot of a device that sent a message about its update. */
  renew(tenant: string, device: string): void {
    this.#slots.renew(tenant, device)
  }

  /** Call it each time the store was read: gives devices time to reconnect. */
  open(): void {
    this.#grace.open(graceMs)
  }

  /**
   * Starts an update if there is one for the device and the trigger applies to it. Synchronous if the server answers
   * synchronously.
   * @throws Problem `overloaded` if the candidate has a `hold` and too many candidates wait
   */
  consider(candidate: UpdateCandidate): void | Promise<void> {
    if (candidate.hold && this.#slots.isFull) throw new Problem('overloaded')
    return this.#considerUnlessRunning(candidate)
  }

  /**
   * Call when a device has reconnected. If connecting is no trigger, the device is checked for the trigger that waited
   * for the device, or for a retry that was due while the device was offline.
   */
  returned(tenant: string, device: string): void | Promise<void> {
    const awaited = this.#grace.take(tenant, device)
    const wanted = this.#parts.options.isConnectUpdateDisabled ? (awaited ?? this.retryOf(tenant, device)) : undefined
    const start = this.#considerUnlessRunning({ ...(wanted ?? { by: 'connect' }), tenant, device })
    return awaited ? Promise.resolve(start).finally(awaited.release) : start
  }

  /** The trigger of the retry that is due; undefined if no retry is due. */
  retryOf(tenant: string, device: string): Pick<UpdateCandidate, 'by' | 'isForRollout'> | undefined {
    const { system } = this.#parts
    const waiting = waitingAttempts(updateNow(system, tenant, device)?.attempts ?? [])
    const now = system.world.now()
    const [first, ...others] = waiting.filter(({ nextAt }) => nextAt <= now)
    // The check is restricted to the rollout only if all due retries are.
    return first && { by: first.by, isForRollout: [first, ...others].every(({ rollout }) => rollout !== null) }
  }

  /** Drops running and waiting updates of all tenants, or of one. */
  clear(tenant = ''): void {
    this.#slots.clear(tenant)
    this.#grace.clear(tenant)
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
    this.#slots.clear()
    this.#grace.stop()
  }

  #considerUnlessRunning(candidate: UpdateCandidate): void | Promise<void> {
    const { tenant, device } = candidate
    if (this.#isStopped || this.#running.has(tenantKey(tenant, device)) || this.#slots.has(tenant, device)) return
    return this.#safely(() => this.#consider(candidate, false))
  }

  #consider(candidate: UpdateCandidate, hasSlot: boolean): void | Promise<void> {
    const { checks, links, options, system } = this.#parts
    const { tenant, device, by, only, isForRollout = false } = candidate
    const known = deviceNow(system, tenant, device)
    if (!known || !isApplicable(by, options, known.isAutoUpdated, true)) return
    if (!links.linkedOf(tenant, device)?.link.isOpen) {
      // The device still counts as online, because it was connected when the previous process died.
      if (this.#grace.isOpen && known.status !== 'offline') this.#grace.wait(waitingOf(candidate))
      return
    }
    const isAutomatic = by !== 'post'
    const found = firstUpdate(
      queriesOf(tenant, known, isAutomatic, only),
      (query) => (isAutomatic ? checks.soon(query, by) : checks.now(query)),
      (offer, { index }) => {
        if (!isApplicable(by, options, known.isAutoUpdated, offer.isPinned)) return false
        if (isForRollout && offer.rollout === null && !offer.isPinned) return false
        const { attempts } = updateNow(system, tenant, device) ?? {}
        return !isAutomatic || !isHeldBack(attempts, { index, offer }, system.world.now())
      },
    )
    if (found instanceof Promise) return found.then((late) => this.#found(candidate, late, hasSlot))
    return this.#found(candidate, found, hasSlot)
  }

  #found(candidate: UpdateCandidate, found: FoundUpdate | undefined, hasSlot: boolean): void | Promise<void> {
    if (!found) return
    const { tenant, device, by } = candidate
    if (by === 'post' || hasSlot) return this.#begin(candidate, found)
    // While the update server was asked, another trigger got the slot.
    if (this.#slots.has(tenant, device)) return
    if (!this.#slots.take(tenant, device)) {
      const isForRollout = by !== 'connect' && found.offer.rollout !== null
      const waiting = waitingOf({ ...candidate, isForRollout: candidate.isForRollout || isForRollout })
      if (!this.#slots.wait(waiting)) waiting.release()
      return
    }
    return this.#begin(candidate, found).finally(() => this.#leaveUnlessRunning(candidate))
  }

  async #begin({ tenant, device, by }: UpdateCandidate, found: FoundUpdate): Promise<void> {
    const { links, system } = this.#parts
    // The check may have taken long, so the connection is read again.
    const linked = links.linkedOf(tenant, device)
    const known = deviceNow(system, tenant, device)
    const isSame = known?.firmwares.some(({ index, firmware }) => index === found.index && firmware === found.from)
    if (this.#isStopped || !linked?.link.isOpen || !isSame || known?.project == null) return
    if (links.offers.urlOf(tenant, device, found.offer) === undefined) return
    const id = Buffer.from(system.world.random(16)).toString('hex')
    const { project, firmwares } = known
    const { session } = linked
    const begin: UpdateCommand = { type: 'begin', by, project, firmwares, session, id, found }
    // Never refused for overload, because the command follows from an accepted request.
    await system.ask(updateAddress(tenant, device), begin, 0)
  }

  /** Starts an update that waited for a slot. The device is checked again, because the wait may have been long. */
  async #startWaiting(candidate: WaitingCandidate): Promise<void> {
    if (!this.#isStopped) await this.#safely(() => this.#consider(candidate, true))
    this.#leaveUnlessRunning(candidate)
    candidate.release()
  }

  #leaveUnlessRunning({ tenant, device }: UpdateCandidate): void {
    const stored = this.runningOf(tenant, device)
    if (!stored || !needsSlot(stored)) this.#slots.leave(tenant, device)
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

/**
 * The current state of a device, possibly not stored yet. Undefined if the device does not exist, or while the store is
 * being read.
 */
export function deviceNow(system: System<Entry>, tenant: string, device: string): DeviceState | undefined {
  return system.isServing ? system.peek(deviceAddress(tenant, device)) : undefined
}

/**
 * The last update of a device, possibly not stored yet. Undefined if there was none, or while the store is being read.
 */
export function updateNow(system: System<Entry>, tenant: string, device: string): StoredUpdate | undefined {
  if (!system.isServing) return undefined
  return system.recordOf(updateAddress(tenant, device), updateRecord) as StoredUpdate | undefined
}

/**
 * Whether a trigger applies to a device. Contract 6, Options. A device that refuses automatic updates is updated only
 * by `POST`, even if a version is pinned.
 *
 * `isPinned`: whether the offered version is the pinned one. Callers that do not know the offered version yet pass
 * true, which never excludes an update.
 */
export function isApplicable(
  trigger: Trigger,
  options: UpdateOptions,
  isAutoUpdated: boolean,
  isPinned: boolean,
): boolean {
  return trigger === 'post' || (isAutoUpdated && automatic[trigger](options, isPinned))
}

const automatic: Readonly<Record<Exclude<Trigger, 'post'>, (options: UpdateOptions, isPinned: boolean) => boolean>> = {
  connect: ({ isConnectUpdateDisabled }) => !isConnectUpdateDisabled,
  cron: () => true,
  hook: ({ isHookForPinsOnly }, isPinned) => isPinned || !isHookForPinsOnly,
}

/**
 * Called when a device has to wait. Returns a function that is called when the wait is over. That function is not
 * called if the process dies, or if the candidates are dropped (`clear`).
 */
type Hold = () => () => void

export interface CheckOptions {
  /** Only firmwares with these indexes; undefined: all. */
  readonly only?: readonly number[] | undefined
  /** Only rollout or pinned versions, so that the newest release is not offered after the rollout has ended. */
  readonly isForRollout?: boolean | undefined
  readonly hold?: Hold | undefined
}

export interface UpdateCandidate extends CheckOptions {
  readonly tenant: string
  readonly device: string
  readonly by: Trigger
}

/** A candidate that waits for a slot or for the device to reconnect. */
export interface WaitingCandidate extends UpdateCandidate {
  readonly release: () => void
}

function waitingOf(candidate: UpdateCandidate): WaitingCandidate {
  return { ...candidate, release: candidate.hold?.() ?? (() => {}) }
}

/**
 * Devices that were connected when the previous process died and have not reconnected yet. A missed schedule, an
 * interrupted project scan and waiting updates continue before the devices reconnect; devices that would be skipped
 * then are checked when they reconnect.
 */
class ReconnectGrace {
  readonly #world: World
  /** By tenant and device. */
  readonly #awaited = new Map<string, WaitingCandidate>()
  /** Whether devices still have time to reconnect. */
  isOpen = false
  #cancel: (() => void) | undefined

  constructor(world: World) {
    this.#world = world
  }

  /** Gives devices this long to reconnect, from now on. */
  open(forMs: number): void {
    this.clear()
    this.#cancel?.()
    this.isOpen = true
    this.#cancel = this.#world.after(forMs, () => this.#giveUp())
  }

  /** Replaces an earlier candidate of the same device. */
  wait(waiting: WaitingCandidate): void {
    this.take(waiting.tenant, waiting.device)?.release()
    this.#awaited.set(tenantKey(waiting.tenant, waiting.device), waiting)
  }

  /** Removes and returns the candidate that waited for a device to reconnect; undefined if there is none. */
  take(tenant: string, device: string): WaitingCandidate | undefined {
    const key = tenantKey(tenant, device)
    const waiting = this.#awaited.get(key)
    this.#awaited.delete(key)
    return waiting
  }

  /** Drops the candidates of all tenants, or of one, without calling their `release`. */
  clear(tenant = ''): void {
    for (const key of [...this.#awaited.keys()]) if (tenant === '' || isOfTenant(key, tenant)) this.#awaited.delete(key)
  }

  stop(): void {
    this.isOpen = false
    this.#cancel?.()
    this.clear()
  }

  #giveUp(): void {
    this.isOpen = false
    const all = [...this.#awaited.values()]
    this.#awaited.clear()
    for (const { release } of all) release()
  }
}
