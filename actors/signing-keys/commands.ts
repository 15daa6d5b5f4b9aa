import type { StoredSigningKey } from '#actors/signing-keys/state'
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
