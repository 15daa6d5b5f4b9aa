import type { SigningKeysCommand } from '#actors/signing-keys/commands'
import type { SigningKeysState } from '#actors/signing-keys/state'
import { defaultTenant } from '#actors/tenant/address'
import type { ActorAddress } from '#runtime/actor'

/** One set of keys signs the tokens of all tenants. */
export const signingKeysAddress: ActorAddress<SigningKeysState, SigningKeysCommand> = {
  kind: 'signing_keys',
  tenant: defaultTenant,
  id: 'signing_keys',
}
