import type { ActorStates } from '#access/actor-states'
import type { ShownSession } from '#access/requests'
import { isOver } from '#actors/session/state'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

export interface ShownSessionsParts {
  readonly system: System<Entry>
  readonly states: ActorStates
}

/** The sessions of a user, who is named by the bare id. Contract 2, Sessions. */
export class ShownSessions {
  readonly #parts: ShownSessionsParts

  constructor(parts: ShownSessionsParts) {
    this.#parts = parts
  }

  /** The last that began comes first. `current`: id of the session that asks. */
  async list(tenant: string, user: string, current?: string): Promise<readonly ShownSession[]> {
    const { states, system } = this.#parts
    const now = system.world.now()
    const shown = states.account(tenant, user).sessions.flatMap(([id]): ShownSession[] => {
      const stored = states.session(tenant, id)
      if (!stored || isOver(stored, now)) return []
      const { createdAt, lastUsedAt, address, agent, scheme } = stored
      return [{ id, createdAt, lastUsedAt, address, agent, scheme, isCurrent: id === current }]
    })
    await system.gate.settled()
    return shown.reverse()
  }

  /** @throws Problem `not_found` for a session of another user */
  async end(tenant: string, user: string, session: string): Promise<void> {
    await this.#parts.states.askAccount(tenant, user, { type: 'end_sessions', only: session })
  }

  async endAll(tenant: string, user: string): Promise<void> {
    await this.#parts.states.askAccount(tenant, user, { type: 'end_sessions' })
  }
}
