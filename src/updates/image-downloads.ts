/** Hands out images, so many at once and so fast in all that devices are still heard. */
export interface ImageDownloads {
  /**
   * The bytes from `from` to before `to`, when it is their turn.
   * @throws Problem `overloaded` when that takes too long
   */
  begin(sha256: string, from: number, to: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /** Those under way. */
  readonly atOnce: number
}
