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

/** Saving begins at three quarters, so that the hard limit is met only when a commit can't keep up. */
const startRatio = 0.75
/** Snapshots in one commit below the hard limit: what a commit may cost on top of its events. */
const perCommitMax = 512

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
    const { eventsMax, bytesMax } = this.#limits
    let count = 0
    for (let unsaved = head.redo.first; unsaved; unsaved = head.redo.first) {
      const events = head.taken - unsaved.unsavedFrom
      const bytes = head.bytesTaken - unsaved.bytesBefore
      if (events < eventsMax * startRatio && bytes < bytesMax * startRatio) return
      if (count >= perCommitMax && events < eventsMax && bytes < bytesMax) return
      try {
        this.save(unsaved.isAlive ? unsaved : this.#registry.wake(unsaved.address))
      } catch (error) {
        this.#failed(error)
        return
      }
      count++
    }
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
