import { subscriberAddress } from '#actors/subscriber/address'
import { type Tell, tell } from '#runtime/actor'

/** Told in the commit in which a user, or a key that acts as one, ends: all that he is subscribed to goes. `id`: his. */
export function erasing(tenant: string, id: string): Tell {
  return tell(subscriberAddress(tenant, id), { type: 'erase' })
}
