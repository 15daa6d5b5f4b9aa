import { deviceAddress } from '#actors/device/device'
import { projectDeviceIndex } from '#actors/device/firmware-index'
import { isTenantActive } from '#actors/directory/queries'
import {
  type ProjectCommand,
  type ProjectState,
  projectAddress,
  type StoredScan,
  scanningIndex,
} from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/commands'
import { isSelected } from '#firmware/rollout-windows'
import type { Updater } from '#firmware/updater'
import { changeCount } from '#model/map-values'
import { Problem } from '#model/problem'
import type { StoredRollout } from '#model/rollout'
import { reachesDevice, type Scope } from '#model/scope'
import { isOfTenant, tenantKey } from '#model/tenant'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import { pagesIn } from '#runtime/storage'
import { Pace, WorkStopped } from '#workers/pace'
import { type JobParts, runWithRetries, storedEntries } from '#workers/stored-entries'

export interface ProjectScansParts extends JobParts {
  readonly updater: Pick<Updater, 'consider'>
  /** The current scope of a user. */
  readonly scopeOf: (tenant: string, author: string) => Scope
}

/** `underWayMax`: concurrent checks of one project. */
const pace = { sliceMs: 1, underWayMax: 64 }
/** The position of a scan is stored after this many devices. */
const devicesPerProgress = 1_024
const listedAtATime = 256
const projectsAtOnce = 16
const retryMs = 1_000

/** A project whose devices are being scanned or wait for a scan. */
interface ScanTarget {
  readonly tenant: string
  readonly project: string
  /** Whether the tenant of the project was deleted. */
  isEnded: boolean
}

/**
 * Scans the devices of projects and checks those that may need an update: after a hook, by the schedule, for a rollout.
 *
 * - A project stores a requested scan before it starts here. A position is stored after all devices before it were
 *   checked. After a crash the scan continues from there, so each device is checked at least once, perhaps twice.
 * - An update that waits for its slot waits in memory. So while any update waits, no position is stored, and a finished
 *   scan stays stored: after a crash its devices are scanned once more.
 * - Devices are read without waking them, each in its state at that moment, with the current scope of the requesting
 *   user.
 */
export class ProjectScans {
  readonly #parts: ProjectScansParts
  readonly #pace: Pace
  /** Running scans, by tenant and project. */
  readonly #running = new Map<string, ScanTarget>()
  /** Waiting scans in order, by tenant and project. */
  readonly #waiting = new Map<string, ScanTarget>()
  /** By tenant and project: number of checked devices whose updates wait for a slot. */
  readonly #held = new Map<string, number>()
  /** Whether the scans that the store contained were resumed for all projects. */
  #isResumed = false
  /** By tenant and project: the projects for which scans were resumed so far. */
  readonly #resumed = new Set<string>()
  /** Scans that ran before the resumption of their project. */
  readonly #early = new Map<string, ScanTarget>()
  /**
   * How often the store was read. A scan that ran during a reload is repeated, because its checks may have been lost.
   */
  #readings = 0
  #isStopped = false

  constructor(parts: ProjectScansParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
  }

