import type { SessionCommand } from '#actors/session/commands'
import type { SessionState } from '#actors/session/state'
import type { ActorAddress } from '#runtime/actor'

export function sessionAddress(tenant: string, session: string): ActorAddress<SessionState, SessionCommand> {
  return { kind: 'session', tenant, id: session }
}
