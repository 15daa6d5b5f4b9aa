import { subscriberAddress } from '#actors/subscriber/address'
import type { EraseSubscriber } from '#actors/subscriber/commands'
import type { Tell } from '#runtime/actor'

/** Told in the commit in which a user, or a key that acts as one, ends: all that he is subscribed to goes. `id`: his. */
export function erasing(tenant: string, id: string): Tell {
  return { to: subscriberAddress(tenant, id), command: { type: 'erase' } satisfies EraseSubscriber }
}
