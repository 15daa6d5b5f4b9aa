import type { Activation } from '#runtime/activation'
import { type ActorAddress, addressKey } from '#runtime/actor'
import type { EventPacker } from '#runtime/journal'

/**
 * How far a tenant's stream has come: offsets taken by turns, committed, and released to whoever listens.
 * released ≤ committed ≤ taken.
 */
export class StreamHead<Event> {
  readonly tenant: string
  taken: number
  committed: number
  released: number
  /** Events taken for the commit that is open; the first has offset `taken - open.length + 1`. */
  open: Event[] = []
  /** The same events, packed. */
  packer: EventPacker<Event> | undefined
  readonly redo = new RedoQueue<Event>()
  /** Changes that no event tells: what was read before may look otherwise though no offset says so. */
  untold = 0
  /** All bytes ever taken; only differences mean something. Estimated at first, corrected when they are stored. */
  bytesTaken = 0
  /** How many of them are the open commit's. */
  bytesOpen = 0

  constructor(tenant: string, last: number) {
    this.tenant = tenant
    this.taken = last
    this.committed = last
    this.released = last
  }

  /** One offset is never given. Nothing of the stream may wait to be stored or to leave. */
  leaveOut(): void {
    if (this.released < this.taken) throw new Error(`events of ${this.tenant} are on their way`)
    this.skipTo(this.taken + 1)
  }

  /** All events up to this offset are stored, and none of them is released here. */
  skipTo(offset: number): void {
    this.taken = offset
    this.committed = offset
    this.released = offset
  }
}

/**
 * The actors of one tenant with events that no snapshot holds, by the first one. The head of the queue is where redo
 * begins, so it is the head that is saved first, and only as fast as the stream grows: what bounds a start is the number
 * of events to apply again, and a snapshot taken later covers more of them.
 *
 * A list whose links are the activations themselves: nearly every device that reports stands in it. One that died keeps
 * its place until it is made anew, from snapshot and events.
 */
class RedoQueue<Event> {
  #first: Activation<Event> | undefined
  #last: Activation<Event> | undefined
  #size = 0
  readonly #dead = new Map<string, Activation<Event>>()

  get size(): number {
    return this.#size
  }

  /** Whose events must be applied again first; it may be dead. */
  get first(): Activation<Event> | undefined {
    return this.#first
  }

  /** Called after every event of a redo actor; only the first since its last snapshot counts. */
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

  /** Its body is no more, its events are still unsaved. */
  died(activation: Activation<Event>): void {
    if (activation.isUnsaved) this.#dead.set(addressKey(activation.address), activation)
  }

  /** From which event on an actor must be made anew whose body died; undefined when its snapshot holds everything. */
  unsavedFrom(address: ActorAddress): number | undefined {
    return this.#dead.size === 0 ? undefined : this.#dead.get(addressKey(address))?.unsavedFrom
  }

  /** A new body takes the place of one that died. */
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

  /** Nobody's events need to be applied again. The links go too: one activation kept somewhere must not keep them all. */
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

  /** The first offset that must be applied again at a start; `next` when nothing is unsaved. */
  redoFrom(next: number): number {
    return this.#first?.unsavedFrom ?? next
  }
}

function leave<Event>(activation: Activation<Event>): void {
  activation.unsavedFrom = 0
  activation.queuedBefore = undefined
  activation.queuedBehind = undefined
}
