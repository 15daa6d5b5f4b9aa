import type { DeliveryCommand } from '#actors/delivery/commands'
import type { DeliveryState } from '#actors/delivery/state'
import type { ActorAddress } from '#runtime/actor'

/** The mail requests of one function. */
export function deliveryAddress(tenant: string, fn: string): ActorAddress<DeliveryState, DeliveryCommand> {
  return { kind: 'delivery', tenant, id: fn }
}

/** Functions with stored requests: entries `<functionId>`. */
export const deliveringIndex = 'delivering'
