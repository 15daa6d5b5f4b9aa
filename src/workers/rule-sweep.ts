import { alarmIndex } from '#actors/device/alarms'
import { serviceIndex } from '#actors/device/declaration'
import { deviceAddress } from '#actors/device/device'
import { evaluateAllAlarms } from '#actors/device/evaluation'
import { activeTenants, isTenantActive } from '#actors/directory/queries'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { getOrInsert } from '#model/map-values'
import { Problem } from '#model/problem'
import type { RuleViews } from '#rules/tenant-rules'
import { namesOf, type Pages, pagesIn } from '#runtime/storage'
import { Pace, WorkStopped } from '#workers/pace'
import type { JobParts } from '#workers/stored-entries'

export interface RuleSweepParts extends JobParts {
  readonly rules: RuleViews
}

/** The sweep's progress is stored after this many devices. */
const devicesPerProgress = 4_096
const listedAtATime = 1_024
/** The limit of alarms that share one pass through the devices. Each alarm has its own progress record. */
const alarmsPerPass = 256
/**
 * For up to this many waiting requests of a tenant, the start of a sweep is stored with its request. For further
 * requests it is stored when their pass begins.
 */
const startsAtOnce = 256
const pace = { sliceMs: 1, underWayMax: 256 }
const retryMs = 1_000

/** One request to sweep an alarm; each further request gets a new ticket. */
interface SweepRequest {
  readonly alarm: string
  /** The alarm's digest; '' if it was deleted. */
  readonly digest: string
  readonly ticket: number
}

/** Alarms of one tenant whose devices are scanned together. */
interface Pass {
  readonly tenant: string
  readonly alarms: readonly SweepRequest[]
  /** All devices with this service; undefined: the devices that the alarms list. */
  readonly service: string | undefined
  /** The last device already scanned; '' at the start. */
  readonly cursor: string
}

/**
 * Evaluates the alarms of devices without waiting for their next report: after a change of an alarm, a group, a schema
 * or a role. After a crash it continues. Contract 5.3.
 *
 * A digest identifies everything that affects the evaluation of an alarm. The tenant stores the digest by which all
 * devices were last evaluated, and the digest by which some devices may have been evaluated since. The devices are due
 * if the first digest differs from the present one, or if there is a second one. A device evaluates all its alarms at
 * once, so alarms share a pass. Devices are read without being activated; only those whose state would change are asked
 * to evaluate.
 */
export class RuleSweep {
  readonly #parts: RuleSweepParts
  readonly #pace: Pace
  /** Alarms by tenant, in the order of their requests, with the latest ticket. */
  readonly #requests = new Map<string, Map<string, number>>()
  #lastTicket = 0
  #isRunning = false
  #isStopped = false
  #cancelRetry: (() => void) | undefined

  constructor(parts: RuleSweepParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
  }

