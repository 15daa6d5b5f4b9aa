import type { ActorAddress } from '#runtime/actor'

/** What became of a tenant's mails, in numbers. */
export function outboxAddress(tenant: string): ActorAddress {
  return { kind: 'outbox', tenant, id: 'outbox' }
}
