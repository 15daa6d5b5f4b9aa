import { Problem } from '#model/problem'
import { Histogram } from '#runtime/histogram'
import type { EventPacker, Journal, SealedCommit, StreamPart } from '#runtime/journal'
import type { StreamHead } from '#runtime/stream-head'
import type { World } from '#runtime/world'

/** Called after a commit, or after its failure. */
export interface CommitCallback {
  committed(): void
  failed(problem: Problem): void
}

/** Receives every event after its commit, in offset order. */
export interface EventListener<Event> {
  /** Called before a series of calls of `released`. */
  beforeRelease(): void
  /**
   * Returns the amount of work, in small units: the more work, the sooner the gate checks whether to yield to the loop.
   */
  released(head: StreamHead<Event>, event: Event, offset: number): number
  /** `released` threw at `head.released`. Some listeners may have received the event; later events still follow. */
  lost(head: StreamHead<Event>): void
}

export interface GateOptions<Event> {
  readonly world: World
  readonly journal: Journal<Event>
  readonly listener: EventListener<Event>
  /** Called before a commit is sealed, to add the due snapshots. */
  readonly beforeSeal: () => void
  /** A commit failed: callbacks that waited for a commit have failed, and no change is accepted until `reopen`. */
  readonly failed: (error: unknown) => void
  /** A callback or listener threw, which is a bug. The others still run. */
  readonly bug: (error: unknown) => void
  /**
   * Limit for bytes that are not stored or published yet. Above it, the system refuses changes that do not follow from
   * accepted ones.
   */
  readonly uncommittedBytesMax: number
  /**
   * The shortest time from the start of one commit to the start of the next, for stores where each commit costs a lot.
   */
  readonly commitEveryMs: number
}

interface Commit<Event> {
  readonly heads: Set<StreamHead<Event>>
  readonly records: Map<string, Uint8Array | null>
  readonly callbacks: CommitCallback[]
  bytes: number
}

interface Released<Event> {
  readonly parts: readonly {
    readonly head: StreamHead<Event>
    readonly firstOffset: number
    readonly events: readonly Event[]
    readonly packer: EventPacker<Event> | undefined
    readonly bytes: number
  }[]
  readonly callbacks: readonly CommitCallback[]
  readonly bytes: number
  part: number
  index: number
  callback: number
}

/** How long released results are processed before the loop yields. */
const sliceMs = 2
/**
 * Steps between two reads of the clock; fewer if they did much work. uWebSockets.js writes to sockets when the loop
 * continues, or before the 33rd message of a topic. A multiple of 32 avoids writes of fewer messages (with 1 000
 * sockets, 16 steps instead of 32 make events a third more expensive).
 */
const stepsPerClockRead = 32
const workPerClockRead = 128

/** In seconds. A commit takes one or two milliseconds; above a tenth of a second, the disk has a problem. */
export const commitSecondsBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
export const commitEventsBounds = [0, 1, 4, 16, 64, 256, 1024, 4096, 16_384]

/**
 * The commit gate. Turns add their events, records and callbacks to the open commit. One commit is written at a time.
 * The next one contains everything that was added in the meantime. After a commit, its events and answers are released
 * in the order of their offsets. If a commit fails, everything that is not stored is discarded.
 */
export class Gate<Event> {
  readonly #options: GateOptions<Event>
  readonly #released: Released<Event>[] = []
  #inFlightParts: Released<Event>['parts'] = []
  #open: Commit<Event> = emptyCommit()
  #inFlight: Commit<Event> | undefined
  #isScheduled = false
  #isReleasing = false
  /** World.monotonic at which the journal received the last commit. */
  #begunAt = 0
  #isClosed = false
  #waitingBytes = 0
  #afterSeal: (() => void)[] = []
  /** Commits sealed so far. */
  sealedCount = 0
  /** How often the uncommitted changes were discarded. */
  closedCount = 0
  /** Duration of written commits in seconds, and events in each. */
  readonly commitSeconds = new Histogram(commitSecondsBounds)
  readonly commitEvents = new Histogram(commitEventsBounds)
  /** `bytes`: stored bytes of events. */
  readonly counts = { bytes: 0, records: 0, failed: 0 }

  constructor(options: GateOptions<Event>) {
    this.#options = options
  }

  /** Whether the store accepts writes, so that turns may record changes. */
  get isOpen(): boolean {
    return !this.#isClosed
  }

