import { createHash } from 'node:crypto'
import { isTenantActive } from '#actors/directory/queries'
import { type ProjectCommand, projectAddress, projectIndex } from '#actors/project/state'
import { isOpen, nextTime } from '#firmware/schedule'
import { isMember, type MembersOf } from '#model/group'
import { Problem } from '#model/problem'
import type { StoredRollout } from '#model/rollout'
import { tenantKey } from '#model/tenant'
import { type JobParts, runWithRetries, storedEntries } from '#workers/stored-entries'

interface Opening {
  readonly tenant: string
  readonly project: string
  /** Unix ms. */
  readonly at: number
}

/** The clock is read at least this often, because it may be set to another time. */
const clockCheckMsMax = 60_000

/**
 * Starts a scan of a project's devices when the window of its rollout opens: devices that connected while the window
 * was closed were skipped. A window that is open when the store is read counts as opening then. Contract 6.
 */
export class RolloutWindows {
  readonly #parts: JobParts
  /** By tenant and project: the next opening of the window of a running rollout. */
  readonly #openings = new Map<string, Opening>()
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(parts: JobParts) {
    this.#parts = parts
  }

  /** A rollout was created, changed, paused, resumed, stopped or deleted, and the change is stored. */
  rolloutChanged(tenant: string, project: string): void {
    const { system } = this.#parts
    // While the store is being read, changes are ignored: `open` handles them afterwards.
    if (this.#isStopped || !system.isServing || !isTenantActive(system, tenant)) return
    this.#note(tenant, project)
    this.#wait()
  }

  /** Call it when the store has been read. */
  open(): Promise<void> {
    return runWithRetries(
      this.#parts,
      () => this.#isStopped,
      () => this.#read(),
    )
  }

  /** The tenant is being deleted: its actors get no more requests. */
  tenantEnded(tenant: string): void {
    for (const [key, opening] of this.#openings) if (opening.tenant === tenant) this.#openings.delete(key)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
    this.#openings.clear()
  }

  async #read(): Promise<void> {
    for await (const { tenant, entry: project } of storedEntries(this.#parts, projectIndex)) {
      if (this.#isStopped) return
      const rollout = this.#note(tenant, project)
      if (rollout && isOpen(rollout.body.window, this.#parts.system.world.now())) this.#scan(tenant, project, rollout)
    }
    this.#wait()
  }

  /** Records the next opening of the window. Returns the rollout if it runs and has a window. */
  #note(tenant: string, project: string): StoredRollout | undefined {
    const { system } = this.#parts
    const key = tenantKey(tenant, project)
    const { rollout } = system.wake(projectAddress(tenant, project))
    const window = rollout?.state === 'running' ? rollout.body.window : undefined
    const at = window && nextTime(window.cron, system.world.now())
    if (at === undefined) this.#openings.delete(key)
    else this.#openings.set(key, { tenant, project, at })
    return window && rollout
  }

  #wait(): void {
    const { world } = this.#parts.system
    this.#cancel?.()
    if (this.#isStopped || this.#openings.size === 0) return
    const earliest = [...this.#openings.values()].reduce((first, { at }) => Math.min(first, at), Number.MAX_VALUE)
    const wait = Math.min(Math.max(earliest - world.now(), 0), clockCheckMsMax)
    this.#cancel = world.after(wait, () => this.#fire())
  }

  #fire(): void {
    const { system, failed } = this.#parts
    try {
      for (const { tenant, project, at } of [...this.#openings.values()]) {
        if (at > system.world.now() || !isTenantActive(system, tenant)) continue
        const rollout = this.#note(tenant, project)
        if (rollout) this.#scan(tenant, project, rollout)
      }
    } catch (error) {
      // After a failed write, `open` records everything again when the store has been read.
      if (error instanceof Problem) return
      failed(error)
    }
    this.#wait()
  }

  /** If a failed write refuses the scan, the next `open` starts it, if the window is still open then. */
  #scan(tenant: string, project: string, { updatedBy: author }: StoredRollout): void {
    const request = { by: 'rollout', devices: null, author } as const
    const command: ProjectCommand = { type: 'scan', request }
    this.#parts.system.ask(projectAddress(tenant, project), command, 0).catch((error: unknown) => {
      if (!(error instanceof Problem)) this.#parts.failed(error)
    })
  }
}

/**
 * Whether a rollout includes a device: the device is in one of the rollout's groups (if there are any), and its hash
 * share is below the percentage. The choice is deterministic, and a higher percentage only adds devices.
 */
export function isSelected(project: string, { body }: StoredRollout, device: string, membersOf: MembersOf): boolean {
  const { firmware, percent, groups } = body
  if (groups && !groups.some((group) => isMember(membersOf(group) ?? [], device))) return false
  return shareOf(`${project}/${firmware}/${device}`) * 100 < percent
}

/** A number from 0 to below 1, from the first four bytes of the SHA-256 of the name. */
function shareOf(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32
}
