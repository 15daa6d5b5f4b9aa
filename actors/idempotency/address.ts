import { hash } from 'node:crypto'
import type { IdempotencyCommand } from '#actors/idempotency/commands'
import type { IdempotencyState } from '#actors/idempotency/state'
import type { ActorAddress } from '#runtime/actor'

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