  scanRequested(tenant: string, project: string): void {
    const key = tenantKey(tenant, project)
    // A running scan asks its project for more when it ends.
    if (this.#isStopped || this.#running.has(key)) return
    this.#waiting.set(key, { tenant, project, isEnded: false })
    this.#begin()
  }

  /** Call it after the store was read: continues unfinished scans. */
  open(): Promise<void> {
    return runWithRetries(
      this.#parts,
      () => this.#isStopped,
      () => this.#resume(),
    )
  }

  /** The tenant is being deleted: its actors get no more requests. */
  tenantEnded(tenant: string): void {
    for (const group of [this.#running, this.#waiting]) {
      for (const [key, target] of group) {
        if (target.tenant !== tenant) continue
        target.isEnded = true
        if (group === this.#waiting) group.delete(key)
      }
    }
    for (const known of [this.#held, this.#early, this.#resumed]) {
      for (const key of [...known.keys()]) if (isOfTenant(key, tenant)) known.delete(key)
    }
  }

  /** Call it before the update server stops: devices whose checks fail because of the stop then count as unchecked. */
  stop(): void {
    this.#isStopped = true
    this.#pace.stop()
    this.#waiting.clear()
  }

  async #resume(): Promise<void> {
    this.#readings++
    this.#isResumed = false
    for (const known of [this.#held, this.#resumed, this.#early]) known.clear()
    for await (const { tenant, entry: project } of storedEntries(this.#parts, scanningIndex)) {
      await this.#ask({ tenant, project }, { type: 'repeat_scans' })
      if (!isTenantActive(this.#parts.system, tenant)) continue
      this.#resumed.add(tenantKey(tenant, project))
      this.scanRequested(tenant, project)
    }
    this.#isResumed = true
    for (const [key, target] of this.#early) this.#reportBegun(key, target)
    this.#early.clear()
  }

  #begin(): void {
    for (const [key, target] of this.#waiting) {
      if (this.#running.size >= projectsAtOnce) return
      this.#waiting.delete(key)
      this.#running.set(key, target)
      void this.#run(key, target)
    }
  }

  async #run(key: string, target: ScanTarget): Promise<void> {
    try {
      for (;;) {
        const scan = this.#scanOf(target)
        if (!scan) break
        await this.#go(target, scan)
      }
    } catch (error) {
      this.#retryLater(target, error)
    }
    this.#running.delete(key)
    this.#reportBegun(key, target)
    this.#begin()
  }

  /** Repeats a scan that failed, because it is still required. */
  #retryLater({ tenant, project, isEnded }: ScanTarget, error: unknown): void {
    if (this.#isStopped || isEnded || error instanceof WorkStopped) return
    // A failed write is reported elsewhere: the scan continues when the store accepts writes.
    if (!(error instanceof Problem)) this.#parts.failed(error)
    this.#parts.system.world.after(retryMs, () => this.scanRequested(tenant, project))
  }

  /** The next scan; undefined: there is nothing left to scan. */
  #scanOf(target: ScanTarget): StoredScan | undefined {
    this.#check(target)
    return this.#projectOf(target).scan
  }

  async #go(target: ScanTarget, scan: StoredScan): Promise<void> {
    const readings = this.#readings
    let { chosen } = scan
    let count = 0
    for await (const page of this.#pagesOf(target, scan)) {
      const project = this.#projectOf(target)
      // The rollout of the scan was deleted.
      if (project.scan?.devices?.length === 0) break
      // The rollout that the scan started with, in its current state; undefined if it was deleted or replaced.
      const rollout = project.rollout?.id === scan.rollout ? project.rollout : undefined
      await this.#pace.each(page, (device) => {
        this.#check(target)
        if (!this.#isOfProject(target, device)) return undefined
        if (rollout && this.#selects(rollout, target, device)) chosen++
        return this.#consider(target, scan, device)
      })
      this.#check(target)
      if (this.#readings !== readings) throw new Problem('storage')
      count += page.length
      if (count < devicesPerProgress || this.#isHeld(target)) continue
      count = 0
      await this.#ask(target, { type: 'scan_progress', cursor: page.at(-1) ?? '', chosen })
      this.#check(target)
    }
    await this.#ask(target, { type: 'scan_done', chosen, isBegun: !this.#isHeld(target) })
  }

  #isHeld(target: ScanTarget): boolean {
    const key = tenantKey(target.tenant, target.project)
    const isKnown = this.#isResumed || this.#resumed.has(key)
    if (!isKnown) this.#early.set(key, target)
    return !isKnown || this.#held.has(key)
  }

  /** Counts one more waiting update. Call the returned function when the update no longer waits. */
  #hold(target: ScanTarget): () => void {
    const readings = this.#readings
    const key = tenantKey(target.tenant, target.project)
    changeCount(this.#held, key, 1)
    return () => {
      // The update belongs to an earlier read of the store, or to a deleted tenant.
      if (!this.#held.has(key) || readings !== this.#readings) return
      changeCount(this.#held, key, -1)
      if (!this.#held.has(key)) this.#reportBegun(key, target)
    }
  }

  /** Reports to the project when no update waits any more. On failure the scans stay stored and run once more. */
  #reportBegun(key: string, target: ScanTarget): void {
    const { system, failed } = this.#parts
    const { tenant, isEnded } = target
    if (this.#isStopped || isEnded || this.#running.has(key) || !system.isServing || !isTenantActive(system, tenant))
      return
    if (this.#isHeld(target) || this.#projectOf(target).openScans.length === 0) return
    this.#ask(target, { type: 'scans_begun' }).catch((error: unknown) => {
      if (!(error instanceof Problem)) failed(error)
    })
  }

  async *#pagesOf({ tenant, project }: ScanTarget, { devices, cursor }: StoredScan): AsyncGenerator<readonly string[]> {
    if (devices) {
      for (let from = devices.indexOf(cursor) + 1; from < devices.length; from += listedAtATime) {
        yield devices.slice(from, from + listedAtATime)
      }
      return
    }
    const prefix = `${project}/`
    for await (const rows of pagesIn(
      this.#parts.listing.entries(projectDeviceIndex, tenant, prefix, cursor && `${prefix}${cursor}`),
      listedAtATime,
    )) {
      yield rows.map((row) => row.slice(prefix.length))
    }
  }

  #projectOf({ tenant, project }: ScanTarget): ProjectState {
    return this.#parts.system.wake(projectAddress(tenant, project))
  }

  #isOfProject({ tenant, project }: ScanTarget, device: string): boolean {
    return this.#parts.system.peek(deviceAddress(tenant, device))?.project === project
  }

  #consider(target: ScanTarget, { by, author }: StoredScan, device: string): Promise<void> | undefined {
    const scope = author === null ? undefined : this.#parts.scopeOf(target.tenant, author)
    if (scope && !reachesDevice(scope, 'updates', 'update', device)) return undefined
    return this.#considerWithRetry(target, device, by)
  }

  async #considerWithRetry(target: ScanTarget, device: string, by: StoredScan['by']): Promise<void> {
    const { updater, failed, system } = this.#parts
    try {
      await updater.consider(target.tenant, device, by === 'cron' ? 'cron' : 'hook', {
        isForRollout: by === 'rollout',
        hold: () => this.#hold(target),
      })
    } catch (error) {
      if (error instanceof Problem && error.code === 'overloaded') {
        await new Promise<void>((resolve) => system.world.after(retryMs, resolve))
        this.#check(target)
        return this.#considerWithRetry(target, device, by)
      }
      if (error instanceof Problem) throw error
      // The server fails for this device, or there is a bug: the scan continues with the other devices.
      if (!(error instanceof UpdateServerBusy || error instanceof UpdateServerFailed)) failed(error)
    }
  }

  /** Independent of the scan's requester: a rollout applies to the devices that its own author may update. */
  #selects(rollout: StoredRollout, { tenant, project }: ScanTarget, device: string): boolean {
    const { scopeOf, system } = this.#parts
    const membersOf = (group: string) => system.wake(tenantAddress(tenant)).groups.get(group)?.devices
    if (!isSelected(project, rollout, device, membersOf)) return false
    return reachesDevice(scopeOf(tenant, rollout.updatedBy), 'updates', 'update', device)
  }

  /** Never refused for overload, because the command follows from an accepted request. */
  #ask({ tenant, project }: Pick<ScanTarget, 'tenant' | 'project'>, command: ProjectCommand): Promise<unknown> {
    return this.#parts.system.ask(projectAddress(tenant, project), command, 0)
  }

  /** @throws WorkStopped; Problem `not_found` if the tenant was deleted, `storage` */
  #check({ tenant, isEnded }: ScanTarget): void {
    if (this.#isStopped) throw new WorkStopped()
    if (isEnded || !isTenantActive(this.#parts.system, tenant)) throw new Problem('not_found')
  }
}
