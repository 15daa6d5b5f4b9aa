import type { OutboxCommand } from '#actors/outbox/commands'
import type { OutboxState } from '#actors/outbox/state'
import type { ActorAddress } from '#runtime/actor'

/** What became of a tenant's mails, in numbers. */
export function outboxAddress(tenant: string): ActorAddress<OutboxState, OutboxCommand> {
  return { kind: 'outbox', tenant, id: 'outbox' }
}
