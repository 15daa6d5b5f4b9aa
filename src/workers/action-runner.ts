import {
  type ActionPageCommand,
  actionAddress,
  actionPageAddress,
  actionRecord,
  type PageProgress,
  pageDevicesMax,
  runningActionIndex,
} from '#actors/action/action'
import { deviceAddress } from '#actors/device/device'
import type { DeviceState } from '#actors/device/state'
import { decideWrite } from '#actors/device/writes'
import { isTenantActive } from '#actors/directory/queries'
import { tenantAddress } from '#actors/tenant/commands'
import type { Links } from '#link/links'
import { graceMs } from '#link/presence'
import {
  actionDevicesMax,
  actionsOfAuthorMax,
  actionsRunningMax,
  type DeviceOutcome,
  type NewAction,
  type StoredAction,
} from '#model/action'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { reachesService, type Scope } from '#model/scope'
import { tenantKey } from '#model/tenant'
import type { System } from '#runtime/system'
import { Pace, WorkStopped } from '#workers/pace'
import { RateLimit } from '#workers/rate-limit'
import { type ActionTask, outcomeOfRefusal, outcomeOfWrite, RunningAction } from '#workers/running-action'
import { sortedUnion } from '#workers/sorted-union'
import { type JobParts, runWithRetries, storedEntries } from '#workers/stored-entries'

export interface ActionRunnerParts extends JobParts {
  readonly links: Pick<Links, 'writes' | 'statusOf'>
  /** The present permissions of the action's author. */
  readonly scopeOf: (tenant: string, author: string) => Scope
}

/** The limit of devices with an unanswered request, over all actions. */
const pace = { sliceMs: 1, underWayMax: 256 }
/**
 * The rate of requests to connected devices. Each request costs about 40 µs, half of it when the device answers.
 * Devices that are asked together also answer together, so without this limit a full burst would delay all other work.
 */
const requestRate = { countMax: 16, withinMs: 4 }
/** The limit of pages that are being written to the store. Actions are stored one after the other. */
const storingPace = { sliceMs: 1, underWayMax: 64 }
/** Outcomes are collected for this long and stored together. */
const outcomeDelayMs = 50
const retryMs = 1_000
/** The bytes that a device name counts for while it waits to be stored. */
const deviceBytes = 32

/**
 * Runs actions, in small steps. Actions run in rotation: one device of an action, then one of the next. Each device is
 * asked with the permissions that the author has at that moment, and with the present schema. Contract 3.6.
 *
 * - An action is stored before it is acknowledged, and the outcome of each device within moments. After a crash the
 *   action resumes: a device without an outcome is asked again, under the same id (the id of the action and the flake
 *   address of the device), and a device never executes the same id twice.
 * - After a restart, devices that were online before may reconnect within the grace period of presence.
 * - A request that is refused because of overload is retried later. A request without an answer is retried too, if
 *   nothing could be stored meanwhile.
 */
export class ActionRunner {
  readonly #parts: ActionRunnerParts
  readonly #pace: Pace
  readonly #storingPace: Pace
  readonly #rate: RateLimit
  /** Running actions, by tenant and id. */
  readonly #running = new Map<string, RunningAction>()
  /** Actions that may have a device to ask, in round-robin order. */
  readonly #ready = new Set<RunningAction>()
  /** Actions that are accepted and not stored yet. */
  readonly #unstored = new Set<NewAction>()
  #lastStored: Promise<unknown> = Promise.resolve()
  /** The end of the grace period, by `World.monotonic`. */
  #graceUntil = 0
  #isRunning = false
  #isStopped = false
  #wake: () => void = () => {}

  constructor(parts: ActionRunnerParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
    this.#storingPace = new Pace(parts.system.world, storingPace)
    this.#rate = new RateLimit(parts.system.world, requestRate)
  }

