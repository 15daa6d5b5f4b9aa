import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'

/**
 * Who knows which firmware there is for whom. Two implementations: the embedded one, which answers at once from what is
 * stored, and one that asks another server. Contract 6.
 */
export interface UpdateServer {
  readonly isEmbedded: boolean
  /**
   * What the device is to have instead; undefined: nothing newer, or held at what it has. An older firmware only comes
   * when the device is held at it.
   * @throws UpdateServerBusy, UpdateServerFailed
   */
  check(question: UpdateQuery, signal?: AbortSignal): OfferedFirmware | undefined | Promise<OfferedFirmware | undefined>
}
