import { hash } from 'node:crypto'
import type { IdempotencyCommand } from '#actors/idempotency/commands'
import type { IdempotencyState } from '#actors/idempotency/state'
import type { ActorAddress } from '#runtime/actor'

/**
 * What one user keeps under one `Idempotency-Key`. By a hash: a key may hold any visible character, and two users choose
 * the same one. `user`: CRN of the user, or of the API key that acts as one; neither holds a line break, nor does a key.
 */
export function idempotencyAddress(
  tenant: string,
  user: string,
  key: string,
): ActorAddress<IdempotencyState, IdempotencyCommand> {
  return idempotencyAddressOf(tenant, hash('sha256', `${user}\n${key}`, 'base64url'))
}

/** The same by its id, as the index has it. */
export function idempotencyAddressOf(tenant: string, id: string): ActorAddress<IdempotencyState, IdempotencyCommand> {
  return { kind: 'idempotency', tenant, id }
}
