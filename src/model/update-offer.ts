/** Queries to an update server and its answers, the same for every server. Contract 6. */

/** A query whether there is another firmware for a device. */
export interface UpdateQuery {
  readonly tenant: string
  readonly device: string
  readonly project: string
  /** The present version. */
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  /** True if no user requested the update: then rollouts apply. */
  readonly isAutomatic: boolean
}

/** A firmware that a device may install. `sha256` in lower-case hex, `size` in bytes. */
export interface OfferedFirmware {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly sha256: string
  readonly size: number
  /** The device is pinned to this version, even if it is older. */
  readonly isPinned: boolean
  /** Where the device downloads the image. Null: in this server's store; the URL is made when the offer is sent. */
  readonly url: string | null
  /** The rollout that offers the firmware; null: no rollout does. */
  readonly rollout: { readonly id: string; readonly maxAttempts: number } | null
}

/** The update server can't answer now (429 or 503), or too many queries wait for it. */
export class UpdateServerBusy extends Error {
  override readonly name = 'UpdateServerBusy'
  readonly retryAfterMs: number | undefined

  constructor(message: string, retryAfterMs?: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * The update server failed, could not be reached, or sent an invalid answer. The message is for the caller; the
 * original error is the cause, for the log.
 */
export class UpdateServerFailed extends Error {
  override readonly name = 'UpdateServerFailed'
}
