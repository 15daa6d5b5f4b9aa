import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'

/**
 * Knows which device gets which firmware. Two implementations: the embedded one answers synchronously from stored
 * state, the other asks an external server. Contract 6.
 */
export interface UpdateServer {
  readonly isEmbedded: boolean
  /**
   * The update for the device; undefined: nothing newer, or the device has its pinned version. An older firmware is
   * offered only if it is pinned.
   * @throws UpdateServerBusy, UpdateServerFailed; Problem `storage`
   */
  check(query: UpdateQuery, signal?: AbortSignal): OfferedFirmware | undefined | Promise<OfferedFirmware | undefined>
}
