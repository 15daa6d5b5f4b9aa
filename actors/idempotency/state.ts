/** One `Idempotency-Key` of one user. Of one that never came, or is over, there is an actor too: it has nothing. */
export interface IdempotencyState {
  readonly id: string
  stored: StoredKey | undefined
}

/** Its one record. */
export interface StoredKey {
  /** Hash of all that says what was asked for. */
  readonly print: string
  /** 16 bytes of chance: what the request makes is derived from them, the first time and when it is repeated. */
  readonly seed: Uint8Array
  /** Unix ms. */
  readonly begunAt: number
  /** Null while nothing final was said. */
  readonly reply: StoredReply | null
}

/** An answer, as it is given again. */
export interface StoredReply {
  readonly status: number
  readonly location: string | null
  /** As text; empty for none. */
  readonly body: string
}

export const answerRecord = 'answer'

/** For so long after it first came a key stands for its request. Contract 1.10. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000

/** From the moment on at which it is over. */
export function isOver({ begunAt }: StoredKey, now: number): boolean {
  return now >= begunAt + keyLifetimeMs
}
