import type { ActorAddress } from '#runtime/actor'

export function sessionAddress(tenant: string, session: string): ActorAddress {
  return { kind: 'session', tenant, id: session }
}
