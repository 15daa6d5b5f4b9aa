/**
 * Storage of large bytes (firmware images), named by their SHA-256 in lower-case hex. The implementations share one
 * test suite (`test/store/blob-suite.ts`).
 *
 * Obligations:
 * - An `image` that `receive` returned is stored completely, and survives a crash of the machine.
 * - The same bytes are stored once, however often they are received.
 * - Only some pieces of a part or an image are in memory at once.
 */
export interface BlobStore {
  /** @throws StorageFailure */
  open(): Promise<void>
  /**
   * Receives a part of an upload under a name, in order: `from` is the offset of its first byte; `size` is the length
   * of the whole upload, or null if this part is the last. `from` 0 begins again. Only one part at a time for a name.
   * Returns how much is received now, or the image after the last part.
   *
   * If the pieces fail, the bytes before the failure are kept for a day, and the upload may be resumed, also after a
   * restart. After a failed write, the bytes that were on the disk before are kept, unless the disk is full. Nothing
   * is kept of an upload of unknown size.
   *
   * A part without pieces turns an upload that is already complete into the image: the process may have died before it
   * had stored the image.
   *
   * `own` records the owner of the image. The upload is kept until `own` succeeds or refuses the image for good: if the
   * process dies, or `own` fails temporarily, a complete upload of known size can be repeated without its bytes.
   * @throws Problem `conflict` if an upload is in progress or `from` is not the next byte; `too_large` if the image is
   * larger than permitted or than `size`; `overloaded`; `storage`; and the errors of the pieces and of `own`
   */
  receive(name: string, part: BlobPart, pieces: AsyncIterable<Uint8Array>, own?: OwnBlob): Promise<BlobReceived>
  /** The number of bytes of an incomplete upload; 0 if there is none. */
  receivedOf(name: string): Promise<number>
  /** Deletes an incomplete upload for good; does nothing while a part is in progress. @throws Problem `storage` */
  discard(name: string): Promise<void>
  /**
   * Reads the bytes from `from` up to `to` (exclusive) of a stored image. Each piece has at most `pieceBytesMax` bytes
   * and is valid until the next one is requested, which may reuse its memory.
   * @throws Problem `not_found`, `storage`
   */
  read(sha256: string, from: number, to: number): AsyncIterable<Uint8Array>
  /** Undefined if there is no such image. */
  sizeOf(sha256: string): Promise<number | undefined>
  /** The names of all images, sorted. */
  names(): Promise<readonly string[]>
  /** Does nothing if there is no such image. */
  remove(sha256: string): Promise<void>
  /**
   * Deletes images without references, uploads without progress for a day, and complete uploads whose image has an
   * owner: `owned(bytes)` returns the names of such uploads with this length. An image received since `open` is kept
   * for an hour, because its reference may follow.
   * @throws Problem `storage`
   */
  sweep(isNamed: (sha256: string) => boolean, owned: (bytes: number) => Iterable<string>): Promise<void>
}

export const pieceBytesMax = 64 * 1024

export interface BlobPart {
  readonly from: number
  readonly size: number | null
}

export interface BlobReceived {
  readonly received: number
  /** Present after the last part. */
  readonly image?: BlobImage
}

export interface BlobImage {
  readonly sha256: string
  readonly size: number
}

export type OwnBlob = (image: BlobImage) => Promise<void>
