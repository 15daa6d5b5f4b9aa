import type { ActorAddress, ActorDefinition } from '#runtime/actor'
import { addressKey } from '#runtime/actor'

/** A definition whose types are known only to itself. */
export type AnyDefinition<Event> = ActorDefinition<unknown, unknown, Event>

/**
 * An actor's body in memory. Whoever keeps a reference asks `isAlive` before use: a turn that throws, a failed commit
 * and idleness each end an activation, and the next question wakes another one.
 */
export class Activation<Event> {
  readonly definition: AnyDefinition<Event>
  readonly address: ActorAddress
  readonly key: string
  state: unknown
  isAlive = true
  /** Something changed that neither an event nor a record holds: the next snapshot does. */
  isChanged = false
  /** It is in the redo queue: there are events that no snapshot holds. */
  isUnsaved = false
  /** The last event applied; 0 before the first. */
  lastOffset: number
  /** World.monotonic of the last turn. */
  touchedAtMs = 0

  constructor(definition: AnyDefinition<Event>, address: ActorAddress, state: unknown, lastOffset: number) {
    this.definition = definition
    this.address = address
    this.key = addressKey(address)
    this.state = state
    this.lastOffset = lastOffset
  }
}
