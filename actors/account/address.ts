import type { ActorAddress } from '#runtime/actor'

/** `user` is the bare id: names may change hands. */
export function accountAddress(tenant: string, user: string): ActorAddress {
  return { kind: 'account', tenant, id: user }
}
