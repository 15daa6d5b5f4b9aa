import type { NoticeBus } from '#actors/notice-bus'
import { Checks } from '#firmware/checks'
import { EmbeddedUpdateServer } from '#firmware/embedded-update-server'
import { ImageDownloads } from '#firmware/image-downloads'
import { ImageUses } from '#firmware/image-uses'
import { defaultUpdateOptions, type UpdateOptions } from '#firmware/options'
import { RolloutWindows } from '#firmware/rollout-windows'
import { UpdateSchedule } from '#firmware/schedule'
import type { UpdateServer } from '#firmware/update-server'
import { Updater } from '#firmware/updater'
import { Walks } from '#firmware/walks'
import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import type { Scope } from '#model/scope'
import type { BlobStore } from '#runtime/blobs'
import type { Listing } from '#runtime/listing'
import type { System } from '#runtime/system'

export interface FirmwareUpdatesParts {
  readonly system: System<Entry>
  readonly notices: Pick<NoticeBus, 'listen'>
  readonly listing: Listing
  readonly links: Links
  readonly images: BlobStore
  /** Undefined: the embedded one. */
  readonly server: UpdateServer | undefined
  /** What is left out is as by default. */
  readonly options: Partial<UpdateOptions> | undefined
  /** How long a device has to answer an offer. */
  readonly offerTimeoutMs: number
  /** What somebody may do now. */
  readonly scopeOf: (tenant: string, author: string) => Scope
  readonly log: UpdatesLog
}

interface UpdatesLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** In one line of the log. */
const lostShown = 20

/** All that brings firmware to devices, put together: what begins updates, what they ask, and what they leave behind. */
export class FirmwareUpdates {
  readonly server: UpdateServer
  readonly checks: Checks
  readonly updater: Updater
  readonly imageUses: ImageUses
  readonly downloads: ImageDownloads
  readonly walks: Walks
  readonly windows: RolloutWindows
  readonly #schedule: UpdateSchedule

  constructor(parts: FirmwareUpdatesParts) {
    const { system, listing, links, images, server, offerTimeoutMs, scopeOf, log } = parts
    const options = { ...defaultUpdateOptions, ...parts.options }
    const { world } = system
    const failed = (what: string) => (error: unknown) => log.warn({ err: error }, `could not ${what}; tried again`)
    this.server = server ?? new EmbeddedUpdateServer({ system, now: () => world.now(), scopeOf })
    this.checks = new Checks({
      server: this.server,
      world,
      failing: (error) => log.warn({ err: error }, 'the update server does not answer; it is asked less often'),
    })
    this.updater = new Updater({
      system,
      listing,
      links,
      checks: this.checks,
      options,
      offerTimeoutMs,
      failed: failed('go on with updates'),
      bug: (error, where) => log.error({ err: error }, `a bug: ${where}`),
    })
    this.imageUses = new ImageUses({
      system,
      listing,
      images,
      failed: failed('take away images that nothing names'),
      lost: (all) =>
        log.warn(
          { count: all.length, images: all.slice(0, lostShown) },
          'images of releases are not there, or not as long as they were: upload them again',
        ),
    })
    this.downloads = new ImageDownloads({ images, world })
    this.walks = new Walks({
      system,
      listing,
      updater: this.updater,
      scopeOf,
      failed: failed('go through the devices of a project'),
    })
    this.windows = new RolloutWindows({ system, listing, failed: failed('open the window of a rollout') })
    const { autoUpdate: pattern } = options
    this.#schedule = new UpdateSchedule({ system, listing, pattern, failed: failed('update devices on schedule') })
    links.setFirmwareListener(this.updater)
    parts.notices.listen(this.updater)
    // What projects store while the store is read again is in what these parts load then.
    for (const part of [this.imageUses, this.walks, this.windows]) parts.notices.listen(part, () => system.isServing)
  }

  /** After the store was read, and who may do what is known. */
  async open(): Promise<void> {
    await this.updater.open()
    this.#goOn()
  }

  /** The store was read again after a failed write. */
  reloaded(): void {
    this.updater.reloaded()
    this.#goOn()
  }

  /** Begins nothing new by itself. Before links are closed. */
  stop(): void {
    this.#schedule.stop()
    this.windows.stop()
    this.walks.stop()
    this.checks.stop()
    this.updater.stop()
    this.imageUses.stop()
  }

  /** The tenant is being deleted: none of its actors is asked any more. */
  tenantEnded(tenant: string): void {
    this.updater.tenantEnded(tenant)
    this.walks.tenantEnded(tenant)
    this.windows.tenantEnded(tenant)
    this.imageUses.tenantEnded(tenant)
  }

  #goOn(): void {
    void this.imageUses.open()
    void this.walks.open()
    void this.windows.open()
    this.#schedule.open()
  }
}
