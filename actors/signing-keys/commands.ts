import type { StoredSigningKey } from '#actors/signing-keys/state'
import type { ReminderDue } from '#runtime/system'

/** What the signing keys can be asked or told. */
export type SigningKeysCommand = AddSigningKey | ReminderDue

/** From now on this one signs; the others verify until `retireOthersAt`, Unix ms, when what they signed has ended. */
export interface AddSigningKey {
  readonly type: 'add'
  readonly key: Pick<StoredSigningKey, 'kid' | 'sealed' | 'fingerprint'>
  readonly retireOthersAt: number
}