  /** Call after the store was read: resumes unfinished actions. */
  open(): void {
    const isStopped = () => this.#isStopped
    void runWithRetries(this.#parts, isStopped, () => this.#resume())
  }

  reloaded(): void {
    this.open()
  }

  /**
   * Resolves when the action is stored. From then on it runs to its end, also in a later process.
   * @throws Problem `conflict` for too many devices or actions, `not_found`, `overloaded`, `stopping`, `storage`
   */
  async begin(action: NewAction): Promise<void> {
    this.#checkLimits(action)
    this.#unstored.add(action)
    const stored = this.#lastStored.then(() => this.#store(action))
    this.#lastStored = stored.catch(() => {})
    try {
      this.#add(action.tenant, action.id, await stored)
    } catch (error) {
      throw error instanceof WorkStopped ? new Problem('stopping') : error
    } finally {
      this.#unstored.delete(action)
    }
  }

  /** @throws Problem `conflict` */
  #checkLimits({ tenant, author }: NewAction): void {
    const running = Array.from(this.#running.values(), ({ tenant, stored }) => ({ tenant, author: stored.createdBy }))
    const ofTenant = [...running, ...this.#unstored].filter((other) => other.tenant === tenant)
    if (ofTenant.length >= actionsRunningMax) {
      throw new Problem('conflict', `at most ${actionsRunningMax} actions run at the same time`)
    }
    if (ofTenant.filter((other) => other.author === author).length >= actionsOfAuthorMax) {
      throw new Problem('conflict', `at most ${actionsOfAuthorMax} actions of one user run at the same time`)
    }
  }

  /** The tenant is being deleted: its actors must not be asked any more. */
  tenantEnded(tenant: string): void {
    for (const action of [...this.#running.values()]) if (action.tenant === tenant) this.#end(action)
  }

  /** Call it before connections are closed: later refusals say nothing about devices. Stores the outcomes so far. */
  stop(): void {
    this.#isStopped = true
    for (const action of [...this.#running.values()]) void this.#storeOutcomes(action).then(() => this.#end(action))
    this.#pace.stop()
    this.#storingPace.stop()
    this.#wake()
  }

  async #resume(): Promise<void> {
    const { system } = this.#parts
    this.#graceUntil = system.world.monotonic() + graceMs
    for await (const { tenant, entry: id } of storedEntries(this.#parts, runningActionIndex)) {
      const stored = system.recordOf(actionAddress(tenant, id), actionRecord) as StoredAction | undefined
      if (stored && !stored.isDone) this.#add(tenant, id, stored)
    }
  }

  /** The pages are stored first, so that a stored action is complete. */
  async #store({
    tenant,
    id,
    author,
    serviceIdentifier,
    updates,
    desired,
    devices: lists,
  }: NewAction): Promise<StoredAction> {
    const { system } = this.#parts
    const ask = (...asked: Parameters<typeof system.ask>) => {
      if (!isTenantActive(system, tenant)) throw new Problem('not_found')
      return system.ask(...asked)
    }
    let devices: readonly string[] | undefined
    const union = function* () {
      devices = yield* sortedUnion(lists, actionDevicesMax)
    }
    await this.#storingPace.each(union(), () => {})
    if (!devices) throw new Problem('conflict', `an action is for at most ${actionDevicesMax} devices`)
    await this.#storingPace.each(pagesOf(devices), async ([page, names]) => {
      const put: ActionPageCommand = { type: 'put', devices: names }
      await ask(actionPageAddress(tenant, id, page), put, names.length * deviceBytes)
    })
    const action = {
      ...{ serviceIdentifier, updates, createdBy: author, total: devices.length },
      ...(desired && { desired }),
    }
    await ask(actionAddress(tenant, id), { type: 'begin', action })
    return { ...action, createdAt: system.world.now(), isDone: false }
  }

  #add(tenant: string, id: string, stored: StoredAction): void {
    const key = tenantKey(tenant, id)
    if (this.#isStopped || this.#running.has(key)) return
    const action = new RunningAction(this.#parts.system, tenant, id, stored)
    this.#running.set(key, action)
    this.#run(action)
      .catch(this.#parts.failed)
      .finally(() => this.#end(action))
    if (!this.#isRunning) void this.#runTasks()
  }

  async #runTasks(): Promise<void> {
    this.#isRunning = true
    while (!this.#isStopped) {
      try {
        await this.#pace.each(this.#tasks(), (task) => this.#runTask(task))
      } catch (error) {
        if (!(error instanceof WorkStopped)) this.#parts.failed(error)
      }
    }
  }

  #end(action: RunningAction): void {
    action.isEnded = true
    this.#ready.delete(action)
    this.#running.delete(`${action.tenant}/${action.id}`)
  }

  async #run(action: RunningAction): Promise<void> {
    while (action.open.size > 0) {
      const passed = action.beginPass()
      this.#setReady(action)
      await passed
      while (!(await this.#storeOutcomes(action))) await this.#pause(retryMs)
      if (action.isEnded) return
      if (action.open.size > 0) await this.#pause(action.waitMs())
    }
    while (!action.isEnded && !(await this.#ask(actionAddress(action.tenant, action.id), { type: 'done' }))) {
      await this.#pause(retryMs)
    }
  }

  /** Yields tasks without end. If there is none, it waits until it is woken. */
  async *#tasks(): AsyncGenerator<ActionTask> {
    while (!this.#isStopped) {
      const [action] = this.#ready
      if (!action) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      this.#ready.delete(action)
      const task = this.#nextTask(action)
      if (!task) continue
      this.#ready.add(action)
      yield task
    }
  }

  #nextTask(action: RunningAction): ActionTask | undefined {
    try {
      return action.next()
    } catch (error) {
      // The page cannot be read now. The action continues later.
      if (!(error instanceof Problem)) this.#parts.failed(error)
      void this.#pause(retryMs).then(() => this.#setReady(action))
      return undefined
    }
  }

  #setReady(action: RunningAction): void {
    if (action.isEnded) return
    this.#ready.add(action)
    this.#wake()
  }

  async #runTask(task: ActionTask): Promise<void> {
    const { action } = task
    const waitMs = this.#isConnected(task) ? this.#rate.take() : 0
    if (waitMs > 0) await this.#pause(waitMs)
    let outcome = await this.#outcomeOf(action, task.device)
    if (action.isEnded || this.#isStopped) return
    if (isAbsence(outcome) && !this.#mayStore) outcome = undefined
    if (outcome && !action.hasUnstored) void this.#pause(outcomeDelayMs).then(() => this.#storeOutcomes(action))
    action.recordOutcome(task, outcome)
    this.#setReady(action)
  }

  /** False after a failed write, which closes the connections of devices, and if another node became the owner. */
  get #mayStore(): boolean {
    const { isServing, gate } = this.#parts.system
    return isServing && gate.isOpen
  }

  #isConnected({ action: { tenant }, device }: ActionTask): boolean {
    return this.#parts.links.statusOf(tenant, device) !== 'offline'
  }

  /** Asks one device. Undefined: the device must be retried later. */
  async #outcomeOf(action: RunningAction, device: string): Promise<DeviceOutcome | undefined> {
    const { tenant, id, stored } = action
    const { system, links, scopeOf } = this.#parts
    const { serviceIdentifier: service, updates: values, createdBy } = stored
    try {
      // The tenant may have ended while the action was being accepted.
      if (!isTenantActive(system, tenant)) this.#end(action)
      if (action.isEnded) return undefined
      if (!reachesService(scopeOf(tenant, createdBy), 'service', 'update', device, service))
        throw new Problem('not_found')
      const schema = system.wake(tenantAddress(tenant)).schemas.get(service)
      const state = system.peek(deviceAddress(tenant, device))
      if (!state) throw new Problem('not_found')
      if (stored.desired) {
        const command = { type: 'set_desired', service, values, isWhole: false, schema, id } as const
        await links.writes.desired.set(tenant, device, command, 0)
        return { status: 'OK' }
      }
      if (links.statusOf(tenant, device) === 'offline') {
        // Offline devices are not activated, because no request can be sent to them.
        const decision = decideWrite(state, { service, values, schema })
        if (decision.type === 'refuse') return outcomeOfRefusal(decision.problem)
        return this.#mayReconnect(state) ? undefined : absenceOf(action, device)
      }
      const asked = { tenant, user: createdBy, device, service, values, schema, isWaiting: true, isRepeated: false }
      return outcomeOfWrite(await links.writes.ask({ ...asked, id: `a:${id}:${state.flakeAddress}` }))
    } catch (error) {
      if (!(error instanceof Problem)) {
        this.#parts.failed(error)
        return undefined
      }
      if (error.code === 'device_timeout') action.unanswered.add(device)
      return error.code === 'device_offline' ? absenceOf(action, device) : outcomeOfRefusal(error)
    }
  }

  /** Whether the device was online before the restart and is still within its grace period. */
  #mayReconnect({ status }: DeviceState): boolean {
    return status !== 'offline' && this.#parts.system.world.monotonic() < this.#graceUntil
  }

