import { hash } from 'node:crypto'
import type { IdempotencyState, StoredReply } from '#actors/idempotency/state'
import type { ActorAddress } from '#runtime/actor'

/** Commands of an `Idempotency-Key`. Contract 1.10. */
export type IdempotencyCommand = BeginKeyed | FinishKeyed | { readonly type: 'forget' | 'expire' }

/** A request came with the key. `print` is a hash of the request's content. Answered with `Begun`. */
export interface BeginKeyed {
  readonly type: 'begin'
  readonly print: string
  /** The user may store no more answers: a new key is refused, a known key still works. */
  readonly isFull: boolean
}

/**
 * - `open`: to be executed; generated ids derive from `seed`, 16 bytes. `isRepeated`: it was begun before and may have
 *   been executed.
 * - `answered`: executed; this was the answer.
 * - `other`: the key belongs to another request.
 * - `full`: the key is new and was not stored.
 */
export type Begun =
  | { readonly outcome: 'open'; readonly seed: Uint8Array; readonly isRepeated: boolean }
  | { readonly outcome: 'answered'; readonly reply: StoredReply }
  | { readonly outcome: 'other' }
  | { readonly outcome: 'full' }

/** The request was executed; repetitions get this answer. */
export interface FinishKeyed {
  readonly type: 'finish'
  readonly reply: StoredReply
}

/**
 * The stored answer for one `Idempotency-Key` of one user. Addressed by a hash: a key may contain any visible
 * character, and two users may choose the same key. `user` is the CRN of the user, or of the API key that acts as a
 * user; neither contains a line break, nor does a key.
 */
export function idempotencyAddress(
  tenant: string,
  user: string,
  key: string,
): ActorAddress<IdempotencyState, IdempotencyCommand> {
  return idempotencyAddressOf(tenant, hash('sha256', `${user}\n${key}`, 'base64url'))
}

/** The same address by id, as stored in the index. */
export function idempotencyAddressOf(tenant: string, id: string): ActorAddress<IdempotencyState, IdempotencyCommand> {
  return { kind: 'idempotency', tenant, id }
}
