import type { Activation } from '#runtime/activation'
import { type ActorAddress, addressKey } from '#runtime/actor'
import type { EventPacker } from '#runtime/journal'

/**
 * The progress of the stream of a tenant: offsets taken by turns, committed, and released to listeners. released ≤
 * committed ≤ taken.
 */
export class StreamHead<Event> {
  readonly tenant: string
  taken: number
  committed: number
  released: number
  /** Events of the open commit; the first has offset `taken - open.length + 1`. */
  open: Event[] = []
  /** The events of `open`, packed; undefined if there are none. */
  packer: EventPacker<Event> | undefined
  readonly redo = new RedoQueue<Event>()
  /** The number of changes without an event. Because of them, two reads at the same offset may differ. */
  silentChanges = 0
  /** All bytes ever taken; only differences are meaningful. Estimated first, corrected after the commit. */
  bytesTaken = 0
  /** The part of `bytesTaken` in the open commit. */
  bytesOpen = 0

  constructor(tenant: string, last: number) {
    this.tenant = tenant
    this.taken = last
    this.committed = last
    this.released = last
  }

  /** Leaves out one offset. @throws Error if events of the stream are not released yet */
  skipOffset(): void {
    if (this.released < this.taken) throw new Error(`events of ${this.tenant} are not released yet`)
    this.skipTo(this.taken + 1)
  }

  /** Continues after this offset. The events up to it are stored, and the gate does not release them. */
  skipTo(offset: number): void {
    this.taken = offset
    this.committed = offset
    this.released = offset
  }
}

/**
 * The actors of one tenant with events that no snapshot includes, ordered by their first such event. Redo begins at the
 * head of the queue, so the head is saved first. Actors are saved only as fast as the stream grows: the time of a
 * restart depends on the number of events to apply, and a later snapshot includes more of them.
 *
 * A linked list of the activations themselves, because it contains nearly every device that reports. An ended
 * activation keeps its place until the next one is created from snapshot and events.
 */
class RedoQueue<Event> {
  #first: Activation<Event> | undefined
  #last: Activation<Event> | undefined
  #size = 0
  readonly #dead = new Map<string, Activation<Event>>()

  get size(): number {
    return this.#size
  }

  /** The actor whose events must be applied first; its activation may have ended. */
  get first(): Activation<Event> | undefined {
    return this.#first
  }

  /** Queues an actor at its first event since its last snapshot. Does nothing for its later events. */
  add(activation: Activation<Event>, from: number, bytesBefore: number): void {
    if (activation.isUnsaved) return
    activation.unsavedFrom = from
    activation.bytesBefore = bytesBefore
    activation.queuedBefore = this.#last
    if (this.#last) this.#last.queuedBehind = activation
    else this.#first = activation
    this.#last = activation
    this.#size++
  }

  remove(activation: Activation<Event>): void {
    if (!activation.isUnsaved) return
    const { queuedBefore, queuedBehind } = activation
    if (queuedBefore) queuedBefore.queuedBehind = queuedBehind
    else this.#first = queuedBehind
    if (queuedBehind) queuedBehind.queuedBefore = queuedBefore
    else this.#last = queuedBefore
    this.#size--
    leave(activation)
  }

  /** A snapshot of the actor was stored. `awake`: its activation, if it has one. */
  saved(address: ActorAddress, awake: Activation<Event> | undefined): void {
    const activation = awake ?? this.#dead.get(addressKey(address))
    if (!activation) return
    this.#dead.delete(addressKey(address))
    this.remove(activation)
  }

  /** The activation ended, its events are still unsaved. */
  died(activation: Activation<Event>): void {
    if (activation.isUnsaved) this.#dead.set(addressKey(activation.address), activation)
  }

  /** The first event to apply for a new activation of an actor; undefined if its snapshot includes everything. */
  unsavedFrom(address: ActorAddress): number | undefined {
    return this.#dead.size === 0 ? undefined : this.#dead.get(addressKey(address))?.unsavedFrom
  }

  /** A new activation takes the place of an ended one. */
  succeed(activation: Activation<Event>): void {
    if (this.#dead.size === 0) return
    const key = addressKey(activation.address)
    const dead = this.#dead.get(key)
    if (!dead) return
    this.#dead.delete(key)
    const { queuedBefore, queuedBehind } = dead
    activation.unsavedFrom = dead.unsavedFrom
    activation.bytesBefore = dead.bytesBefore
    activation.queuedBefore = queuedBefore
    activation.queuedBehind = queuedBehind
    if (queuedBefore) queuedBefore.queuedBehind = activation
    else this.#first = activation
    if (queuedBehind) queuedBehind.queuedBefore = activation
    else this.#last = activation
    leave(dead)
  }

  /** Empties the queue. Also removes the links, because one referenced activation would keep all others in memory. */
  clear(): void {
    for (let next = this.#first; next; ) {
      const { queuedBehind } = next
      leave(next)
      next = queuedBehind
    }
    this.#first = undefined
    this.#last = undefined
    this.#size = 0
    this.#dead.clear()
  }

  /** The first offset that a restarted server must apply again; `next` if nothing is unsaved. */
  redoFrom(next: number): number {
    return this.#first?.unsavedFrom ?? next
  }
}

function leave<Event>(activation: Activation<Event>): void {
  activation.unsavedFrom = 0
  activation.queuedBefore = undefined
  activation.queuedBehind = undefined
}
