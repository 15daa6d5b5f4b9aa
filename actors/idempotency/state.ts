/** One `Idempotency-Key` of one user. A key that was never used, or has expired, has an actor too, without a record. */
export interface IdempotencyState {
  readonly id: string
  stored: StoredKey | undefined
}

export interface StoredKey {
  /** Hash of the request's content. */
  readonly print: string
  /** 16 random bytes. Generated ids of the request derive from them, also when it is repeated. */
  readonly seed: Uint8Array
  /** Unix ms. */
  readonly begunAt: number
  /** Null until there is a final answer. */
  readonly reply: StoredReply | null
}

/** An answer that can be sent again. */
export interface StoredReply {
  readonly status: number
  readonly location: string | null
  /** As text; empty for none. */
  readonly body: string
}

export const answerRecord = 'answer'

/** How long a key stays assigned to its request. Contract 1.10. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

/** True from the moment of expiry on. */
export function isOver({ begunAt }: StoredKey, now: number): boolean {
  return now >= begunAt + keyLifetimeMs
}
