import type { OutboxCommand } from '#actors/outbox/commands'
import type { OutboxState } from '#actors/outbox/state'
import type { ActorAddress } from '#runtime/actor'

/** The mail statistics of a tenant. */
export function outboxAddress(tenant: string): ActorAddress<OutboxState, OutboxCommand> {
  return { kind: 'outbox', tenant, id: 'outbox' }
}
