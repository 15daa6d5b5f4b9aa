import type { StoredReply } from '#actors/idempotency/state'

/** What the keeper of an `Idempotency-Key` can be asked. Contract 1.10. */
export type IdempotencyCommand = BeginKeyed | FinishKeyed | { readonly type: 'forget' | 'expire' }

/** A request came with the key. `print`: hash of all that says what it asks for. Answered with `Begun`. */
export interface BeginKeyed {
  readonly type: 'begin'
  readonly print: string
  /** The user may store no more answers: a new key is refused, a known one means what it did. */
  readonly isFull: boolean
}

/**
 * - `open`: to be done, with what it makes derived from `seed`, 16 bytes. `isRepeated`: it was begun before, and may have
 *   been done. - `answered`: done, this was said. - `other`: the key stands for another request.
 * - `full`: the key is new, and was not stored.
 */
export type Begun =
  | { readonly outcome: 'open'; readonly seed: Uint8Array; readonly isRepeated: boolean }
  | { readonly outcome: 'answered'; readonly reply: StoredReply }
  | { readonly outcome: 'other' }
  | { readonly outcome: 'full' }

/** It was done: whoever comes again hears this. */
export interface FinishKeyed {
  readonly type: 'finish'
  readonly reply: StoredReply
}
