import type { Activation } from '#runtime/activation'
import type { Gate } from '#runtime/gate'
import type { Registry } from '#runtime/registry'
import type { StreamHead } from '#runtime/stream-head'

/** What a start has to apply again at most, per tenant. */
export interface RedoLimits {
  readonly eventsMax: number
  readonly bytesMax: number
}

/** 256 k events are applied in about a second. */
export const redoLimits: RedoLimits = { eventsMax: 256 * 1024, bytesMax: 64 * 1024 * 1024 }

/**
 * Who waits is saved evenly, each after this share of the limit: as many as wait, spread over so many events. Without it
 * actors that began to report together would be saved together for ever, and everybody would wait for those commits (seen:
 * 10 000 devices at half of full speed, acknowledged 55 ms late in 1 of 100 cases).
 */
const spreadRatio = 0.75

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
    const growth = this.#shareOf(head.taken - redo.takenBefore, head.bytesTaken - redo.bytesBefore)
    // What was thought too big is put right when it is stored: until that is made good nothing grew.
    if (growth > 0) {
      redo.owed += (redo.size * growth) / spreadRatio
      redo.takenBefore = head.taken
      redo.bytesBefore = head.bytesTaken
    }
    for (let unsaved = redo.first; unsaved; unsaved = redo.first) {
      const share = this.#shareOf(head.taken - unsaved.unsavedFrom, head.bytesTaken - unsaved.bytesBefore)
      if (redo.owed < 1 && share < 1) return
      try {
        this.save(unsaved.isAlive ? unsaved : this.#registry.wake(unsaved.address))
        // Else it would be saved for ever, and nothing else would run.
        if (head.redo.first === unsaved) throw new Error(`${nameOf(unsaved)} was saved and is still queued`)
      } catch (error) {
        this.#failed(error)
        return
      }
      redo.owed = Math.max(0, redo.owed - 1)
    }
    redo.owed = 0
  }

  /** How much that is of what a start may have to apply again. */
  #shareOf(events: number, bytes: number): number {
    return Math.max(events / this.#limits.eventsMax, bytes / this.#limits.bytesMax)
  }

  /** Puts the snapshot as it is now into the open commit. Throws for a dead one: another stands in its place in the queue. */
  save(activation: Activation<Event>): void {
    if (!activation.isAlive) throw new Error(`${nameOf(activation)} is dead, and can't be saved`)
    const head = this.#registry.head(activation.tenant)
    this.#gate.put(this.#registry.recordKey(activation.address, ''), this.#registry.snapshot(activation))
    this.#gate.touch(head)
    head.redo.remove(activation)
    activation.isChanged = false
  }
}

function nameOf<Event>({ definition, id }: Activation<Event>): string {
  return `${definition.kind} ${id}`
}
