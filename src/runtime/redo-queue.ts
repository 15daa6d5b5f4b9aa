import type { Activation } from '#runtime/activation'
import type { ActorAddress } from '#runtime/actor'

/** An actor whose snapshot lags behind its events. */
export interface Unsaved<Event> {
  readonly address: ActorAddress
  /** Its first event that no snapshot holds. */
  readonly from: number
  /** The stream's length in bytes, as estimated, when it was queued. */
  readonly bytesBefore: number
  /** Undefined once the activation died: it is made anew from snapshot and events when asked for. */
  activation: Activation<Event> | undefined
}

/**
 * The actors of one tenant with unsaved events, by their first one. The head of the queue is where redo begins, so it is
 * the head that is saved first, and only as fast as the stream grows: what bounds a start is the number of events to
 * apply again, and a snapshot taken later covers more of them.
 */
export class RedoQueue<Event> {
  readonly #unsaved = new Map<string, Unsaved<Event>>()

  get size(): number {
    return this.#unsaved.size
  }

  get(key: string): Unsaved<Event> | undefined {
    return this.#unsaved.get(key)
  }

  /** Called after every event of a redo actor; only the first since its last snapshot counts. */
  add(activation: Activation<Event>, from: number, bytesBefore: number): void {
    if (activation.isUnsaved) return
    activation.isUnsaved = true
    this.#unsaved.set(activation.key, { address: activation.address, from, bytesBefore, activation })
  }

  remove(activation: Activation<Event>): void {
    activation.isUnsaved = false
    this.#unsaved.delete(activation.key)
  }

  /** An actor is made anew: its unsaved events are its own again. */
  adopt(activation: Activation<Event>): void {
    const unsaved = this.#unsaved.get(activation.key)
    if (!unsaved) return
    unsaved.activation = activation
    activation.isUnsaved = true
  }

  clear(): void {
    this.#unsaved.clear()
  }

  /** The first offset that must be applied again at a start; `next` when nothing is unsaved. */
  redoFrom(next: number): number {
    for (const first of this.#unsaved.values()) return first.from
    return next
  }

  /** In the order in which they must be saved. */
  [Symbol.iterator](): Iterator<Unsaved<Event>> {
    return this.#unsaved.values()
  }
}
