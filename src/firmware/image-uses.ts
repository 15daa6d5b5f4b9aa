import { isTenantThere, tenantsThere } from '#actors/directory/queries'
import { projectAddress, projectIndex } from '#actors/project/address'
import type { ProjectNotices } from '#actors/project/notices'
import { partNameOf } from '#firmware/part-name'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { isOfTenant } from '#model/tenant-key'
import type { BlobStore } from '#runtime/blobs'
import type { Listing } from '#runtime/listing'
import type { System } from '#runtime/system'

export interface ImageUsesParts {
  readonly system: System<Entry>
  readonly listing: Listing
  readonly images: Pick<BlobStore, 'remove' | 'sweep' | 'sizeOf'>
  /** What could not be read is read again; an image that could not be taken away goes at the next start. */
  readonly failed: (error: unknown) => void
  /** After each reading of what is stored, where there are any. */
  readonly lost: (images: readonly LostImage[]) => void
}

/** An image that releases name, and whose file is not there, or is not as long as it was when it came. */
export interface LostImage {
  readonly sha256: string
  /** `<tenant>/<project>/<release>` each. */
  readonly releases: readonly string[]
  /** Undefined: there is no file. */
  readonly bytes: number | undefined
}

const listedAtATime = 256
const retryMs = 1_000
/** A disk that refuses does so for longer. */
const diskRetryMs = 60_000

/**
 * Which releases name which image, over all projects and tenants: the same bytes are kept once, and go with the last
 * release that names them.
 *
 * - None goes that a stored release names, whatever fails: it is taken away behind the commit that ended its last use.
 * - Until all that is stored was read none goes at all.
 * - One that nothing names, because a process died between its coming and its release, goes at the next start.
 * - One that is named, and is not there whole, is said, and handed out to nobody until it came again.
 */
export class ImageUses {
  readonly #parts: ImageUsesParts
  /** By SHA-256: `<tenant>/<project>/<release>`. */
  readonly #names = new Map<string, Set<string>>()
  /** How many wait to name it. */
  readonly #holds = new Map<string, number>()
  readonly #removals = new Map<string, Promise<void>>()
  /** Their last use may have ended while it was not known yet what is stored, or while all were kept. */
  readonly #unsure = new Set<string>()
  /** By SHA-256: how long it has to be, of all that was read. */
  readonly #sizes = new Map<string, number>()
  readonly #lost = new Set<string>()
  /** How many want all of them kept. */
  #keepers = 0
  #sweep: Promise<void> | undefined
  /** Grows with each reading, so that an earlier one ends. */
  #readings = 0
  #isRead = false
  #isStopped = false
  #cancelRetry: (() => void) | undefined

  constructor(parts: ImageUsesParts) {
    this.#parts = parts
  }

