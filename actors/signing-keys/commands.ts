import type { SigningKeysState, StoredSigningKey } from '#actors/signing-keys/state'
import { defaultTenant } from '#actors/tenant/state'
import type { ActorAddress } from '#runtime/actor'
import type { ReminderDue } from '#runtime/system'

/** Commands of the signing keys. */
export type SigningKeysCommand = AddSigningKey | ReminderDue

/**
 * The new key signs from now on. The others verify until `retireOthersAt`, Unix ms, when the last token signed by them
 * has expired.
 */
export interface AddSigningKey {
  readonly type: 'add'
  readonly key: Pick<StoredSigningKey, 'kid' | 'sealed' | 'fingerprint'>
  readonly retireOthersAt: number
}

/** One set of keys signs the tokens of all tenants. */
export const signingKeysAddress: ActorAddress<SigningKeysState, SigningKeysCommand> = {
  kind: 'signing_keys',
  tenant: defaultTenant,
  id: 'signing_keys',
}
