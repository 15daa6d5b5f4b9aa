import type { ShownSession } from '#access/requests'
import { accountAddress } from '#actors/account/commands'
import { isOver, sessionAddress } from '#actors/session/state'
import type { Entry } from '#model/entry'
import type { System } from '#runtime/system'

export interface SessionListParts {
  readonly system: System<Entry>
}

/** Lists and ends the sessions of a user. `user`: id without `crn#user:`. Contract 2, Sessions. */
export class SessionList {
  readonly #parts: SessionListParts

  constructor(parts: SessionListParts) {
    this.#parts = parts
  }

  /** The newest session is first. `current`: id of the session that sends the request. */
  async list(tenant: string, user: string, current?: string): Promise<readonly ShownSession[]> {
    const { system } = this.#parts
    const now = system.world.now()
    const shown = system.peek(accountAddress(tenant, user)).sessions.flatMap(([id]): ShownSession[] => {
      const stored = system.peek(sessionAddress(tenant, id)).session
      if (!stored || isOver(stored, now)) return []
      const { createdAt, lastUsedAt, address, agent, scheme } = stored
      return [{ id, createdAt, lastUsedAt, address, agent, scheme, isCurrent: id === current }]
    })
    await system.gate.whenStored()
    return shown.reverse()
  }

  /** @throws Problem `not_found` if the user has no such session */
  async end(tenant: string, user: string, session: string): Promise<void> {
    await this.#parts.system.ask(accountAddress(tenant, user), { type: 'end_sessions', only: session })
  }

  async endAll(tenant: string, user: string): Promise<void> {
    await this.#parts.system.ask(accountAddress(tenant, user), { type: 'end_sessions' })
  }
}
