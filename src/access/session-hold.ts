import { sessionAddress } from '#actors/session/address'
import { usedEveryMs } from '#actors/session/session'
import { isOver, type SessionState, type StoredSession } from '#actors/session/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { Activation } from '#runtime/activation'
import type { System } from '#runtime/system'

export interface SessionHoldParts {
  readonly system: System<Entry>
}

/** From where a session is used; only asked when that is noted. */
export interface UsingRequest {
  readonly seen: { readonly address: string }
}

/** A session at hand: looked up again only when its body was put away, after minutes of nobody using it. */
export class SessionHold {
  readonly tenant: string
  readonly id: string
  readonly #parts: SessionHoldParts
  #activation: Activation<Entry> | undefined

  constructor(parts: SessionHoldParts, tenant: string, id: string) {
    this.#parts = parts
    this.tenant = tenant
    this.id = id
  }

  /** Undefined: it is over. @throws Problem `storage` */
  get stored(): StoredSession | undefined {
    const { session } = this.#body.state as SessionState
    return session && !isOver(session, this.#parts.system.world.now()) ? session : undefined
  }

  /** A request came with one of its tokens. While the store takes no writes that is not remembered. */
  use({ lastUsedAt }: StoredSession, request: UsingRequest): void {
    const { system } = this.#parts
    if (system.world.now() - lastUsedAt < usedEveryMs || !system.gate.isOpen) return
    const { address } = request.seen
    // The connection ended while a signature was checked, and its address is lost.
    if (address === '') return
    system.turnOf(this.#body, { type: 'use', address }, nobodyAsks)
  }

  get #body(): Activation<Entry> {
    const { system } = this.#parts
    if (!this.#activation?.isAlive || !system.isServing) {
      if (!system.isServing) throw new Problem('storage')
      this.#activation = system.registry.wake(sessionAddress(this.tenant, this.id))
      this.#activation.touchedAtMs = system.world.monotonic()
    }
    return this.#activation
  }
}

const nobodyAsks = { answered: () => {}, refused: () => {} }