  get isFull(): boolean {
    return this.#waitingBytes > this.#options.uncommittedBytesMax
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Whether everything taken so far is stored and released. */
  get isSettled(): boolean {
    return isEmpty(this.#open) && !this.#inFlight && this.#released.length === 0
  }

  /**
   * Assigns the next offsets of a stream to these events.
   * @throws Error if the gate is closed, or if an event cannot be packed; then none is taken
   */
  take(head: StreamHead<Event>, events: readonly Event[], bytes: number): void {
    if (this.#isClosed) throw new Error('cannot take events while the store accepts no writes')
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

  /** Makes the next commit store the redo position of this stream, even if the stream has no new events. */
  touch(head: StreamHead<Event>): void {
    this.#open.heads.add(head)
    this.#schedule()
  }

  /** @throws Error if the gate is closed; RangeError for an empty value: see `Operation` in `storage.ts` */
  put(recordKey: string, value: Uint8Array | null): void {
    if (this.#isClosed) throw new Error('cannot put a record while the store accepts no writes')
    if (value?.byteLength === 0) throw new RangeError(`the value of a record must not be empty: ${recordKey}`)
    const { records } = this.#open
    const replaced = records.get(recordKey)
    const bytes = recordBytes(recordKey, value) - (replaced === undefined ? 0 : recordBytes(recordKey, replaced))
    records.set(recordKey, value)
    this.#open.bytes += bytes
    this.#waitingBytes += bytes
    this.#schedule()
  }

  /** Runs the task when the open commit is sealed. Changes that the task makes go into the next commit. */
  afterSeal(task: () => void): void {
    this.#afterSeal.push(task)
    this.#schedule()
  }

  /** The pending value of a record: null if it will be deleted, undefined if nothing is pending. */
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

  /** Calls back after the release of everything taken so far. Synchronously if nothing waits. */
  afterCommit(callback: CommitCallback): void {
    if (this.isSettled) {
      callback.committed()
      return
    }
    this.#open.callbacks.push(callback)
    this.#schedule()
  }

  /**
   * Resolves when everything taken so far is stored and released; rejects if it could not be stored. A caller that read
   * states at an earlier moment passes the `closedCount` of that moment, because they may have been discarded since.
   */
  whenStored(closedCount = this.closedCount): Promise<void> {
    if (closedCount !== this.closedCount) return Promise.reject(new Problem('storage'))
    return new Promise((committed, failed) => this.afterCommit({ committed, failed }))
  }

  /** Discards everything that is not stored, and accepts no changes until `reopen`. */
  close(problem: Problem): void {
    this.#isClosed = true
    this.closedCount++
    const refused = [...(this.#inFlight?.callbacks ?? []), ...this.#open.callbacks]
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
    for (const callback of refused) callback.failed(problem)
  }

  reopen(): void {
    this.#isClosed = false
    if (!isEmpty(this.#open)) this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight) return
    this.#isScheduled = true
    const { world, commitEveryMs } = this.#options
    const seal = () => {
      this.#isScheduled = false
      this.#seal()
    }
    const waitMs = commitEveryMs && this.#begunAt + commitEveryMs - world.monotonic()
    if (waitMs > 0) world.after(waitMs, seal)
    else world.soon(seal)
  }

  #seal(): void {
    if (this.#inFlight) return
    const now = this.#options.world.now()
    if (!this.#isClosed) this.#options.beforeSeal()
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
    // Before the tasks, whose changes and snapshots belong to the next commit.
    const streams = this.#inFlightParts.map(partOf)
    const afterSeal = this.#afterSeal
    this.#afterSeal = []
    for (const task of afterSeal) task()
    if (commit.heads.size === 0 && commit.records.size === 0) {
      this.#committed(commit, [])
      return
    }
    this.#begunAt = this.#options.world.monotonic()
    const sealed: SealedCommit<Event> = { now, streams, records: commit.records }
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
    this.#released.push({ parts, callbacks: commit.callbacks, bytes: commit.bytes, part: 0, index: 0, callback: 0 })
    if (this.#options.commitEveryMs === 0) this.#seal()
    else if (!isEmpty(this.#open)) this.#schedule()
    this.#release()
  }

  #count({ records }: Commit<Event>): void {
    this.commitSeconds.observe((this.#options.world.monotonic() - this.#begunAt) / 1000)
    this.commitEvents.observe(this.#inFlightParts.reduce((sum, { events }) => sum + events.length, 0))
    this.counts.records += records.size
  }

  #fail(error: unknown): void {
    this.counts.failed++
    this.close(new Problem('storage'))
    this.#options.failed(error)
  }

  /** Releases stored results in order, and yields to the loop every two milliseconds. */
  #release(): void {
    if (this.#isReleasing) return
    this.#isReleasing = true
    const { world, listener } = this.#options
    const started = world.monotonic()
    listener.beforeRelease()
    let [steps, work] = [0, 0]
    for (let next = this.#released[0]; next; next = this.#released[0]) {
      const done = this.#step(next)
      if (done === 0) {
        this.#released.shift()
        this.#waitingBytes -= next.bytes
      }
      work += done
      if (++steps < stepsPerClockRead && work < workPerClockRead) continue
      steps = 0
      work = 0
      if (world.monotonic() - started > sliceMs) break
    }
    this.#isReleasing = false
    if (this.#released.length > 0) world.soon(() => this.#release())
    else if (!isEmpty(this.#open)) this.#schedule()
  }

  /** Sends a stored event to the listener. Returns the amount of work. */
  publish(head: StreamHead<Event>, event: Event, offset: number): number {
    try {
      return Math.max(1, this.#options.listener.released(head, event, offset))
    } catch (error) {
      this.#options.bug(error)
      this.#options.listener.lost(head)
      return 1
    }
  }

  /** Releases one event or callback. Returns the amount of work; 0 if nothing is left. */
  #step(released: Released<Event>): number {
    const part = released.parts[released.part]
    if (part) {
      const offset = part.firstOffset + released.index
      const event = part.events[released.index++]
      if (released.index >= part.events.length) {
        released.part++
        released.index = 0
      }
      if (event === undefined) return 1
      part.head.released = offset
      return this.publish(part.head, event, offset)
    }
    const callback = released.callbacks[released.callback++]
    if (!callback) return 0
    try {
      callback.committed()
    } catch (error) {
      this.#options.bug(error)
    }
    return 1
  }
}

function recordBytes(recordKey: string, value: Uint8Array | null): number {
  return recordKey.length + (value?.byteLength ?? 0)
}

function emptyCommit<Event>(): Commit<Event> {
  return { heads: new Set(), records: new Map(), callbacks: [], bytes: 0 }
}

function isEmpty<Event>(commit: Commit<Event>): boolean {
  return commit.heads.size === 0 && commit.records.size === 0 && commit.callbacks.length === 0
}

function partOf<Event>(part: Released<Event>['parts'][number]): StreamPart<Event> {
  const { head, firstOffset, events, packer } = part
  return { tenant: head.tenant, firstOffset, events, packer, redoFrom: head.redo.redoFrom(head.taken + 1) }
}