  /**
   * The evaluation of an alarm has changed. Call it synchronously with the change of the rules, before any device is
   * evaluated by the new ones.
   */
  request(tenant: string, alarm: string): void {
    if (this.#isStopped || !isTenantActive(this.#parts.system, tenant)) return
    this.#add(tenant, alarm)
    if ((this.#requests.get(tenant)?.size ?? 0) <= startsAtOnce) this.#storeStart(tenant, alarm)
    this.#begin()
  }

  /** Call after the store was read and the rules were loaded: starts all due sweeps. @throws Problem `storage` */
  open(): void {
    const { system } = this.#parts
    for (const tenant of activeTenants(system)) {
      for (const [alarm, { digest, sweeping }] of system.wake(tenantAddress(tenant)).evaluated) {
        const now = this.#digestOf(tenant, alarm)
        if (now === '' || digest !== now || sweeping !== null) this.#add(tenant, alarm)
      }
    }
    this.#begin()
  }

  reloaded(): void {
    this.open()
  }

  /** The tenant is being deleted: its actors must not be asked any more. */
  tenantEnded(tenant: string): void {
    this.#requests.delete(tenant)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
    this.#pace.stop()
    this.#requests.clear()
  }

  #add(tenant: string, alarm: string): void {
    getOrInsert(this.#requests, tenant, () => new Map()).set(alarm, ++this.#lastTicket)
  }

  #begin(): void {
    if (this.#isRunning || this.#isStopped || this.#cancelRetry) return
    this.#isRunning = true
    this.#run()
      .catch((error: unknown) => this.#retryLater(error))
      .finally(() => {
        this.#isRunning = false
        if (this.#requests.size > 0) this.#begin()
      })
  }

  /** The requests remain queued. */
  #retryLater(error: unknown): void {
    if (this.#isStopped || error instanceof WorkStopped) return
    // A Problem is a failed write, which is logged elsewhere. The work continues when the store takes writes again.
    if (!(error instanceof Problem)) this.#parts.failed(error)
    this.#cancelRetry = this.#parts.system.world.after(retryMs, () => {
      this.#cancelRetry = undefined
      this.#begin()
    })
  }

  async #run(): Promise<void> {
    const { gate } = this.#parts.system
    // Waits for the commit gate before each pass: changes by the previous rules are perhaps not in the index yet.
    for (await gate.whenStored(); this.#requests.size > 0; await gate.whenStored()) {
      // While the store takes no writes, no evaluation could be stored.
      if (!gate.isOpen) throw new Problem('storage')
      const pass = this.#nextPass()
      if (pass) await this.#runPass(pass)
    }
  }

  /** The pass of the oldest request, with all alarms that share its devices. */
  #nextPass(): Pass | undefined {
    for (const [tenant, alarms] of this.#requests) {
      const [first] = alarms.keys()
      if (first !== undefined) return this.#passOf(tenant, alarms, first)
      this.#requests.delete(tenant)
    }
    return undefined
  }

  #passOf(tenant: string, alarms: ReadonlyMap<string, number>, first: string): Pass {
    const [service, cursor] = this.#routeOf(tenant, first)
    const requests: SweepRequest[] = []
    for (const [alarm, ticket] of alarms) {
      const route = this.#routeOf(tenant, alarm)
      if (route[0] !== service || route[1] !== cursor) continue
      requests.push({ alarm, digest: this.#digestOf(tenant, alarm), ticket })
      if (requests.length === alarmsPerPass) break
    }
    return { tenant, alarms: requests, service, cursor }
  }

  /** The devices to scan, and the last one already scanned. */
  #routeOf(tenant: string, alarm: string): readonly [service: string | undefined, cursor: string] {
    const { system, rules } = this.#parts
    const { evaluated, alarms } = system.wake(tenantAddress(tenant))
    if (rules.of(tenant)?.boundOf(alarm) !== '*') return [undefined, '']
    const progress = evaluated.get(alarm)
    const isBegun = progress?.sweeping === this.#digestOf(tenant, alarm)
    return [alarms.get(alarm)?.serviceIdentifier, isBegun ? progress.cursor : '']
  }

  async #runPass(pass: Pass): Promise<void> {
    const { tenant, alarms } = pass
    for (const { alarm } of alarms) this.#storeStart(tenant, alarm)
    // All devices on which the alarm is or was active, including devices to which it is no longer bound.
    for (const { alarm } of alarms) {
      const rows = this.#parts.listing.entries(alarmIndex, tenant, `${alarm}/`)
      await this.#evaluateIn(pass, rows, (row) => row.slice(alarm.length + 1))
    }
    await this.#evaluateBound(pass)
    for (const request of this.#currentRequests(pass)) {
      const { alarm, digest } = request
      await this.#ask(tenant, { type: 'sweep_done', alarm, digest })
      if (this.#isCurrent(tenant, request)) this.#requests.get(tenant)?.delete(alarm)
    }
  }

  #evaluateBound(pass: Pass): Promise<void> {
    const { tenant, service, cursor } = pass
    if (service === undefined) return this.#evaluateIn(pass, namesOf(this.#listedDevices(pass)), (device) => device)
    const after = cursor === '' ? '' : `${service}/${cursor}`
    const rows = this.#parts.listing.entries(serviceIndex, tenant, `${service}/`, after)
    return this.#evaluateIn(
      pass,
      rows,
      (row) => row.slice(service.length + 1),
      (device) => this.#storeProgress(pass, device),
    )
  }

  /** All devices that the alarms list, each once. */
  *#listedDevices({ tenant, alarms }: Pass): Generator<string, undefined> {
    const seen = new Set<string>()
    for (const { alarm } of alarms) {
      const bound = this.#parts.rules.of(tenant)?.boundOf(alarm) ?? []
      for (const devices of bound === '*' ? [] : bound) {
        for (const device of devices) {
          if (!seen.has(device)) yield device
          seen.add(device)
        }
      }
    }
  }

  /** Ends early if all alarms of the pass were requested again. */
  async #evaluateIn(
    pass: Pass,
    pages: Pages,
    deviceOf: (name: string) => string,
    storeProgress: (device: string) => void = () => {},
  ): Promise<void> {
    let count = 0
    for await (const page of pagesIn(pages, listedAtATime)) {
      if (this.#currentRequests(pass).length === 0) return
      await this.#pace.each(page, (name) => this.#evaluate(pass.tenant, deviceOf(name)))
      count += page.length
      if (count < devicesPerProgress) continue
      count = 0
      storeProgress(deviceOf(page.at(-1) ?? ''))
    }
  }

  /**
   * Stores the progress in the same commit as the evaluations of earlier devices, or a later one: their turns have run.
   */
  #storeProgress(pass: Pass, cursor: string): void {
    for (const { alarm, digest } of this.#currentRequests(pass)) {
      this.#store(pass.tenant, { type: 'sweep_progress', alarm, digest, cursor })
    }
  }

  #evaluate(tenant: string, device: string): Promise<void> | undefined {
    const { system, rules } = this.#parts
    if (!this.#requests.has(tenant)) return undefined
    const address = deviceAddress(tenant, device)
    const state = system.peek(address)
    const remindedAt = system.reminders.dueAt(address) ?? null
    if (!state || !evaluateAllAlarms(state, rules.of(tenant), system.world.now(), remindedAt)) return undefined
    return this.#askToEvaluate(tenant, device)
  }

  async #askToEvaluate(tenant: string, device: string): Promise<void> {
    const { system } = this.#parts
    try {
      await system.ask(deviceAddress(tenant, device), { type: 'evaluate' })
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'storage') throw error
      // A bug in that turn is already logged; the other devices are still evaluated.
      if (error.code !== 'overloaded') return
      await new Promise<void>((resolve) => system.world.after(retryMs, resolve))
      if (!this.#isStopped && this.#requests.has(tenant)) await this.#askToEvaluate(tenant, device)
    }
  }

  /**
   * Stores the present digest before any device is evaluated by it. Otherwise a return to an earlier digest, as after
   * two edits of a role, would look like no change.
   */
  #storeStart(tenant: string, alarm: string): void {
    const digest = this.#digestOf(tenant, alarm)
    const { evaluated } = this.#parts.system.wake(tenantAddress(tenant))
    if (evaluated.get(alarm)?.sweeping === digest) return
    this.#store(tenant, { type: 'sweep_progress', alarm, digest, cursor: '' })
  }

  /** If a failed write discards this, the sweep is due again once the store is read. */
  #store(tenant: string, command: TenantCommand): void {
    this.#ask(tenant, command).catch(() => {})
  }

  /** Bypasses the overload limit, because the change was already accepted. */
  #ask(tenant: string, command: TenantCommand): Promise<unknown> {
    return this.#parts.system.ask(tenantAddress(tenant), command, 0)
  }

  #currentRequests({ tenant, alarms }: Pass): readonly SweepRequest[] {
    return alarms.filter((request) => this.#isCurrent(tenant, request))
  }

  #isCurrent(tenant: string, { alarm, ticket }: SweepRequest): boolean {
    return this.#requests.get(tenant)?.get(alarm) === ticket
  }

  #digestOf(tenant: string, alarm: string): string {
    return this.#parts.rules.of(tenant)?.digestOf(alarm) ?? ''
  }
}