  /** False if some outcomes could not be stored: answers are kept, and the other devices are asked again. */
  #storeOutcomes(action: RunningAction): Promise<boolean> {
    action.storing = action.storing.then(() => this.#storeNow(action))
    return action.storing
  }

  async #storeNow(action: RunningAction): Promise<boolean> {
    const { tenant, id } = action
    if (action.isEnded) return true
    const stored = action.takeOutcomes().map(async ([page, outcomes]) => {
      const tell: ActionPageCommand = { type: 'outcomes', outcomes }
      const progress = (await this.#ask(actionPageAddress(tenant, id, page), tell)) as PageProgress | undefined
      if (!progress)
        action.putBack(
          page,
          outcomes.filter(([, outcome]) => !isAbsence(outcome)),
        )
      else if (progress.pending === 0) action.open.delete(page)
      return progress !== undefined
    })
    return (await Promise.all(stored)).every((isStored) => isStored)
  }

  /** Bypasses the overload limit, because the action was already accepted. Undefined if it cannot be stored now. */
  async #ask(...[address, command]: Parameters<System<Entry>['ask']>): Promise<unknown> {
    try {
      return (await this.#parts.system.ask(address, command, 0)) ?? true
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return undefined
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#parts.system.world.after(ms, resolve))
  }
}

function absenceOf({ unanswered }: RunningAction, device: string): DeviceOutcome {
  return { status: unanswered.has(device) ? 'DEVICE_TIMEOUT' : 'DEVICE_OFFLINE' }
}

/** Whether the device did not answer. This is only an outcome if an answer could have been received. */
function isAbsence(outcome: DeviceOutcome | undefined): boolean {
  return outcome?.status === 'DEVICE_OFFLINE' || outcome?.status === 'DEVICE_TIMEOUT'
}

function* pagesOf(devices: readonly string[]): Generator<readonly [page: number, devices: readonly string[]]> {
  for (let page = 0; page * pageDevicesMax < devices.length; page++) {
    yield [page, devices.slice(page * pageDevicesMax, (page + 1) * pageDevicesMax)]
  }
}
