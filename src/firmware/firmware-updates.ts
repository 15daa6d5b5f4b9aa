import type { NoticeBus } from '#actors/notice-bus'
import { EmbeddedUpdateServer } from '#firmware/embedded-update-server'
import { ImageDownloads } from '#firmware/image-downloads'
import { ImageUses } from '#firmware/image-uses'
import { defaultUpdateOptions, type UpdateOptions } from '#firmware/options'
import { ProjectScans } from '#firmware/project-scans'
import { RolloutWindows } from '#firmware/rollout-windows'
import { UpdateSchedule } from '#firmware/schedule'
import { UpdateChecks } from '#firmware/update-checks'
import type { UpdateServer } from '#firmware/update-server'
import { Updater } from '#firmware/updater'
import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import type { Scope } from '#model/scope'
import type { BlobStore } from '#runtime/blobs'
import type { Log } from '#runtime/log'
import type { Listing } from '#runtime/storage'
import type { System } from '#runtime/system'

export interface FirmwareUpdatesParts {
  readonly system: System<Entry>
  readonly notices: Pick<NoticeBus, 'listen'>
  readonly listing: Listing
  readonly links: Links
  readonly images: BlobStore
  /** The external update server. Default: the embedded one is used. */
  readonly server?: UpdateServer
  /** Missing options have the values of `defaultUpdateOptions`. */
  readonly options?: Partial<UpdateOptions>
  /** How long a device has to answer an offer. */
  readonly offerTimeoutMs: number
  /** The current scope of a user. */
  readonly scopeOf: (tenant: string, author: string) => Scope
  readonly log: Pick<Log, 'error' | 'warn'>
}

/** The largest number of images that one log line names. */
const lostShown = 20

/** Connects the parts of firmware updates: triggers, update server, rollouts and images. */
export class FirmwareUpdates {
  readonly server: UpdateServer
  readonly checks: UpdateChecks
  readonly updater: Updater
  readonly imageUses: ImageUses
  readonly downloads: ImageDownloads
  readonly scans: ProjectScans
  readonly windows: RolloutWindows
  readonly #schedule: UpdateSchedule

  constructor(parts: FirmwareUpdatesParts) {
    const { system, listing, links, images, server, offerTimeoutMs, scopeOf, log } = parts
    const options = { ...defaultUpdateOptions, ...parts.options }
    const { world } = system
    const failed = (what: string) => (error: unknown) => log.warn({ err: error }, `could not ${what}; will retry`)
    this.server = server ?? new EmbeddedUpdateServer({ system, now: () => world.now(), scopeOf })
    this.checks = new UpdateChecks({
      server: this.server,
      world,
      failing: (error) => log.warn({ err: error }, 'the update server fails; requests to it are slowed down'),
    })
    this.updater = new Updater({
      system,
      listing,
      links,
      checks: this.checks,
      options,
      offerTimeoutMs,
      failed: failed('continue running updates'),
      bug: (error, where) => log.error({ err: error }, `a bug: ${where}`),
    })
    this.imageUses = new ImageUses({
      system,
      listing,
      images,
      failed: failed('remove unused images'),
      lost: (all) =>
        log.warn(
          { count: all.length, images: all.slice(0, lostShown) },
          'image files of releases are missing or incomplete: upload them again',
        ),
    })
    this.downloads = new ImageDownloads({ images, world })
    this.scans = new ProjectScans({
      system,
      listing,
      updater: this.updater,
      scopeOf,
      failed: failed('scan the devices of a project'),
    })
    this.windows = new RolloutWindows({ system, listing, failed: failed('start a rollout whose window opened') })
    const { autoUpdate: pattern } = options
    this.#schedule = new UpdateSchedule({ system, listing, pattern, failed: failed('start the scheduled update') })
    links.firmwareListener = this.updater
    parts.notices.listen(this.updater)
    // During a reload, notices of changed projects are not needed: these parts load all projects afterwards.
    for (const part of [this.imageUses, this.scans, this.windows]) parts.notices.listen(part, () => system.isServing)
  }

  /** Call it after the store was read and access rights are loaded. */
  async open(): Promise<void> {
    await this.updater.open()
    this.#continueStored()
  }

  /** Call it when the store was read again after a failed write. */
  reloaded(): void {
    this.updater.reloaded()
    this.#continueStored()
  }

  /** Starts no more updates. Call it before device connections are closed. */
  stop(): void {
    this.#schedule.stop()
    this.windows.stop()
    this.scans.stop()
    this.checks.stop()
    this.updater.stop()
    this.imageUses.stop()
  }

  /** The tenant is being deleted: its actors get no more requests. */
  tenantEnded(tenant: string): void {
    this.updater.tenantEnded(tenant)
    this.scans.tenantEnded(tenant)
    this.windows.tenantEnded(tenant)
    this.imageUses.tenantEnded(tenant)
  }

  #continueStored(): void {
    void this.imageUses.open()
    void this.scans.open()
    void this.windows.open()
    this.#schedule.open()
  }
}
