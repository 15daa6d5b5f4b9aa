/** One `Idempotency-Key` of one user. */
export interface IdempotencyState {
  readonly id: string
  /** Undefined: the key was never used, or its record was removed. */
  stored: StoredKey | undefined
}

export interface StoredKey {
  /** Hash of the request's content. */
  readonly print: string
  /** 16 random bytes, from which the ids are derived that the request creates: a repeated request creates the same. */
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
  /** Text; empty if the answer has no body. */
  readonly body: string
}

export const answerRecord = 'answer'

/** How long a key stays assigned to its request. Contract 1.10. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

/** True from the moment of expiry on. */
export function isOver({ begunAt }: StoredKey, now: number): boolean {
  return now >= begunAt + keyLifetimeMs
}
