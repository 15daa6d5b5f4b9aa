import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '#model/problem'
import { type BlobPart, type BlobReceived, type BlobStore, type OwnBlob, pieceBytesMax } from '#runtime/blobs'
import { BlobParts, type OpenPart } from '#store/blob-parts'
import { failureFrom } from '#store/failure'
import { isMissing, statOf, syncFolder } from '#store/file-system'
import { freeBytes } from '#store/headroom'

/** Free space required in addition to the headroom, because the database grows during uploads. */
const roomBytes = 64 * 1024 * 1024
/**
 * After this many bytes, the part is synced and free space is checked again: other uploads write too, and the length of
 * this one may be unknown.
 */
const stretchBytes = 16 * 1024 * 1024
/** Old parts are deleted when the next part begins, at most once in this time. */
const sweepMs = 3_600_000
const sha256Pattern = /^[0-9a-f]{64}$/

export interface FileBlobsOptions {
  /** The data folder; `images` and `uploads` are made in it. */
  readonly folder: string
  readonly bytesMax: number
  readonly headroomBytes: number
  now(): number
  /** Called for the log when the disk refuses a read or write. The caller only receives Problem `storage`. */
  failed?(error: Error): void
}

/** Stores large bytes as files that only their owner can read: `images/<sha256>`, and `uploads/<name's hash>.part`. */
export class FileBlobs implements BlobStore {
  readonly #options: FileBlobsOptions
  readonly #images: string
  readonly #uploads: string
  readonly #parts: BlobParts
  readonly #underWay = new Set<string>()
  /** Images that perhaps no row names yet, with the times at which they were completed. */
  readonly #fresh = new Map<string, number>()
  #sweptAt: number

  constructor(options: FileBlobsOptions) {
    this.#options = options
    this.#images = join(options.folder, 'images')
    this.#uploads = join(options.folder, 'uploads')
    this.#parts = new BlobParts(this.#uploads, partAgeMsMax, options.now)
    this.#sweptAt = options.now()
  }

