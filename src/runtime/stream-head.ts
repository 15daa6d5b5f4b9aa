import type { EventPacker } from '#runtime/journal'
import { RedoQueue } from '#runtime/redo-queue'

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
