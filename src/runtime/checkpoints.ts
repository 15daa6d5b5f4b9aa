import type { Activation } from '#runtime/activation'
import type { Gate } from '#runtime/gate'
import { type RedoLimits, RedoPace, type Stretch } from '#runtime/redo-pace'
import type { Registry } from '#runtime/registry'
import type { StreamHead } from '#runtime/stream-head'

/**
 * 256 k events are applied in about half a second. At 32 times as many, of a million devices with ten changes in each
 * event, a start takes 13 to 15 s on two cores; at half as many a change costs a tenth more while the server runs.
 */
export const redoLimits: RedoLimits = {
  eventsMax: 256 * 1024,
  bytesMax: 64 * 1024 * 1024,
  growth: { eventsPerActor: 8, timesMax: 32 },
}

/**
 * Decides which snapshots go into the next commit: those at the head of the redo queue, as fast as the stream grows, and
 * those somebody asked for because he wants to forget the actor.
 */
export class Checkpoints<Event> {
  readonly #registry: Registry<Event>
  readonly #gate: Gate<Event>
  readonly #limits: RedoLimits
  readonly #failed: (error: unknown) => void
  readonly #asked = new Set<Activation<Event>>()
  readonly #paces = new WeakMap<StreamHead<Event>, RedoPace>()

  constructor(registry: Registry<Event>, gate: Gate<Event>, limits: RedoLimits, failed: (error: unknown) => void) {
    this.#registry = registry
    this.#gate = gate
    this.#limits = limits
    this.#failed = failed
  }

  /** Saves this one with the next commit. */
  ask(activation: Activation<Event>): void {
    this.#asked.add(activation)
    this.#gate.touch(this.#registry.head(activation.tenant))
  }

  clear(): void {
    this.#asked.clear()
  }

  /** Puts the snapshots that are due into the commit about to be sealed. */
  put(): void {
    for (const activation of this.#asked) if (activation.isAlive) this.save(activation)
    this.#asked.clear()
    for (const head of this.#registry.heads()) this.#putDue(head)
  }

  #putDue(head: StreamHead<Event>): void {
    const { redo } = head
    const pace = this.#paceOf(head)
    if (!redo.first) {
      pace.lookAway(head.taken, head.bytesTaken)
      return
    }
    pace.look(head.taken, head.bytesTaken, redo.size, stretchSince(head, redo.first))
    for (let unsaved = redo.first; unsaved; unsaved = redo.first) {
      if (!pace.isDue(stretchSince(head, unsaved))) break
      try {
        this.save(unsaved.isAlive ? unsaved : this.#registry.wake(unsaved.address))
        // Else it would be saved for ever, and nothing else would run.
        if (redo.first === unsaved) throw new Error(`${nameOf(unsaved)} was saved and is still queued`)
      } catch (error) {
        this.#failed(error)
        return
      }
      pace.saved()
    }
    pace.rest()
  }

  #paceOf(head: StreamHead<Event>): RedoPace {
    let pace = this.#paces.get(head)
    if (!pace) {
      pace = new RedoPace(this.#limits, head.taken - head.open.length)
      this.#paces.set(head, pace)
    }
    return pace
  }

  /** Puts the snapshot as it is now into the open commit. Throws for a dead one: another stands in its place in the queue. */
  save(activation: Activation<Event>, snapshot = this.#registry.snapshot(activation)): void {
    if (!activation.isAlive) throw new Error(`${nameOf(activation)} is dead, and can't be saved`)
    const head = this.#registry.head(activation.tenant)
    this.#gate.put(this.#registry.recordKey(activation.address, ''), snapshot)
    this.#gate.touch(head)
    head.redo.remove(activation)
    activation.isChanged = false
  }
}

/** What came since an actor's first event that no snapshot holds. */
function stretchSince<Event>(head: StreamHead<Event>, { unsavedFrom, bytesBefore }: Activation<Event>): Stretch {
  return { events: head.taken - unsavedFrom, bytes: head.bytesTaken - bytesBefore }
}

function nameOf<Event>({ definition, id }: Activation<Event>): string {
  return `${definition.kind} ${id}`
}
