import { subscriberAddress } from '#actors/subscriber/commands'
import { type Tell, tell } from '#runtime/actor'

/** Sent in the commit that deletes a user or a key that acts as one; removes all subscriptions. `id` is the bare id. */
export function eraseSubscriber(tenant: string, id: string): Tell {
  return tell(subscriberAddress(tenant, id), { type: 'erase' })
}
