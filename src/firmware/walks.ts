import { deviceAddress } from '#actors/device/device'
import { projectDeviceIndex } from '#actors/device/firmware-index'
import { isTenantThere, tenantsThere } from '#actors/directory/queries'
import { projectAddress, scanningIndex } from '#actors/project/address'
import type { ProjectCommand } from '#actors/project/commands'
import type { StoredScan } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/address'
import { isChosen } from '#firmware/chosen'
import type { Updater } from '#firmware/updater'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { StoredRollout } from '#model/rollout'
import { reachesDevice, type Scope } from '#model/scope'
import { isOfTenant, tenantKey } from '#model/tenant-key'
import { UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { Listing } from '#runtime/listing'
import type { System } from '#runtime/system'
import { Pace, Stopped } from '#workers/pace'

export interface WalksParts {
  readonly system: System<Entry>
  readonly listing: Listing
  readonly updater: Pick<Updater, 'consider'>
  /** What somebody may do now. */
  readonly scopeOf: (tenant: string, author: string) => Scope
  /** What could not be done is done again. */
  readonly failed: (error: unknown) => void
}

/** Devices of one project that are looked at and not settled: what its update server is asked for at once. */
const pace = { sliceMs: 1, underWayMax: 64 }
/** How far a walk came is stored this often, in devices. */
const devicesPerProgress = 1_024
const listedAtATime = 256
const projectsAtOnce = 16
const retryMs = 1_000

/** A project whose devices are gone through, or will be. */
interface Wanted {
  readonly tenant: string
  readonly project: string
  /** Its tenant is gone. */
  isEnded: boolean
}

/**
 * Goes through the devices of projects, and has those considered that may need an update: after a hook, by the schedule, for
 * a rollout.
 *
 * - What is to be gone through is stored by the project before anybody comes here; how far it came is stored behind what was
 *   considered. Whatever dies goes on from there: a device may be considered twice, and is at least once.
 * - An update that waits for its turn waits in memory. How far a walk came is not stored while any does, and one that is
 *   through is remembered until none does: whatever dies goes through its devices once more.
 * - Devices are looked at where they sleep, each as it is at that moment, as is the reach of whoever asked for it.
 */
export class Walks {
  readonly #parts: WalksParts
  readonly #pace: Pace
  /** By tenant and project: what goes on, and what waits in the order it was asked for. */
  readonly #running = new Map<string, Wanted>()
  readonly #waiting = new Map<string, Wanted>()
  /** By tenant and project: how many devices that were considered wait until their updates can begin. */
  readonly #held = new Map<string, number>()
  /** What waited in the process before is known: of all projects, or of these. */
  #isResumed = false
  readonly #resumed = new Set<string>()
  /** Went through before that was known of them. */
  readonly #early = new Map<string, Wanted>()
  /** How often the store was read: what was being considered then may have come to nothing. */
  #readings = 0
  #isStopped = false

  constructor(parts: WalksParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
  }

  /** A project has stored that its devices are to be gone through. */
  scanRequested(tenant: string, project: string): void {
    const key = tenantKey(tenant, project)
    // What runs asks its project for more when it is done.
    if (this.#isStopped || this.#running.has(key)) return
    this.#waiting.set(key, { tenant, project, isEnded: false })
    this.#begin()
  }

  /** After the store was read: goes on with what is not done. */
  async open(): Promise<void> {
    const { system } = this.#parts
    this.#readings++
    this.#isResumed = false
    for (const known of [this.#held, this.#resumed, this.#early]) known.clear()
    try {
      for (const tenant of tenantsThere(system)) await this.#resume(tenant)
      this.#isResumed = true
      for (const [key, wanted] of this.#early) this.#tellBegun(key, wanted)
      this.#early.clear()
    } catch (error) {
      // A failed write: it is opened again when the store was read.
      if (this.#isStopped || error instanceof Problem) return
      this.#parts.failed(error)
      system.world.after(retryMs, () => void this.open())
    }
  }

  /** The tenant is being deleted: none of its actors is asked any more. */
  tenantEnded(tenant: string): void {
    for (const walks of [this.#running, this.#waiting]) {
      for (const [key, wanted] of walks) {
        if (wanted.tenant !== tenant) continue
        wanted.isEnded = true
        if (walks === this.#waiting) walks.delete(key)
      }
    }
    for (const known of [this.#held, this.#early]) {
      for (const key of [...known.keys()]) if (isOfTenant(key, tenant)) known.delete(key)
    }
  }

  /** Before the update server is asked no more: what that refuses was not considered. */
  stop(): void {
    this.#isStopped = true
    this.#pace.stop()
    this.#waiting.clear()
  }

  async #resume(tenant: string): Promise<void> {
    const pages = this.#parts.listing.entries(scanningIndex, tenant)
    try {
      for (let names = await pages.next(listedAtATime); names.length > 0; names = await pages.next(listedAtATime)) {
        for (const project of names) {
          await this.#ask({ tenant, project }, { type: 'repeat_scans' })
          if (!isTenantThere(this.#parts.system, tenant)) return
          this.#resumed.add(tenantKey(tenant, project))
          this.scanRequested(tenant, project)
        }
      }
    } finally {
      await pages.close()
    }
  }

  #begin(): void {
    for (const [key, wanted] of this.#waiting) {
      if (this.#running.size >= projectsAtOnce) return
      this.#waiting.delete(key)
      this.#running.set(key, wanted)
      void this.#run(key, wanted)
    }
  }

  async #run(key: string, wanted: Wanted): Promise<void> {
    try {
      for (;;) {
        const walk = this.#walkOf(wanted)
        if (!walk) break
        await this.#go(wanted, walk)
      }
    } catch (error) {
      this.#retryLater(wanted, error)
    }
    this.#running.delete(key)
    this.#tellBegun(key, wanted)
    this.#begin()
  }

  /** What was wanted still is. */
  #retryLater({ tenant, project, isEnded }: Wanted, error: unknown): void {
    if (this.#isStopped || isEnded || error instanceof Stopped) return
    // A failed write, which others say: it goes on when the store takes writes again.
    if (!(error instanceof Problem)) this.#parts.failed(error)
    this.#parts.system.world.after(retryMs, () => this.scanRequested(tenant, project))
  }

  /** Undefined: nothing is left to be gone through. */
  #walkOf(wanted: Wanted): StoredScan | undefined {
    const { system } = this.#parts
    this.#check(wanted)
    return system.wake(projectAddress(wanted.tenant, wanted.project)).scan
  }

  async #go(wanted: Wanted, walk: StoredScan): Promise<void> {
    const readings = this.#readings
    let { chosen } = walk
    let count = 0
    for await (const page of this.#pagesOf(wanted, walk)) {
      if (this.#isCalledOff(wanted)) break
      const rollout = this.#rolloutOf(wanted, walk)
      await this.#pace.each(page, (device) => {
        this.#check(wanted)
        if (!this.#isOfProject(wanted, device)) return undefined
        if (rollout && this.#isMeantBy(rollout, wanted, device)) chosen++
        return this.#consider(wanted, walk, device)
      })
      this.#check(wanted)
      if (this.#readings !== readings) throw new Problem('storage')
      count += page.length
      if (count < devicesPerProgress || this.#isHeld(wanted)) continue
      count = 0
      await this.#ask(wanted, { type: 'scan_progress', cursor: page.at(-1) ?? '', chosen })
      this.#check(wanted)
    }
    await this.#ask(wanted, { type: 'scan_done', chosen, isBegun: !this.#isHeld(wanted) })
  }

  #isHeld(wanted: Wanted): boolean {
    const key = tenantKey(wanted.tenant, wanted.project)
    const isKnown = this.#isResumed || this.#resumed.has(key)
    if (!isKnown) this.#early.set(key, wanted)
    return !isKnown || this.#held.has(key)
  }

  /** One more waits. Answers what is to be called when it does not any more. */
  #hold(wanted: Wanted): () => void {
    const readings = this.#readings
    const key = tenantKey(wanted.tenant, wanted.project)
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1)
    return () => {
      const before = this.#held.get(key)
      // Of what is found anew since the store was read nothing is said.
      if (before === undefined || readings !== this.#readings) return
      if (before > 1) this.#held.set(key, before - 1)
      else {
        this.#held.delete(key)
        this.#tellBegun(key, wanted)
      }
    }
  }

  /** If so: nothing waits any more. What fails leaves walks remembered, to be gone through once more. */
  #tellBegun(key: string, wanted: Wanted): void {
    const { system, failed } = this.#parts
    const { tenant, project, isEnded } = wanted
    if (this.#isStopped || isEnded || this.#running.has(key) || !system.isServing || !isTenantThere(system, tenant))
      return
    if (this.#isHeld(wanted) || system.wake(projectAddress(tenant, project)).openScans.length === 0) return
    this.#ask(wanted, { type: 'scans_begun' }).catch((error: unknown) => {
      if (!(error instanceof Problem)) failed(error)
    })
  }

  /** Devices behind the walk's cursor, some at a time. */
  async *#pagesOf({ tenant, project }: Wanted, { devices, cursor }: StoredScan): AsyncGenerator<readonly string[]> {
    if (devices) {
      for (let from = devices.indexOf(cursor) + 1; from < devices.length; from += listedAtATime) {
        yield devices.slice(from, from + listedAtATime)
      }
      return
    }
    const prefix = `${project}/`
    const pages = this.#parts.listing.entries(projectDeviceIndex, tenant, prefix, cursor && `${prefix}${cursor}`)
    try {
      for (let rows = await pages.next(listedAtATime); rows.length > 0; rows = await pages.next(listedAtATime)) {
        yield rows.map((row) => row.slice(prefix.length))
      }
    } finally {
      await pages.close()
    }
  }

  /** The rollout that it was for is no more. */
  #isCalledOff({ tenant, project }: Wanted): boolean {
    return this.#parts.system.wake(projectAddress(tenant, project)).scan?.devices?.length === 0
  }

  /** The one that there was when the walk began, as it is now: its devices are counted. */
  #rolloutOf({ tenant, project }: Wanted, walk: StoredScan): StoredRollout | undefined {
    const { rollout } = this.#parts.system.wake(projectAddress(tenant, project))
    return rollout?.id === walk.rollout ? rollout : undefined
  }

  #isOfProject({ tenant, project }: Wanted, device: string): boolean {
    return this.#parts.system.peek(deviceAddress(tenant, device))?.project === project
  }

  #consider(wanted: Wanted, { by, author }: StoredScan, device: string): Promise<void> | undefined {
    const scope = author === null ? undefined : this.#parts.scopeOf(wanted.tenant, author)
    if (scope && !reachesDevice(scope, 'updates', 'update', device)) return undefined
    return this.#settled(wanted, device, by)
  }

  async #settled(wanted: Wanted, device: string, by: StoredScan['by']): Promise<void> {
    const { updater, failed, system } = this.#parts
    try {
      await updater.consider(wanted.tenant, device, by === 'cron' ? 'cron' : 'hook', {
        isForRollout: by === 'rollout',
        hold: () => this.#hold(wanted),
      })
    } catch (error) {
      if (error instanceof Problem && error.code === 'overloaded') {
        await new Promise<void>((resolve) => system.world.after(retryMs, resolve))
        this.#check(wanted)
        return this.#settled(wanted, device, by)
      }
      if (error instanceof Problem) throw error
      // The server does not answer for it, or a bug does: that keeps no other device from being considered.
      if (!(error instanceof UpdateServerBusy || error instanceof UpdateServerFailed)) failed(error)
    }
  }

  /** Whoever asked for the walk: a rollout is for whom its own author reaches. */
  #isMeantBy(rollout: StoredRollout, { tenant, project }: Wanted, device: string): boolean {
    const { scopeOf, system } = this.#parts
    const membersOf = (group: string) => system.wake(tenantAddress(tenant)).groups.get(group)?.devices
    if (!isChosen(project, rollout, device, membersOf)) return false
    return reachesDevice(scopeOf(tenant, rollout.updatedBy), 'updates', 'update', device)
  }

  /** Never refused because too much waits: it follows from what was accepted. */
  #ask({ tenant, project }: Pick<Wanted, 'tenant' | 'project'>, command: ProjectCommand): Promise<unknown> {
    return this.#parts.system.ask(projectAddress(tenant, project), command, 0)
  }

  /** @throws Stopped; Problem `not_found` when the tenant is gone, `storage` */
  #check({ tenant, isEnded }: Wanted): void {
    if (this.#isStopped) throw new Stopped()
    if (isEnded || !isTenantThere(this.#parts.system, tenant)) throw new Problem('not_found')
  }
}
