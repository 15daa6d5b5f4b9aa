import type { AccountCommand } from '#actors/account/commands'
import type { AccountState } from '#actors/account/state'
import type { ActorAddress } from '#runtime/actor'

/** `user` is the bare id, because a name can pass to another user. */
export function accountAddress(tenant: string, user: string): ActorAddress<AccountState, AccountCommand> {
  return { kind: 'account', tenant, id: user }
}
