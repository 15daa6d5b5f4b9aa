import { Problem } from '#model/problem'
import type { Asker } from '#runtime/actor'
import { Histogram } from '#runtime/histogram'
import type { EventPacker, Journal, SealedCommit, StreamPart } from '#runtime/journal'
import type { StreamHead } from '#runtime/stream-head'
import type { World } from '#runtime/world'

/** Something to be said once what it rests on is stored; or, when that failed, to be refused. */
export interface Say {
  leave(): void
  refuse(problem: Problem): void
}

/** An asker of one turn that carries its answer through the gate itself: one object for each frequent turn, not two. */
export abstract class QueuedAsker implements Asker, Say {
  answer: unknown = undefined
  effects: readonly (() => void)[] | undefined = undefined

  abstract answered(answer: unknown): void
  abstract refused(problem: Problem): void

  leave(): void {
    this.answered(this.answer)
    if (this.effects) for (const effect of this.effects) effect()
  }

  refuse(problem: Problem): void {
    this.refused(problem)
  }
}

/** Receives every event after its commit, in offset order. */
export interface EventListener<Event> {
  /** Called before a run of `released`. */
  beforeRelease(): void
  /** Returns the amount of work, 1 being little: the loop is given back after a fixed amount. */
  released(head: StreamHead<Event>, event: Event, offset: number): number
  /** `released` threw at `head.released`: part of the listeners may have that event, and later ones follow. */
  lost(head: StreamHead<Event>): void
}

export interface GateOptions<Event> {
  readonly world: World
  readonly journal: Journal<Event>
  readonly listener: EventListener<Event>
  /** Adds what should rest with this commit: snapshots whose turn it is. */
  readonly beforeSeal: (now: number) => void
  /** A commit failed: everything that waited has been refused, and nothing is taken until `reopen`. */
  readonly failed: (error: unknown) => void
  /** Something that leaves threw: a bug, to be said loudly; the others still leave. */
  readonly bug: (error: unknown) => void
  /** Bytes of events and records that wait to be stored or published, above which turns that would record are refused. */
  readonly uncommittedBytesMax: number
}

interface Commit<Event> {
  readonly heads: Set<StreamHead<Event>>
  readonly records: Map<string, Uint8Array | null>
  readonly says: Say[]
  bytes: number
  /** World.monotonic of when it was handed to the journal. */
  writtenAt: number
}

interface Released<Event> {
  readonly parts: readonly {
    readonly head: StreamHead<Event>
    readonly firstOffset: number
    readonly events: readonly Event[]
    readonly packer: EventPacker<Event> | undefined
    readonly bytes: number
  }[]
  readonly says: readonly Say[]
  readonly bytes: number
  part: number
  index: number
  say: number
}

/** What leaves in one go before the loop is given back: nothing may hold it for longer than about this. */
const sliceMs = 2
/**
 * Steps between two looks at the clock, unless they were much work. Sockets are written to when the loop goes on, or before
 * the 33rd message of a topic: ending with a multiple of 32 writes to none of them for less than that (with 1 000 sockets
 * and 16 steps, events cost a third more).
 */
const stepsPerLook = 32
const workPerLook = 128

/** Seconds: a commit takes a millisecond or two; what is seen above a tenth is a disk in trouble. */
export const commitSecondsBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
export const commitEventsBounds = [0, 1, 4, 16, 64, 256, 1024, 4096, 16_384]

/**
 * The one gate. Turns put in what they take and what they say; commits run one after another, each starting when the
 * last one ended, carrying all that has come since; what they hold leaves in offset order when they are stored. A failed
 * commit turns everything that waited into refusals.
 */
export class Gate<Event> {
  readonly #options: GateOptions<Event>
  readonly #released: Released<Event>[] = []
  #inFlightParts: Released<Event>['parts'] = []
  #open: Commit<Event> = emptyCommit()
  #inFlight: Commit<Event> | undefined
  #isScheduled = false
  #isReleasing = false
  #isClosed = false
  #waitingBytes = 0
  #afterSeal: (() => void)[] = []
  /** Commits sealed so far. */
  sealedCount = 0
  /** How often what waited was taken back. */
  closedCount = 0
  /** Of commits that were written: how long that took, and how many events were in each. */
  readonly commitSeconds = new Histogram(commitSecondsBounds)
  readonly commitEvents = new Histogram(commitEventsBounds)
  /** `bytes`: of events, as stored. */
  readonly counts = { bytes: 0, records: 0, failed: 0 }

  constructor(options: GateOptions<Event>) {
    this.#options = options
  }

  /** Whether turns may record: the store takes writes. */
  get isOpen(): boolean {
    return !this.#isClosed
  }