  async open(): Promise<void> {
    try {
      await mkdir(this.#images, { recursive: true, mode: 0o700 })
      await mkdir(this.#uploads, { recursive: true, mode: 0o700 })
    } catch (error) {
      throw failureFrom(error, this.#options.folder)
    }
  }

  async receive(
    name: string,
    part: BlobPart,
    pieces: AsyncIterable<Uint8Array>,
    own: OwnBlob = async () => {},
  ): Promise<BlobReceived> {
    checkBegin(name, part, this.#underWay, this.#options.bytesMax)
    this.#underWay.add(name)
    try {
      const received = await this.#receive(name, part, pieces)
      const { image } = received
      if (image) await this.#own(name, part, () => own(image))
      return received
    } finally {
      this.#underWay.delete(name)
    }
  }

  receivedOf(name: string): Promise<number> {
    return this.#withDiskErrors(() => this.#parts.receivedOf(name))
  }

  async discard(name: string): Promise<void> {
    if (this.#underWay.has(name)) return
    this.#underWay.add(name)
    try {
      await this.#withDiskErrors(async () => {
        if ((await this.#parts.receivedOf(name)) > 0) await this.#discard(name)
      })
    } finally {
      this.#underWay.delete(name)
    }
  }

  async *read(sha256: string, from: number, to: number): AsyncIterable<Uint8Array> {
    const handle = await this.#withDiskErrors(() => this.#openImage(sha256))
    try {
      // One buffer for all pieces: with a new buffer for each, at 32 MiB/s, V8 collected the whole heap twice a second.
      const buffer = new Uint8Array(Math.min(pieceBytesMax, to - from))
      for (let at = from; at < to; ) {
        const piece = buffer.subarray(0, to - at)
        const { bytesRead } = await this.#withDiskErrors(() => handle.read(piece, 0, piece.length, at))
        if (bytesRead === 0) throw this.#problemOf(new Error(`the image ${sha256} ends before ${to}`))
        at += bytesRead
        yield piece.subarray(0, bytesRead)
      }
    } finally {
      await handle.close()
    }
  }

  sizeOf(sha256: string): Promise<number | undefined> {
    return this.#withDiskErrors(async () => {
      const found = await statOf(this.#fileOf(sha256))
      return found?.isFile() ? found.size : undefined
    })
  }

  names(): Promise<readonly string[]> {
    return this.#withDiskErrors(async () => {
      try {
        return (await readdir(this.#images)).filter((name) => sha256Pattern.test(name)).sort()
      } catch (error) {
        if (isMissing(error)) return []
        throw error
      }
    })
  }

  async remove(sha256: string): Promise<void> {
    this.#fresh.delete(sha256)
    await this.#withDiskErrors(() => rm(this.#fileOf(sha256), { force: true }))
  }

  async sweep(isNamed: (sha256: string) => boolean, owned: (bytes: number) => Iterable<string>): Promise<void> {
    const freshFrom = this.#options.now() - freshMsMax
    for (const [sha256, at] of this.#fresh) if (at < freshFrom) this.#fresh.delete(sha256)
    await this.#withDiskErrors(async () => {
      for (const entry of await readdir(this.#images, { withFileTypes: true })) {
        const { name } = entry
        // This store creates no folders there.
        if (!entry.isDirectory() && !isNamed(name) && !this.#fresh.has(name)) {
          await rm(join(this.#images, name), { force: true })
        }
      }
      await this.#parts.sweep(this.#underWay, owned)
      await syncFolder(this.#uploads)
    })
  }

  async #receive(name: string, part: BlobPart, pieces: AsyncIterable<Uint8Array>): Promise<BlobReceived> {
    const opened = await this.#withDiskErrors(async () => {
      await this.#sweepParts()
      const received = await this.#parts.receivedOf(name)
      checkOffset(part.from, received)
      // The upload begins again: the old part is removed to free its space. An image linked to it keeps its own name.
      if (part.from === 0) await this.#parts.remove(name)
      await this.#requireRoom(part.size === null ? 0 : part.size - part.from)
      return this.#parts.open(name, part.from)
    })
    try {
      for await (const piece of pieces) {
        checkGrowth(opened.received + piece.byteLength, part, this.#options.bytesMax)
        await this.#withDiskErrors(() => this.#append(name, opened, piece))
      }
      if (isWhole(opened.received, part)) return await this.#withDiskErrors(() => this.#finish(name, opened))
      await this.#withDiskErrors(() => this.#parts.pause(name, opened))
      return { received: opened.received }
    } catch (error) {
      await this.#cleanUp(name, part, opened, error).catch(() => {})
      throw error
    } finally {
      await opened.handle.close()
    }
  }

  /**
   * Keeps a part for its next upload, after a failed write only the synced bytes. Deletes the part if it cannot be
   * resumed, or if the disk is full, because it would keep the disk full.
   */
  async #cleanUp(name: string, part: BlobPart, opened: OpenPart, error: unknown): Promise<void> {
    const parts = this.#parts
    const isOfDisk = error instanceof DiskProblem
    const mustGo = isUnresumable(part) || (isOfDisk && error.isFull)
    if (isOfDisk) await (mustGo ? parts.remove(name) : parts.cutOff(name))
    else {
      const ended = this.#withDiskErrors(() => (mustGo ? parts.remove(name) : parts.pause(name, opened)))
      await ended.catch((failed) => this.#cleanUp(name, part, opened, failed))
    }
  }

  async #append(name: string, opened: OpenPart, piece: Uint8Array): Promise<void> {
    const before = opened.received
    for (let at = 0; at < piece.byteLength; ) {
      const { bytesWritten } = await opened.handle.write(piece, at, piece.byteLength - at, before + at)
      at += bytesWritten
    }
    opened.hash.update(piece)
    opened.received += piece.byteLength
    if (Math.floor(before / stretchBytes) === Math.floor(opened.received / stretchBytes)) return
    await this.#parts.sync(name, opened)
    await this.#requireRoom(0)
  }

  /** The file is synced before it gets its name, and named before any client is informed. */
  async #finish(name: string, opened: OpenPart): Promise<BlobReceived> {
    const sha256 = opened.hash.copy().digest('hex')
    // Also records the length, before the part is linked to the image: otherwise `cutOff` could shorten the image.
    await this.#parts.sync(name, opened)
    this.#fresh.set(sha256, this.#options.now())
    await this.#parts.linkTo(name, this.#fileOf(sha256))
    await syncFolder(this.#images)
    return { received: opened.received, image: { sha256, size: opened.received } }
  }

  async #own(name: string, part: BlobPart, own: () => Promise<void>): Promise<void> {
    const discard = () => this.#discard(name).catch((error) => this.#problemOf(error))
    try {
      await own()
    } catch (error) {
      if (isRefusedForGood(error, part)) await discard()
      throw error
    }
    await discard()
  }

  /** Deletes the part for good: otherwise it could become an image long after its release was deleted. */
  async #discard(name: string): Promise<void> {
    await this.#parts.remove(name)
    await syncFolder(this.#uploads)
  }

  async #sweepParts(): Promise<void> {
    const now = this.#options.now()
    if (Math.abs(now - this.#sweptAt) < sweepMs) return
    this.#sweptAt = now
    await this.#parts.sweep(this.#underWay)
  }

  async #requireRoom(missingBytes: number): Promise<void> {
    const { folder, headroomBytes } = this.#options
    if ((await freeBytes(folder)) < missingBytes + headroomBytes + roomBytes) throw new DiskFullError(folder)
  }

  async #openImage(sha256: string): Promise<FileHandle> {
    try {
      return await open(this.#fileOf(sha256), 'r')
    } catch (error) {
      throw isMissing(error) ? new Problem('not_found') : error
    }
  }

  #fileOf(sha256: string): string {
    // The value comes from a client and becomes part of a path.
    if (!sha256Pattern.test(sha256)) throw new Problem('not_found')
    return join(this.#images, sha256)
  }

  async #withDiskErrors<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step()
    } catch (error) {
      throw this.#problemOf(error)
    }
  }

  #problemOf(error: unknown): Problem {
    if (error instanceof Problem) return error
    const failure = failureFrom(error, this.#options.folder)
    this.#options.failed?.(failure)
    return new DiskProblem(failure.code === 'full')
  }
}

/** The disk refused a read or write, unlike the errors of the source of the pieces. */
class DiskProblem extends Problem {
  readonly isFull: boolean

