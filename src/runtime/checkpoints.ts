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
 * Bytes of snapshots in one commit, after which the others wait for the next one: packing takes about 2 ms a MiB. The last
 * one may be larger.
 */
export const snapshotBytesMax = 2 * 1024 * 1024

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
    let bytes = 0
    for (const activation of this.#asked) {
      if (bytes >= snapshotBytesMax) {
        this.#goOn(this.#registry.head(activation.tenant))
        break
      }
      this.#asked.delete(activation)
      if (activation.isAlive) bytes += this.save(activation)
    }
    for (const head of this.#registry.heads()) bytes += this.#putDue(head, snapshotBytesMax - bytes)
  }

  /** Answers how many bytes it put. */
  #putDue(head: StreamHead<Event>, bytesMax: number): number {
    let bytes = 0
    const { redo } = head
    const pace = this.#paceOf(head)
    if (!redo.first) {
      pace.lookAway(head.taken, head.bytesTaken)
      return bytes
    }
    pace.look(head.taken, head.bytesTaken, redo.size, stretchSince(head, redo.first))
    for (let unsaved = redo.first; unsaved; unsaved = redo.first) {
      if (!pace.isDue(stretchSince(head, unsaved))) break
      if (bytes >= bytesMax) {
        this.#goOn(head)
        return bytes
      }
      try {
        bytes += this.save(unsaved.isAlive ? unsaved : this.#registry.wake(unsaved.address))
        // Else it would be saved for ever, and nothing else would run.
        if (redo.first === unsaved) throw new Error(`${nameOf(unsaved)} was saved and is still queued`)
      } catch (error) {
        this.#failed(error)
        return bytes
      }
      pace.saved()
    }
    pace.rest()
    return bytes
  }

  /** The next commit begins when this one is stored, even if no turn adds to it. */
  #goOn(head: StreamHead<Event>): void {
    this.#gate.afterSeal(() => this.#gate.touch(head))
  }

  #paceOf(head: StreamHead<Event>): RedoPace {
    let pace = this.#paces.get(head)
    if (!pace) {
      pace = new RedoPace(this.#limits, head.taken - head.open.length)
      this.#paces.set(head, pace)
    }
    return pace
  }

  /**
   * Puts the snapshot as it is now into the open commit; answers how many bytes it has. Throws for a dead one: another
   * stands in its place in the queue.
   */
  save(activation: Activation<Event>, snapshot = this.#registry.snapshot(activation)): number {
    if (!activation.isAlive) throw new Error(`${nameOf(activation)} is dead, and can't be saved`)
    const head = this.#registry.head(activation.tenant)
    this.#gate.put(this.#registry.recordKey(activation.address, ''), snapshot)
    this.#gate.touch(head)
    head.redo.remove(activation)
    activation.isChanged = false
    return snapshot?.length ?? 0
  }
}

/** What came since an actor's first event that no snapshot holds. */
function stretchSince<Event>(head: StreamHead<Event>, { unsavedFrom, bytesBefore }: Activation<Event>): Stretch {
  return { events: head.taken - unsavedFrom, bytes: head.bytesTaken - bytesBefore }
}

function nameOf<Event>({ definition, id }: Activation<Event>): string {
  return `${definition.kind} ${id}`
}
