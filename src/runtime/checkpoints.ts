import type { Activation } from '#runtime/activation'
import type { Gate } from '#runtime/gate'
import type { Registry } from '#runtime/registry'
import type { StreamHead } from '#runtime/stream-head'

/** Limits of the events of one tenant that a restarted server must apply again. */
export interface RedoLimits {
  readonly eventsMax: number
  readonly bytesMax: number
  /**
   * With many actors these limits leave few events for each, and nearly every event would need a snapshot. So both
   * limits are multiplied, at most by `timesMax`, until they allow `eventsPerActor` for each unsaved actor.
   */
  readonly growth?: { readonly eventsPerActor: number; readonly timesMax: number }
}

/**
 * An actor may be saved when the stream has grown by `youngRatio` of the limit since its first unsaved event. The rate
 * saves all waiting actors while the stream grows by `spreadRatio` of the limit.
 */
const youngRatio = 0.25
const spreadRatio = 0.7
/** How much the assumed number of waiting actors decreases each time the stream grows by the limit. */
const waneRatio = 0.1
/** How much the factor of the limits decreases while the stream grows by one limit without its factor. */
const descentRatio = 1 / 16

/**
 * Spreads the snapshots of one stream evenly: a number of them for each event, so that every actor is saved before its
 * limit. Otherwise actors that began to report together would always be saved together, and every commit would wait for
 * them (measured: 10 000 devices at half of the full rate, p99 was 55 ms higher).
 *
 * The pace follows the highest number of waiting actors until those are saved. If the pace followed the number of
 * remaining actors, it would become slower and slower, and the last of a million would reach the limit together. For
 * the same reason the limit decreases slowly.
 */
export class RedoPace {
  readonly #limits: RedoLimits
  /** The length of the stream at the last update, in events and in bytes. */
  #taken: number
  #bytes = 0
  /** The present factor of the limits; 0 before the first update. */
  #times = 0
  /** The assumed number of waiting actors. */
  #waiting = 0
  /** Snapshots due now, with a fraction. */
  #owed = 0

  constructor(limits: RedoLimits, taken: number) {
    this.#limits = limits
    this.#taken = taken
  }

