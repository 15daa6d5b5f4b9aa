import { Cron } from 'croner'
import { projectDeviceIndex } from '#actors/device/firmware-index'
import { activeTenants, isTenantActive } from '#actors/directory/queries'
import { projectAddress } from '#actors/project/state'
import { type StoredSchedule, scheduleRecord, updateScheduleAddress } from '#actors/update-schedule/schedule'
import { Problem } from '#model/problem'
import type { RolloutBody } from '#model/rollout'
import type { JobParts } from '#workers/stored-entries'

export interface UpdateScheduleParts extends JobParts {
  /** A cron pattern of five or six fields, UTC; undefined: no schedule. */
  readonly pattern: string | undefined
}

/** A clock that is set forward or back is noticed within this time. */
const clockCheckMsMax = 60 * 60_000
export const scheduleRetryMs = 10_000

/**
 * Starts a scan of all projects of all tenants at the scheduled times. The stored time advances only after all scans
 * are stored, so a run that was missed or interrupted happens once afterwards. Contract 6, Options.
 */
export class UpdateSchedule {
  readonly #parts: UpdateScheduleParts
  #isRunning = false
  #isStopped = false
  #cancel: (() => void) | undefined

  constructor(parts: UpdateScheduleParts) {
    this.#parts = parts
  }

  /** Call it each time the store was read. */
  open(): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    void this.#go()
      .catch((error: unknown) => this.#failed(error))
      .then((waitMs) => {
        this.#isRunning = false
        if (waitMs === undefined || this.#isStopped) return
        this.#cancel = this.#parts.system.world.after(waitMs, () => this.open())
      })
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** A failed write is reported elsewhere. Returns how long to wait before the next attempt, ms. */
  #failed(error: unknown): number {
    if (!(error instanceof Problem)) this.#parts.failed(error)
    return scheduleRetryMs
  }

  /** Returns how long to wait, ms; undefined: no schedule. */
  async #go(): Promise<number | undefined> {
    const { system, pattern } = this.#parts
    const stored = system.recordOf(updateScheduleAddress, scheduleRecord) as StoredSchedule | undefined
    const now = system.world.now()
    const next = pattern === undefined ? undefined : nextTime(pattern, now)
    if (pattern === undefined || next === undefined) {
      if (stored) await system.ask(updateScheduleAddress, { type: 'clear' })
      return undefined
    }
    const before = stored?.pattern === pattern ? stored.nextAt : undefined
    if (before !== undefined && before <= now) await this.#scanAll()
    // If the clock was set back or the pattern changed, the time is computed from now.
    const nextAt = before !== undefined && before > now ? Math.min(before, next) : next
    if (nextAt !== before) await system.ask(updateScheduleAddress, { type: 'put', schedule: { pattern, nextAt } })
    return Math.min(Math.max(nextAt - system.world.now(), 0), clockCheckMsMax)
  }

  async #scanAll(): Promise<void> {
    const { system } = this.#parts
    for (const tenant of activeTenants(system)) {
      let project = await this.#projectAfter(tenant, '')
      while (project !== undefined && !this.#isStopped && isTenantActive(system, tenant)) {
        await this.#scan(tenant, project)
        project = await this.#projectAfter(tenant, project)
      }
    }
    if (this.#isStopped) throw new Problem('storage')
  }

  async #scan(tenant: string, project: string): Promise<void> {
    const { system, failed } = this.#parts
    const request = { by: 'cron', devices: null, author: null } as const
    try {
      await system.ask(projectAddress(tenant, project), { type: 'scan', request })
    } catch (error) {
      // A fault of one project must not delay the others.
      if (error instanceof Problem && error.code !== 'bug') throw error
      failed(error)
    }
  }

  /** The next project by name that devices report. */
  async #projectAfter(tenant: string, project: string): Promise<string | undefined> {
    // Rows are `project/device`. `0` follows `/` in ASCII, so `project0` is after all rows of the project.
    const pages = this.#parts.listing.entries(projectDeviceIndex, tenant, '', project && `${project}0`)
    try {
      const [row] = await pages.next(1)
      return row?.slice(0, row.indexOf('/'))
    } finally {
      await pages.close()
    }
  }
}

/** Times of schedules, in UTC on every machine. Contract 6, Options. */

/** Includes the next 29 February. Without this limit, a search without a match would take 27 ms. */
const yearsAhead = 10

/**
 * The first matching time after a moment, Unix ms; undefined if there is none within ten years or the pattern is
 * invalid.
 */
export function nextTime(cron: string, after: number): number | undefined {
  const from = new Date(after)
  return patternOf(cron, from.getUTCFullYear())?.nextRun(from)?.getTime()
}

type Window = NonNullable<RolloutBody['window']>

/**
 * Whether a window is open, from one moment until before another, Unix ms. Each pattern is evaluated again only when its
 * state may have changed, because every automatic update asks.
 */
const spans = new WeakMap<Window, { readonly isOpen: boolean; readonly from: number; readonly until: number }>()

/** Whether a window is open: for `minutes` after each matching time of `cron`. Without a window: always open. */
export function isOpen(window: Window | undefined, now: number): boolean {
  if (!window) return true
  const known = spans.get(window)
  if (known && now >= known.from && now < known.until) return known.isOpen
  const openMs = window.minutes * 60_000
  const begins = nextTime(window.cron, now - openMs) ?? Number.POSITIVE_INFINITY
  const isOpen = begins <= now
  spans.set(window, { isOpen, from: now, until: isOpen ? begins + openMs : begins })
  return isOpen
}

/** A `Cron` without a callback only computes times, and starts no timer. */
function patternOf(cron: string, year: number): Cron | undefined {
  const fields = cron.split(/ +/)
  if (fields.length === 5) fields.unshift('0')
  if (fields.length !== 6) return undefined
  try {
    return new Cron([...fields, `${year}-${year + yearsAhead}`].join(' '), { timezone: 'UTC' })
  } catch {
    return undefined
  }
}
