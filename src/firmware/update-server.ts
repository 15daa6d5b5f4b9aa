import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'

/**
 * Knows which device gets which firmware. The embedded one answers synchronously from the state of the projects; the
 * other one asks an external server. Contract 6.
 */
export interface UpdateServer {
  readonly isEmbedded: boolean
  /**
   * The update for the device; undefined: none, for example because the device has the newest or its pinned version. An
   * older firmware is offered only if it is pinned.
   * @throws UpdateServerBusy, UpdateServerFailed; Problem `storage`
   */
  check(query: UpdateQuery, signal?: AbortSignal): OfferedFirmware | undefined | Promise<OfferedFirmware | undefined>
}
