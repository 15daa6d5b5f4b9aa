import type { Activation } from '#runtime/activation'
import type { Gate } from '#runtime/gate'
import type { Registry } from '#runtime/registry'
import type { StreamHead } from '#runtime/stream-head'

/** What a start has to apply again at most, per tenant. */
export interface RedoLimits {
  readonly eventsMax: number
  readonly bytesMax: number
  /**
   * With many actors that is little for each, and nearly every event would be followed by a snapshot. So both limits are
   * as many times higher as it takes for each unsaved actor to have `eventsPerActor`, but at most `timesMax` times.
   */
  readonly growth?: { readonly eventsPerActor: number; readonly timesMax: number }
}

/**
 * 256 k events are applied in about a second. At eight times as many, of a million devices with ten changes in each event,
 * a start takes 17 s on two busy cores: nearly every device is woken for it.
 */
export const redoLimits: RedoLimits = {
  eventsMax: 256 * 1024,
  bytesMax: 64 * 1024 * 1024,
  growth: { eventsPerActor: 4, timesMax: 8 },
}

/**
 * Saving begins at three quarters. From there on all that waits is spread over the events that are left up to the limit:
 * actors that began to report together would else be saved together, and everybody would wait for that commit (seen: 10 000
 * devices at once, acknowledged 50 ms late).
 */
const startRatio = 0.75

/**
 * By how much limits come down while the stream grows by one. Not at once with the actors they are for: the fewer are
 * unsaved, the more would be due, and the last of a million would be saved together.
 */
const descentRatio = 0.25

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
    const growth = this.#shareOf(head.open.length, head.bytesOpen)
    const times = this.#timesNow(head, growth)
    const countMax = Math.ceil((head.redo.size * growth) / times / (1 - startRatio))
    let count = 0
    for (let unsaved = head.redo.first; unsaved; unsaved = head.redo.first) {
      const share = this.#shareSince(head, unsaved) / times
      if (share < startRatio || (share < 1 && count >= countMax)) return
      try {
        this.save(unsaved.isAlive ? unsaved : this.#registry.wake(unsaved.address))
      } catch (error) {
        this.#failed(error)
        return
      }
      count++
    }
  }

  /** How many times the limits hold for this stream now. */
  #timesNow(head: StreamHead<Event>, growth: number): number {
    const { redo } = head
    const { eventsPerActor, timesMax } = this.#limits.growth ?? { eventsPerActor: 0, timesMax: 1 }
    if (head.redoTimes === 0 && redo.first) {
      // What an earlier process left is spread from now on, too.
      const left = this.#shareSince(head, redo.first)
      head.redoTimes = Math.max(left, Math.min(left / startRatio, timesMax))
    }
    const wanted = Math.min((redo.size * eventsPerActor) / this.#limits.eventsMax, timesMax)
    head.redoTimes = Math.max(1, wanted, head.redoTimes - growth * descentRatio)
    return head.redoTimes
  }

  #shareSince(head: StreamHead<Event>, { unsavedFrom, bytesBefore }: Activation<Event>): number {
    return this.#shareOf(head.taken - unsavedFrom, head.bytesTaken - bytesBefore)
  }

  /** How much that is of the limits. */
  #shareOf(events: number, bytes: number): number {
    return Math.max(events / this.#limits.eventsMax, bytes / this.#limits.bytesMax)
  }

  /** Puts the snapshot as it is now into the open commit. */
  save(activation: Activation<Event>): void {
    const head = this.#registry.head(activation.tenant)
    this.#gate.put(this.#registry.recordKey(activation.address, ''), this.#registry.snapshot(activation))
    this.#gate.touch(head)
    head.redo.remove(activation)
    activation.isChanged = false
  }
}
