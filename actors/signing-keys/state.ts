import { defaultTenant } from '#actors/tenant/state'
import type { ActorAddress, CommandOf } from '#runtime/actor'
import type { Reminded } from '#runtime/system'

/** The keys that tokens are signed with, by `kid`. */
export interface SigningKeysState {
  readonly keys: Map<string, StoredSigningKey>
}

export interface StoredSigningKey {
  readonly kid: string
  /** The private key, encrypted with the key file. */
  readonly sealed: Uint8Array
  /**
   * Identifies the key file. With another key file the key cannot be decrypted, and that must be distinguishable from
   * damage.
   */
  readonly fingerprint: Uint8Array
  /** Unix ms. */
  readonly createdAt: number
  /** When the last token it signed has expired; null while it signs. */
  readonly retiresAt: number | null
}

/** The key that signs. */
export function signingKeyOf({ keys }: SigningKeysState): StoredSigningKey | undefined {
  return [...keys.values()].find(({ retiresAt }) => retiresAt === null)
}

/** Commands of the signing keys. */
export interface SigningKeysCommands extends Reminded {
  /**
   * The new key signs from now on. The key that signed before verifies until `retireOthersAt`, Unix ms, when the last
   * token that it signed has expired.
   */
  add: {
    readonly key: Pick<StoredSigningKey, 'kid' | 'sealed' | 'fingerprint'>
    readonly retireOthersAt: number
  }
}

export type SigningKeysCommand = CommandOf<SigningKeysCommands>

/** One set of keys signs the tokens of all tenants. */
export const signingKeysAddress: ActorAddress<SigningKeysState, SigningKeysCommand> = {
  kind: 'signing_keys',
  tenant: defaultTenant,
  id: 'signing_keys',
}