  constructor(isFull: boolean) {
    super('storage')
    this.isFull = isFull
  }
}

/** `failureFrom` takes this error for a full disk, because of its code. */
class DiskFullError extends Error {
  readonly code = 'ENOSPC'

  constructor(folder: string) {
    super(`too little free space in ${folder}: the headroom must stay free`)
  }
}

/** An incomplete upload without progress for this time cannot be resumed, and is deleted. */
export const partAgeMsMax = 24 * 3_600_000
/** A new image is not swept for this time. */
export const freshMsMax = 3_600_000
/** The limit of uploads at the same time. */
const receivesMax = 64

/**
 * Checks whether an upload may begin.
 * @throws Problem `conflict`, `too_large`, `overloaded`
 */
export function checkBegin(name: string, part: BlobPart, underWay: ReadonlySet<string>, bytesMax: number): void {
  if (underWay.has(name)) throw new Problem('conflict', 'this image is already being uploaded')
  if (underWay.size >= receivesMax) throw new Problem('overloaded')
  if ((part.size ?? part.from) > bytesMax) throw tooLarge(bytesMax)
}

/** @throws Problem `conflict` with a message that gives the offset to continue from */
export function checkOffset(from: number, received: number): void {
  if (from !== 0 && from !== received) throw new Problem('conflict', `bytes from ${received} are expected`)
}

/** @throws Problem `too_large` if a piece exceeds the size that the client declared, or that of images */
export function checkGrowth(received: number, part: BlobPart, bytesMax: number): void {
  if (part.size !== null && received > part.size)
    throw new Problem('too_large', `more than ${part.size} bytes were sent`)
  if (received > bytesMax) throw tooLarge(bytesMax)
}

/** Whether an upload cannot be resumed after this part is interrupted: its size is unknown. */
export function isUnresumable({ size }: BlobPart): boolean {
  return size === null
}

/** Whether an upload is useless after this error: it can't be resumed, or its image will never have an owner. */
export function isRefusedForGood(error: unknown, part: BlobPart): boolean {
  return isUnresumable(part) || (error instanceof Problem && !['storage', 'overloaded', 'bug'].includes(error.code))
}

/** Whether the upload is complete. Call it after the last piece of the part. */
export function isWhole(received: number, part: BlobPart): boolean {
  return part.size === null || received === part.size
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('too_large', `more than ${bytesMax} bytes`)
}