  /** After the store was read, also anew. Settled when what nothing names is gone, or is to be tried again. */
  async open(): Promise<void> {
    if (this.#isStopped) return
    this.#cancelRetry?.()
    const reading = ++this.#readings
    const isLate = () => this.#isStopped || reading !== this.#readings
    const { system, images, failed } = this.#parts
    this.#isRead = false
    this.#names.clear()
    this.#sizes.clear()
    try {
      await this.#read(isLate)
      if (isLate()) return
      this.#isRead = true
      await this.#lookForLost(isLate)
      if (isLate()) return
      this.#sweep = images.sweep(
        (sha256) => this.isNamed(sha256),
        (bytes) => this.#partsOf(bytes),
      )
      await this.#sweep
      if (isLate()) return
      this.#sizes.clear()
      // What came a moment ago is not swept.
      this.#removeUnsure()
    } catch (error) {
      // After a failed write it is opened again when the store was read.
      if (isLate() || !system.gate.isOpen) return
      failed(error)
      const isOfDisk = error instanceof Problem && error.code === 'storage'
      this.#cancelRetry = system.world.after(isOfDisk ? diskRetryMs : retryMs, () => void this.open())
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
  }

  /** Whether a release names it, or is about to; of all while not all are known, or all are kept. */
  isNamed(sha256: string): boolean {
    return !this.#isRead || this.#keepers > 0 || this.#names.has(sha256) || this.#holds.has(sha256)
  }

  /** Whether what is there under its name is not the image, as far as its length tells. */
  isLost(sha256: string): boolean {
    return this.#lost.has(sha256)
  }

  /** To be called for each project. */
  releasesChanged: ProjectNotices['releasesChanged'] = (tenant, project, before, after, release) => {
    const name = nameOf(tenant, project, release)
    if (after !== null) this.#add(after, name)
    if (before !== null && before !== after) this.#drop(before, name)
  }

  /** All of its projects are gone, or going. */
  tenantEnded(tenant: string): void {
    for (const [sha256, names] of [...this.#names]) {
      for (const name of names) if (isOfTenant(name, tenant)) this.#drop(sha256, name)
    }
  }

  /**
   * Keeps an image that came while its release is being stored, which is `work`: others may end their use of the same bytes
   * meanwhile. When nothing names it then, it goes.
   * @throws Problem `overloaded` when it had just been taken away; what `work` throws
   */
  async keepWhile<Value>(sha256: string, work: () => Promise<Value>): Promise<Value> {
    this.#holds.set(sha256, (this.#holds.get(sha256) ?? 0) + 1)
    try {
      await Promise.allSettled([this.#removals.get(sha256), this.#sweep])
      if ((await this.#parts.images.sizeOf(sha256)) === undefined) {
        throw new Problem('overloaded', 'the same image was being deleted: try again')
      }
      this.#lost.delete(sha256)
      return await work()
    } finally {
      const left = (this.#holds.get(sha256) ?? 1) - 1
      if (left > 0) this.#holds.set(sha256, left)
      else this.#holds.delete(sha256)
      this.#removeUnnamed(sha256)
    }
  }

  /**
   * From now on no image is taken away whose last use has not ended yet, until the answer is called, once: what is read of the
   * store now may name it.
   */
  keepAll(): () => void {
    this.#keepers++
    return () => {
      this.#keepers--
      if (this.#isRead && this.#keepers === 0) this.#removeUnsure()
    }
  }

  async #read(isLate: () => boolean): Promise<void> {
    const { system, listing } = this.#parts
    const { closedCount } = system.gate
    for (const tenant of tenantsThere(system)) {
      const pages = listing.entries(projectIndex, tenant)
      try {
        for (;;) {
          const projects = await pages.next(listedAtATime)
          if (projects.length === 0 || isLate() || !isTenantThere(system, tenant)) break
          for (const project of projects) this.#readProject(tenant, project)
        }
      } finally {
        await pages.close()
      }
    }
    // What was seen may have been a deletion that is not stored yet.
    await system.gate.settled(closedCount)
  }

  #readProject(tenant: string, project: string): void {
    const { releases } = this.#parts.system.peek(projectAddress(tenant, project))
    for (const [release, { sha256, size }] of releases) {
      this.#add(sha256, nameOf(tenant, project, release))
      this.#sizes.set(sha256, size)
    }
  }

  /** Under what those of the images that were read may have come that are so long, are there, and still have a release. */
  *#partsOf(bytes: number): Iterable<string> {
    for (const [sha256, size] of this.#sizes) {
      if (size !== bytes || this.#lost.has(sha256)) continue
      for (const name of this.#names.get(sha256) ?? []) {
        const [tenant = '', project = '', ...release] = name.split('/')
        yield partNameOf(this.#parts.system, tenant, project, release.join('/'), size)
      }
    }
  }

  /** Lengths alone: to read all of them would take minutes of the disk. */
  async #lookForLost(isLate: () => boolean): Promise<void> {
    const found: LostImage[] = []
    for (const [sha256, size] of this.#sizes) {
      const bytes = await this.#parts.images.sizeOf(sha256)
      if (isLate()) return
      const names = this.#names.get(sha256)
      // Its last release may have ended meanwhile, or the image come anew.
      if (bytes === size || !names || this.#holds.has(sha256)) this.#lost.delete(sha256)
      else {
        this.#lost.add(sha256)
        found.push({ sha256, releases: [...names], bytes })
      }
    }
    if (found.length > 0) this.#parts.lost(found)
  }

  #add(sha256: string, name: string): void {
    const names = this.#names.get(sha256)
    if (names) names.add(name)
    else this.#names.set(sha256, new Set([name]))
  }

  #drop(sha256: string, name: string): void {
    const names = this.#names.get(sha256)
    if (names?.delete(name) && names.size === 0) {
      this.#names.delete(sha256)
      this.#lost.delete(sha256)
    }
    this.#removeUnnamed(sha256)
  }

  #removeUnsure(): void {
    const unsure = [...this.#unsure]
    this.#unsure.clear()
    for (const sha256 of unsure) this.#removeUnnamed(sha256)
  }

  #removeUnnamed(sha256: string): void {
    const { system, images, failed } = this.#parts
    if (!this.#isRead || this.#keepers > 0) this.#unsure.add(sha256)
    // Behind a failed write nobody knows what is stored until it was read.
    if (!system.gate.isOpen || this.isNamed(sha256) || this.#removals.has(sha256)) return
    const removal = images
      .remove(sha256)
      .catch(failed)
      .then(() => void this.#removals.delete(sha256))
    this.#removals.set(sha256, removal)
  }
}

function nameOf(tenant: string, project: string, release: string): string {
  return `${tenant}/${project}/${release}`
}