  /**
   * Updates the pace. `taken` and `bytes` are the length of the stream, `waiting` is the number of waiting actors, and
   * `oldest` is the growth of the stream since the first unsaved event of the actor that waits longest.
   */
  advance(taken: number, bytes: number, waiting: number, oldest: StreamLength): void {
    const { eventsPerActor, timesMax } = this.#limits.growth ?? { eventsPerActor: 0, timesMax: 1 }
    const wanted = Math.max(1, Math.min((waiting * eventsPerActor) / this.#limits.eventsMax, timesMax))
    if (this.#times === 0) this.#times = firstTimes(this.#shareOf(oldest), timesMax)
    if (this.#share(oldest) < youngRatio) {
      this.#times = this.#shareOf(oldest) / youngRatio
      this.#waiting = waiting
    }
    const grown = this.#shareOf({ events: taken - this.#taken, bytes: bytes - this.#bytes })
    this.#times = Math.max(wanted, this.#times - Math.max(grown, 0) * descentRatio)
    // Estimated bytes are corrected after a commit. Until the stream exceeds them again, it did not grow.
    if (grown <= 0) return
    this.#taken = taken
    this.#bytes = bytes
    const growth = grown / this.#times
    this.#waiting = Math.max(waiting, this.#waiting * (1 - growth * waneRatio))
    this.#owed += (this.#waiting * growth) / spreadRatio
  }

  /** Updates the pace while no actor waits. */
  advanceIdle(taken: number, bytes: number): void {
    this.#times = 1
    this.#taken = taken
    this.#bytes = bytes
    this.#waiting = 0
    this.#owed = 0
  }

  /** Whether an actor must be saved now. `since`: the growth of the stream since its first unsaved event. */
  isDue(since: StreamLength): boolean {
    const share = this.#share(since)
    return share >= 1 || (share >= youngRatio && this.#owed >= 1)
  }

  saved(): void {
    this.#owed = Math.max(0, this.#owed - 1)
  }

  /** No other actor is due: drops the backlog of snapshots beyond the next one. */
  dropBacklog(): void {
    this.#owed = Math.min(this.#owed, 1)
  }

  #share(stretch: StreamLength): number {
    return this.#shareOf(stretch) / this.#times
  }

  #shareOf({ events, bytes }: StreamLength): number {
    return Math.max(events / this.#limits.eventsMax, bytes / this.#limits.bytesMax)
  }
}

/** Actors left by an earlier process are also saved evenly, as far as the limit permits. */
function firstTimes(left: number, timesMax: number): number {
  return Math.max(1, left, Math.min(left / spreadRatio, timesMax))
}

export interface StreamLength {
  readonly events: number
  readonly bytes: number
}

/**
 * Applying 256 k events takes about half a second. With a factor of 32, a million devices and ten changes in each
 * event, a restart takes 13 to 15 s on two cores; with half of that factor, each change costs 10 % more at run time.
 */
export const redoLimits: RedoLimits = {
  eventsMax: 256 * 1024,
  bytesMax: 64 * 1024 * 1024,
  growth: { eventsPerActor: 8, timesMax: 32 },
}

/**
 * Limit for the snapshots in one commit, which the last of them may exceed; the others wait for the next commit.
 * Packing takes about 2 ms per MiB.
 */
export const snapshotBytesMax = 2 * 1024 * 1024

/**
 * Chooses the snapshots of the next commit: those at the head of the redo queue, as fast as the stream grows, and those
 * requested by `ask` because the actor is idle.
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

  /** Requests a snapshot in the next commit. */
  ask(activation: Activation<Event>): void {
    this.#asked.add(activation)
    this.#gate.touch(this.#registry.head(activation.tenant))
  }

  clear(): void {
    this.#asked.clear()
  }

  /** Adds the due snapshots to the commit before it is sealed. */
  put(): void {
    let bytes = 0
    for (const activation of this.#asked) {
      if (bytes >= snapshotBytesMax) {
        this.#continue(this.#registry.head(activation.tenant))
        break
      }
      this.#asked.delete(activation)
      if (activation.isAlive) bytes += this.save(activation)
    }
    for (const head of this.#registry.heads()) bytes += this.#putDue(head, snapshotBytesMax - bytes)
  }

  /** Returns the number of bytes added. */
  #putDue(head: StreamHead<Event>, bytesMax: number): number {
    let bytes = 0
    const { redo } = head
    const pace = this.#paceOf(head)
    if (!redo.first) {
      pace.advanceIdle(head.taken, head.bytesTaken)
      return bytes
    }
    pace.advance(head.taken, head.bytesTaken, redo.size, lengthSince(head, redo.first))
    for (let unsaved = redo.first; unsaved; unsaved = redo.first) {
      if (!pace.isDue(lengthSince(head, unsaved))) break
      if (bytes >= bytesMax) {
        this.#continue(head)
        return bytes
      }
      try {
        bytes += this.save(unsaved.isAlive ? unsaved : this.#registry.wake(unsaved.address))
        // Without this check, the loop would save the same actor for ever.
        if (redo.first === unsaved) throw new Error(`${nameOf(unsaved)} was saved and is still queued`)
      } catch (error) {
        this.#failed(error)
        return bytes
      }
      pace.saved()
    }
    pace.dropBacklog()
    return bytes
  }

  /** The next commit begins when this one is stored, even without a turn. */
  #continue(head: StreamHead<Event>): void {
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
   * Adds the present snapshot to the open commit, and returns its size in bytes. Throws for an ended activation,
   * because another one may have its place in the queue.
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

/** The growth of the stream since the first event of the actor that no snapshot includes. */
function lengthSince<Event>(head: StreamHead<Event>, { unsavedFrom, bytesBefore }: Activation<Event>): StreamLength {
  return { events: head.taken - unsavedFrom, bytes: head.bytesTaken - bytesBefore }
}

function nameOf<Event>({ definition, id }: Activation<Event>): string {
  return `${definition.kind} ${id}`
}
