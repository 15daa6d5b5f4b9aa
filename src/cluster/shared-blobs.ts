import type { BlobImage, BlobPart, BlobReceived, BlobStore, OwnBlob } from '#runtime/blobs'

/** A store of large objects by name, which all nodes of a cluster reach. */
export interface ObjectBucket {
  /** Resolves when a majority of servers has stored the object. Each piece is valid until the next one is requested. */
  put(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void>
  get(name: string): Promise<AsyncIterable<Uint8Array> | undefined>
  /** Undefined if there is no such object. `storedAt`: Unix ms. */
  find(name: string): Promise<{ readonly size: number; readonly storedAt: number } | undefined>
  names(): Promise<readonly string[]>
  remove(name: string): Promise<void>
}

export interface SharedBlobsOptions {
  /** The store of this node: it receives uploads, and keeps what it fetched. */
  readonly local: BlobStore
  readonly bucket: ObjectBucket
  now(): number
}

/** The bucket keeps an image without a reference for this time, because the reference is stored later. */
const freshMsMax = 3_600_000

/**
 * Images of a node of a cluster: an upload is complete when the bucket has it too, and a node fetches an image that it
 * lacks when the image is first read. So the images outlive each node.
 */
export class SharedBlobs implements BlobStore {
  readonly #options: SharedBlobsOptions
  readonly #fetches = new Map<string, Promise<void>>()

  constructor(options: SharedBlobsOptions) {
    this.#options = options
  }

  open(): Promise<void> {
    return this.#options.local.open()
  }

  receive(name: string, part: BlobPart, pieces: AsyncIterable<Uint8Array>, own?: OwnBlob): Promise<BlobReceived> {
    return this.#options.local.receive(name, part, pieces, async (image) => {
      await this.#share(image)
      await own?.(image)
    })
  }

  receivedOf(name: string): Promise<number> {
    return this.#options.local.receivedOf(name)
  }

  discard(name: string): Promise<void> {
    return this.#options.local.discard(name)
  }

  async *read(sha256: string, from: number, to: number): AsyncIterable<Uint8Array> {
    await this.#fetchMissing(sha256)
    yield* this.#options.local.read(sha256, from, to)
  }

  async sizeOf(sha256: string): Promise<number | undefined> {
    const { local, bucket } = this.#options
    return (await local.sizeOf(sha256)) ?? (await bucket.find(sha256))?.size
  }

  async names(): Promise<readonly string[]> {
    const { local, bucket } = this.#options
    return [...new Set([...(await local.names()), ...(await bucket.names())])].sort()
  }

  async remove(sha256: string): Promise<void> {
    const { local, bucket } = this.#options
    await local.remove(sha256)
    await bucket.remove(sha256)
  }

  async sweep(isNamed: (sha256: string) => boolean, owned: (bytes: number) => Iterable<string>): Promise<void> {
    const { local, bucket, now } = this.#options
    await local.sweep(isNamed, owned)
    for (const name of await bucket.names()) {
      const found = isNamed(name) ? undefined : await bucket.find(name)
      if (found && found.storedAt < now() - freshMsMax) await bucket.remove(name)
    }
  }

  async #share({ sha256, size }: BlobImage): Promise<void> {
    const { local, bucket } = this.#options
    if (!(await bucket.find(sha256))) await bucket.put(sha256, local.read(sha256, 0, size))
  }

  async #fetchMissing(sha256: string): Promise<void> {
    if ((await this.#options.local.sizeOf(sha256)) !== undefined) return
    const running = this.#fetches.get(sha256) ?? this.#fetch(sha256).finally(() => this.#fetches.delete(sha256))
    this.#fetches.set(sha256, running)
    await running
  }

  /** Received bytes are stored under their own hash, so damaged bytes cannot be taken for the image. */
  async #fetch(sha256: string): Promise<void> {
    const { local, bucket } = this.#options
    const [found, pieces] = [await bucket.find(sha256), await bucket.get(sha256)]
    if (found && pieces) await local.receive(`fetched ${sha256}`, { from: 0, size: found.size }, pieces)
  }
}