  get isFull(): boolean {
    return this.#waitingBytes > this.#options.uncommittedBytesMax
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Whether everything taken so far is stored and has left. */
  get isQuiet(): boolean {
    return isEmpty(this.#open) && !this.#inFlight && this.#released.length === 0
  }

  /**
   * Takes the next offsets of a stream for these events.
   * @throws Error for an event that cannot be packed; then none of them is taken
   */
  take(head: StreamHead<Event>, events: readonly Event[], bytes: number): void {
    if (this.#isClosed) throw new Error('nothing is taken while the store takes no writes')
    head.packer ??= this.#options.journal.packer()
    head.packer.add(events)
    for (let index = 0; index < events.length; index++) head.open.push(events[index] as Event)
    head.taken += events.length
    head.bytesTaken += bytes
    head.bytesOpen += bytes
    this.#open.heads.add(head)
    this.#open.bytes += bytes
    this.#waitingBytes += bytes
    this.#schedule()
  }

  /** The next commit says where redo of this stream begins, though it may hold none of its events. */
  touch(head: StreamHead<Event>): void {
    this.#open.heads.add(head)
    this.#schedule()
  }

  /** @throws RangeError for a value of no bytes: see {@link Operation} */
  put(recordKey: string, value: Uint8Array | null): void {
    if (this.#isClosed) throw new Error('nothing is put while the store takes no writes')
    if (value?.byteLength === 0) throw new RangeError(`a value of no bytes: ${recordKey}`)
    const { records } = this.#open
    const replaced = records.get(recordKey)
    const bytes = recordBytes(recordKey, value) - (replaced === undefined ? 0 : recordBytes(recordKey, replaced))
    records.set(recordKey, value)
    this.#open.bytes += bytes
    this.#waitingBytes += bytes
    this.#schedule()
  }

  /** Runs when the commit that is open now has been sealed: what it puts is in the next one. */
  afterSeal(task: () => void): void {
    this.#afterSeal.push(task)
    this.#schedule()
  }

  /** A record that waits to be stored: null when it waits to be deleted, undefined when none waits. */
  waiting(recordKey: string): Uint8Array | null | undefined {
    const open = this.#open.records.get(recordKey)
    return open === undefined ? this.#inFlight?.records.get(recordKey) : open
  }

  /** Events of a stream that are taken and not stored yet. */
  *waitingEvents(head: StreamHead<Event>): Iterable<{ offset: number; event: Event }> {
    const inFlight = this.#inFlightParts.find((part) => part.head === head)?.events ?? []
    let offset = head.taken - head.open.length - inFlight.length
    for (const event of inFlight) yield { offset: ++offset, event }
    for (const event of head.open) yield { offset: ++offset, event }
  }

  /** Says something after all that was taken so far. At once when nothing waits. */
  say(say: Say): void {
    if (this.isQuiet) {
      say.leave()
      return
    }
    this.#open.says.push(say)
    this.#schedule()
  }

  /**
   * Fulfilled when everything taken so far is stored and has left; rejected when it could not be stored. Who looked at
   * states since an earlier moment gives the `closedCount` of then: what he saw may have been taken back since.
   */
  settled(closedCount = this.closedCount): Promise<void> {
    if (closedCount !== this.closedCount) return Promise.reject(new Problem('storage'))
    return new Promise((leave, refuse) => this.say({ leave, refuse }))
  }

  /** Nothing is taken and nothing stored until `reopen`. What waited is refused. */
  close(problem: Problem): void {
    this.#isClosed = true
    this.closedCount++
    const refused = [...(this.#inFlight?.says ?? []), ...this.#open.says]
    this.#waitingBytes -= (this.#inFlight?.bytes ?? 0) + this.#open.bytes
    for (const head of new Set([...(this.#inFlight?.heads ?? []), ...this.#open.heads])) {
      head.open = []
      head.packer = undefined
      head.bytesOpen = 0
      head.taken = head.committed
    }
    this.#inFlight = undefined
    this.#inFlightParts = []
    this.#open = emptyCommit()
    this.#afterSeal = []
    for (const say of refused) say.refuse(problem)
  }

  reopen(): void {
    this.#isClosed = false
    if (!isEmpty(this.#open)) this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight) return
    this.#isScheduled = true
    this.#options.world.soon(() => {
      this.#isScheduled = false
      this.#seal()
    })
  }

  #seal(): void {
    if (this.#inFlight) return
    const now = this.#options.world.now()
    if (!this.#isClosed) this.#options.beforeSeal(now)
    if (isEmpty(this.#open)) return
    const commit = this.#open
    this.#open = emptyCommit()
    this.#inFlight = commit
    this.sealedCount++
    this.#inFlightParts = [...commit.heads].map((head) => {
      const { open: events, packer, bytesOpen: bytes } = head
      head.open = []
      head.packer = undefined
      head.bytesOpen = 0
      return { head, firstOffset: head.taken - events.length + 1, events, packer, bytes }
    })
    const afterSeal = this.#afterSeal
    this.#afterSeal = []
    for (const task of afterSeal) task()
    if (commit.heads.size === 0 && commit.records.size === 0) {
      this.#committed(commit, [])
      return
    }
    commit.writtenAt = this.#options.world.monotonic()
    const sealed: SealedCommit<Event> = {
      now,
      streams: this.#inFlightParts.map(partOf),
      records: commit.records,
    }
    let written: Promise<readonly number[]>
    try {
      written = this.#options.journal.write(sealed)
    } catch (error) {
      written = Promise.reject(error)
    }
    written.then(
      (bytes) => {
        if (this.#inFlight !== commit) return
        this.#count(commit)
        this.#committed(commit, bytes)
      },
      (error) => {
        if (this.#inFlight === commit) this.#fail(error)
      },
    )
  }

  #committed(commit: Commit<Event>, bytes: readonly number[]): void {
    const parts = this.#inFlightParts
    this.#inFlight = undefined
    this.#inFlightParts = []
    for (const [index, { head, firstOffset, events, bytes: estimated }] of parts.entries()) {
      head.committed = firstOffset + events.length - 1
      head.bytesTaken += (bytes[index] ?? 0) - estimated
      this.counts.bytes += bytes[index] ?? 0
    }
    this.#released.push({ parts, says: commit.says, bytes: commit.bytes, part: 0, index: 0, say: 0 })
    this.#seal()
    this.#release()
  }

  #count({ writtenAt, records }: Commit<Event>): void {
    this.commitSeconds.observe((this.#options.world.monotonic() - writtenAt) / 1000)
    this.commitEvents.observe(this.#inFlightParts.reduce((sum, { events }) => sum + events.length, 0))
    this.counts.records += records.size
  }

  #fail(error: unknown): void {
    this.counts.failed++
    this.close(new Problem('storage'))
    this.#options.failed(error)
  }

  /** Lets go what is stored, in order, and gives the loop back every two milliseconds. */
  #release(): void {
    if (this.#isReleasing) return
    this.#isReleasing = true
    const { world, listener } = this.#options
    const started = world.monotonic()
    listener.beforeRelease()
    let steps = 0
    let work = 0
    for (let next = this.#released[0]; next; next = this.#released[0]) {
      const done = this.#stepSafely(next)
      if (done === 0) {
        this.#released.shift()
        this.#waitingBytes -= next.bytes
      }
      work += done
      if (++steps < stepsPerLook && work < workPerLook) continue
      steps = 0
      work = 0
      if (world.monotonic() - started > sliceMs) break
    }
    this.#isReleasing = false
    if (this.#released.length > 0) world.soon(() => this.#release())
    else if (!isEmpty(this.#open)) this.#schedule()
  }

  #stepSafely(released: Released<Event>): number {
    const part = released.parts[released.part]
    try {
      return this.#step(released, part)
    } catch (error) {
      this.#options.bug(error)
      if (part) this.#options.listener.lost(part.head)
      return 1
    }
  }

  /** One event or one say, and how much work it was; 0 when there is nothing left. */
  #step(released: Released<Event>, part: Released<Event>['parts'][number] | undefined): number {
    if (part) {
      const offset = part.firstOffset + released.index
      const event = part.events[released.index++]
      if (released.index >= part.events.length) {
        released.part++
        released.index = 0
      }
      if (event !== undefined) {
        part.head.released = offset
        return Math.max(1, this.#options.listener.released(part.head, event, offset))
      }
      return 1
    }
    const say = released.says[released.say++]
    if (!say) return 0
    say.leave()
    return 1
  }
}

function recordBytes(recordKey: string, value: Uint8Array | null): number {
  return recordKey.length + (value?.byteLength ?? 0)
}

function emptyCommit<Event>(): Commit<Event> {
  return { heads: new Set(), records: new Map(), says: [], bytes: 0, writtenAt: 0 }
}

function isEmpty<Event>(commit: Commit<Event>): boolean {
  return commit.heads.size === 0 && commit.records.size === 0 && commit.says.length === 0
}

function partOf<Event>(part: Released<Event>['parts'][number]): StreamPart<Event> {
  const { head, firstOffset, events, packer } = part
  return { tenant: head.tenant, firstOffset, events, packer, redoFrom: head.redo.redoFrom(head.taken + 1) }
}
