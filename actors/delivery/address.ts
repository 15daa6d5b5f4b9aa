import type { DeliveryCommand } from '#actors/delivery/commands'
import type { DeliveryState } from '#actors/delivery/state'
import type { ActorAddress } from '#runtime/actor'

/** What a function asked to be told. */
export function deliveryAddress(tenant: string, fn: string): ActorAddress<DeliveryState, DeliveryCommand> {
  return { kind: 'delivery', tenant, id: fn }
}

/** Functions of which requests are kept: entries `<functionId>`. */
export const deliveringIndex = 'delivering'
