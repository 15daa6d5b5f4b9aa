import { createHash } from 'node:crypto'
import { directoryAddress } from '#actors/directory/state'
import type { ProjectNotices } from '#actors/notice-bus'
import { projectAddress, projectIndex } from '#actors/project/state'
import { defaultTenant } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { addTo, changeCount, removeFrom } from '#model/map-values'
import { Problem } from '#model/problem'
import { isOfTenant } from '#model/tenant'
import type { BlobStore } from '#runtime/blobs'
import type { System } from '#runtime/system'
import { type JobParts, storedEntries } from '#workers/stored-entries'

/** `failed`: a failed read is retried; an image whose removal failed is removed at the next start. */
export interface ImageUsesParts extends JobParts {
  readonly images: Pick<BlobStore, 'remove' | 'sweep' | 'sizeOf'>
  /** Called after each load if images are missing or incomplete. */
  readonly lost: (images: readonly LostImage[]) => void
}

/** An image that releases refer to, whose file is missing or has the wrong size. */
export interface LostImage {
  readonly sha256: string
  /** `<tenant>/<project>/<release>` each. */
  readonly releases: readonly string[]
  /** Size of the file; undefined: there is no file. */
  readonly bytes: number | undefined
}

const retryMs = 1_000
/** A full or failing disk takes longer to recover. */
const diskRetryMs = 60_000

/**
 * Which releases refer to which image, over all projects and tenants: equal bytes are stored once and removed with
 * their last release.
 *
 * - An image that a stored release refers to is never removed: the removal happens after the commit that ended its last
 *   use.
 * - No image is removed before all stored releases were read.
 * - An image without a release, because the process died before storing the release, is removed after a restart.
 * - If the file of an image that a release refers to is missing or incomplete, this is reported, and the image is not
 *   served until it is uploaded again.
 */
export class ImageUses {
  readonly #parts: ImageUsesParts
  /** By SHA-256: `<tenant>/<project>/<release>`. */
  readonly #names = new Map<string, Set<string>>()
  /** By SHA-256: number of uploads that are about to refer to the image. */
  readonly #holds = new Map<string, number>()
  readonly #removals = new Map<string, Promise<void>>()
  /**
   * Images whose last use may have ended while no image could be removed. They are checked after the load, or when no
   * caller needs all images kept.
   */
  readonly #unsure = new Set<string>()
  /** By SHA-256: the expected size of all images, during a load. */
  readonly #sizes = new Map<string, number>()
  readonly #lost = new Set<string>()
  /** Number of callers that need all images kept. */
  #keepers = 0
  #sweep: Promise<void> | undefined
  /** Incremented by each load, so that an earlier load ends. */
  #readings = 0
  #isRead = false
  #isStopped = false
  #cancelRetry: (() => void) | undefined

  constructor(parts: ImageUsesParts) {
    this.#parts = parts
  }

