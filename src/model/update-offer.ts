/** What an update server is asked and says, whichever it is. Contract 6. */

/** Is there another firmware for this one of a device? */
export interface UpdateQuestion {
  readonly tenant: string
  readonly device: string
  readonly project: string
  /** What it has now. */
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  /** Nobody asked for it by hand: rollouts have a say then. */
  readonly isAutomatic: boolean
}

/** A firmware that a device may have. `sha256` in lower-case hex, `size` in bytes. */
export interface OfferedFirmware {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly sha256: string
  readonly size: number
  /** The device is held at it, also if it is older. */
  readonly isPinned: boolean
  /** Null: an image of ours; its URL is made when it is sent. */
  readonly url: string | null
  /** By which rollout it comes, if by one. */
  readonly rollout: { readonly id: string; readonly maxAttempts: number } | null
}

/** The update server cannot answer now: 429 or 503. */
export class UpdateServerBusy extends Error {
  readonly retryAfterMs: number | undefined

  constructor(message: string, retryAfterMs?: number) {
    super(message)
    this.name = 'UpdateServerBusy'
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * The update server failed, was not to be reached, or said what means nothing. The message is for whoever asked; what it
 * came from is the cause, for the log.
 */
export class UpdateServerFailed extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'UpdateServerFailed'
  }
}
