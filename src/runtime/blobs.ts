/**
 * Large bytes, named by their SHA-256 in lower-case hex: images of firmware. Two implementations: files, memory; one suite.
 *
 * Obligations
 * - What `receive` answers `image` for is there whole, and survives the death of the machine.
 * - The same bytes are kept once, however often they come.
 * - Of neither a part nor an image is more than some pieces in memory at once.
 */
export interface BlobStore {
  /** @throws StorageFailure */
  open(): Promise<void>
  /**
   * Takes a part of what comes under a name, in order: `from` is its first byte, `size` the length of the whole, null when
   * that is the end of this part. Not the last one: how much there is now. What came before the pieces failed is kept for a
   * day, and goes on from there, also after a restart; of a failed write, what was on the disk before
   * it, unless the disk is full; of what was to be of any size, nothing. From 0 it begins anew, whatever there is. One at a time for a name.
   *
   * No pieces, where all is there already, make the image of it: its maker may have died before he could.
   *
   * `own` makes the image somebody's. Until it ends well, or refuses the image for good, what came under the name is kept too:
   * who dies before the image is anybody's, or could not make it his just then, finds all of it received, if he had said how
   * large it is.
   * @throws Problem `conflict` when one is under way, or `from` is not where it goes on, `too_large` above the limit or
   * `size`, `overloaded`, `storage`; what the pieces throw, and what `own` does
   */
  receive(name: string, part: BlobPart, pieces: AsyncIterable<Uint8Array>, own?: OwnBlob): Promise<BlobReceived>
  /** How many bytes there are of what has not come whole; 0 for nothing. */
  receivedOf(name: string): Promise<number>
  /** Nobody is to go on with what came under a name, for good; nothing happens while something is under way. @throws Problem `storage` */
  discard(name: string): Promise<void>
  /**
   * The bytes from `from` to before `to`, of an image that is there and has as many; each piece is at most `pieceBytesMax`
   * long, and the taker's until he asks for the next one, which may come in the same memory.
   * @throws Problem `not_found`, `storage`
   */
  read(sha256: string, from: number, to: number): AsyncIterable<Uint8Array>
  /** Undefined: there is no such image. */
  sizeOf(sha256: string): Promise<number | undefined>
  /** Of all images that are there, in order. */
  names(): Promise<readonly string[]>
  /** Nothing happens where there is none. */
  remove(sha256: string): Promise<void>
  /**
   * Takes away images that nothing names, parts that have not grown for a day, and those that are whole and came under a name
   * whose image is somebody's: `owned` tells these of each length. An image that came since `open` is left for an hour: what
   * will name it may be on its way.
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
  /** When that was all. */
  readonly image?: BlobImage
}

export interface BlobImage {
  readonly sha256: string
  readonly size: number
}

export type OwnBlob = (image: BlobImage) => Promise<void>
