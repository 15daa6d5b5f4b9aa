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

/** Whoever waits longer than this share of the limit is saved, and all who wait are within that share of it. */
const youngRatio = 0.25
const spreadRatio = 0.7
/** By how much fewer are thought to wait with each limit that the stream grows by. */
const waneRatio = 0.1
/** By how much the limit comes down while the stream grows by one. */
const descentRatio = 1 / 16

/**
 * How fast the actors of one stream are saved: evenly, so many for each event that all who wait come before their limit.
 * Actors that began to report together would else be saved together for ever, and everybody would wait for those commits
 * (seen: 10 000 devices at half of full speed, acknowledged 55 ms late in 1 of 100 cases).
 *
 * The pace is that of the most who waited, until those are saved: the fewer are left, the slower it would be, and the last
 * of a million would reach the limit together. For the same reason the limit comes down slowly.
 */
export class RedoPace {
  readonly #limits: RedoLimits
  /** How far the stream was when this was looked at last. */
  #taken: number
  #bytes = 0
  /** How many times the limits hold; 0 before the first look. */
  #times = 0
  #waiting = 0
  /** Snapshots that are due, the next one in part. */
  #owed = 0

  constructor(limits: RedoLimits, taken: number) {
    this.#limits = limits
    this.#taken = taken
  }

  /** The stream has come so far, and so many wait. `oldest`: how much came since the first event of who waits longest. */
  look(taken: number, bytes: number, waiting: number, oldest: Stretch): void {
    const { eventsPerActor, timesMax } = this.#limits.growth ?? { eventsPerActor: 0, timesMax: 1 }
    const wanted = Math.max(1, Math.min((waiting * eventsPerActor) / this.#limits.eventsMax, timesMax))
    if (this.#times === 0) this.#times = firstTimes(this.#shareOf(oldest), timesMax)
    if (this.#share(oldest) < youngRatio) {
      this.#times = this.#shareOf(oldest) / youngRatio
      this.#waiting = waiting
    }
    const grown = this.#shareOf({ events: taken - this.#taken, bytes: bytes - this.#bytes })
    this.#times = Math.max(wanted, this.#times - Math.max(grown, 0) * descentRatio)
    // What was thought too big is put right when it is stored: until that is made good nothing grew.
    if (grown <= 0) return
    this.#taken = taken
    this.#bytes = bytes
    const growth = grown / this.#times
    this.#waiting = Math.max(waiting, this.#waiting * (1 - growth * waneRatio))
    this.#owed += (this.#waiting * growth) / spreadRatio
  }

  /** The stream has come so far, and nobody waits. */
  lookAway(taken: number, bytes: number): void {
    this.#times = 1
    this.#taken = taken
    this.#bytes = bytes
    this.#waiting = 0
    this.#owed = 0
  }

  /** Whether one who waits since then is to be saved now. */
  isDue(since: Stretch): boolean {
    const share = this.#share(since)
    return share >= 1 || (share >= youngRatio && this.#owed >= 1)
  }

  saved(): void {
    this.#owed = Math.max(0, this.#owed - 1)
  }

  /** Nobody else is due: what is owed beyond the next one is forgiven. */
  rest(): void {
    this.#owed = Math.min(this.#owed, 1)
  }

  #share(stretch: Stretch): number {
    return this.#shareOf(stretch) / this.#times
  }

  #shareOf({ events, bytes }: Stretch): number {
    return Math.max(events / this.#limits.eventsMax, bytes / this.#limits.bytesMax)
  }
}

/** What an earlier process left is saved evenly, too, as far as the limit lets it. */
function firstTimes(left: number, timesMax: number): number {
  return Math.max(1, left, Math.min(left / spreadRatio, timesMax))
}

export interface Stretch {
  readonly events: number
  readonly bytes: number
}

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