  /**
   * Call it each time the store has been read. Resolves when images without a release are removed, or a retry is
   * planned.
   */
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
      await this.#findLost(isLate)
      if (isLate()) return
      this.#sweep = images.sweep(
        (sha256) => this.isNamed(sha256),
        (bytes) => this.#partsOf(bytes),
      )
      await this.#sweep
      if (isLate()) return
      this.#sizes.clear()
      // The sweep keeps images that were uploaded recently, even without a release.
      this.#removeUnsure()
    } catch (error) {
      // After a failed write, `open` is called again when the store has been read.
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

  /**
   * Whether a release refers to the image or is about to; true for all images before the load ends or while all images
   * are kept.
   */
  isNamed(sha256: string): boolean {
    return !this.#isRead || this.#keepers > 0 || this.#names.has(sha256) || this.#holds.has(sha256)
  }

  /** Whether the file of the image is missing or has the wrong size. */
  isLost(sha256: string): boolean {
    return this.#lost.has(sha256)
  }

  releasesChanged: ProjectNotices['releasesChanged'] = (tenant, project, before, after, release) => {
    const name = nameOf(tenant, project, release)
    if (after !== null) addTo(this.#names, after, name)
    if (before !== null && before !== after) this.#drop(before, name)
  }

  /** All projects of the tenant are deleted or being deleted. */
  tenantEnded(tenant: string): void {
    for (const [sha256, names] of [...this.#names]) {
      for (const name of names) if (isOfTenant(name, tenant)) this.#drop(sha256, name)
    }
  }

  /**
   * Keeps an uploaded image while `work` stores its release, because other releases may end their use of the same bytes
   * meanwhile. Afterwards the image is removed if no release refers to it.
   * @throws Problem `overloaded` if the image was just removed, `storage`; errors of `work`
   */
  async keepWhile<Value>(sha256: string, work: () => Promise<Value>): Promise<Value> {
    changeCount(this.#holds, sha256, 1)
    try {
      await Promise.allSettled([this.#removals.get(sha256), this.#sweep])
      if ((await this.#parts.images.sizeOf(sha256)) === undefined) {
        throw new Problem('overloaded', 'this image is being deleted: try again')
      }
      this.#lost.delete(sha256)
      return await work()
    } finally {
      changeCount(this.#holds, sha256, -1)
      this.#removeUnnamed(sha256)
    }
  }

  /**
   * Removes no images until the returned function is called, because data read from the store now may refer to them.
   * Call that function once.
   */
  keepAll(): () => void {
    this.#keepers++
    return () => {
      this.#keepers--
      if (this.#isRead && this.#keepers === 0) this.#removeUnsure()
    }
  }

  async #read(isLate: () => boolean): Promise<void> {
    const { system } = this.#parts
    const { closedCount } = system.gate
    for await (const { tenant, entry } of storedEntries(this.#parts, projectIndex)) {
      if (isLate()) return
      this.#readProject(tenant, entry)
    }
    // A deletion that was read is possibly not stored yet.
    await system.gate.whenStored(closedCount)
  }

  #readProject(tenant: string, project: string): void {
    const { releases } = this.#parts.system.peek(projectAddress(tenant, project))
    for (const [release, { sha256, size }] of releases) {
      addTo(this.#names, sha256, nameOf(tenant, project, release))
      this.#sizes.set(sha256, size)
    }
  }

  /** Names of uploads of this size that may still be stored, although their images are complete and in use. */
  *#partsOf(bytes: number): Iterable<string> {
    for (const [sha256, size] of this.#sizes) {
      if (size !== bytes || this.#lost.has(sha256)) continue
      for (const name of this.#names.get(sha256) ?? []) {
        const [tenant = '', project = '', ...release] = name.split('/')
        yield partNameOf(this.#parts.system, tenant, project, release.join('/'), size)
      }
    }
  }

  /** Checks sizes only: to read all images would keep the disk busy for minutes. */
  async #findLost(isLate: () => boolean): Promise<void> {
    const found: LostImage[] = []
    for (const [sha256, size] of this.#sizes) {
      const bytes = await this.#parts.images.sizeOf(sha256)
      if (isLate()) return
      const names = this.#names.get(sha256)
      // The last release of the image may have been deleted, or the image uploaded again.
      if (bytes === size || !names || this.#holds.has(sha256)) this.#lost.delete(sha256)
      else {
        this.#lost.add(sha256)
        found.push({ sha256, releases: [...names], bytes })
      }
    }
    if (found.length > 0) this.#parts.lost(found)
  }

  #drop(sha256: string, name: string): void {
    if (removeFrom(this.#names, sha256, name)) this.#lost.delete(sha256)
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
    // After a failed write the stored state is unknown until it was read again.
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

/**
 * The name that parts of one image share, also after a restart. `release`: the `releaseName` of the release. `size`:
 * bytes of the whole image, undefined if unknown; parts with another size belong to another image.
 */
export function partNameOf(
  system: System<Entry>,
  tenant: string,
  project: string,
  release: string,
  size: number | undefined,
): string {
  const { tenants } = system.peek(directoryAddress)
  // A tenant never gets parts of a deleted tenant with the same name.
  const life = tenant === defaultTenant ? '' : `@${tenants.get(tenant)?.createdAt}`
  return createHash('sha256')
    .update(`${tenant}${life}/${project}/${release}/${size ?? ''}`)
    .digest('hex')
}
