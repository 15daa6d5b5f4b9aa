import type { ActorAddress, ActorDefinition } from '#runtime/actor'

/** A definition whose types are known only to itself. */
export type AnyDefinition<Event> = ActorDefinition<unknown, unknown, Event>

/**
 * An actor's body in memory. Whoever keeps a reference asks `isAlive` before use: a turn that throws, a failed commit
 * and idleness each end an activation, and the next question wakes another one.
 *
 * There are as many as there are devices that report: so its parts are fields of its own and no objects.
 */
export class Activation<Event> {
  readonly definition: AnyDefinition<Event>
  readonly tenant: string
  readonly id: string
  state: unknown
  isAlive = true
  /** Something changed that neither an event nor a record holds: the next snapshot does. */
  isChanged = false
  /** The last event applied; 0 before the first. */
  lastOffset: number
  #touchedAtS = 0
  /** Its first event that no snapshot holds; 0 when every one is held. Kept by `RedoQueue`, as are the others below. */
  unsavedFrom = 0
  /** The stream's length in bytes, as estimated, when it was queued. */
  bytesBefore = 0
  /** Its neighbours in the queue. */
  queuedBefore: Activation<Event> | undefined = undefined
  queuedBehind: Activation<Event> | undefined = undefined

  constructor(definition: AnyDefinition<Event>, { tenant, id }: ActorAddress, state: unknown, lastOffset: number) {
    this.definition = definition
    this.tenant = tenant
    this.id = id
    this.state = state
    this.lastOffset = lastOffset
  }

  /** World.monotonic of the last turn, rounded down to a second: in whole seconds it is no object of its own. */
  get touchedAtMs(): number {
    return this.#touchedAtS * 1000
  }

  set touchedAtMs(ms: number) {
    this.#touchedAtS = (ms / 1000) | 0
  }

  get address(): ActorAddress {
    return { kind: this.definition.kind, tenant: this.tenant, id: this.id }
  }

  /** Whether its snapshot lags behind its events. */
  get isUnsaved(): boolean {
    return this.unsavedFrom > 0
  }
}
