import type { Platform } from '#client/platform'
import { Problem, pauseAfter } from '#client/problem'
import { nextOf, type Paged, requestOf } from '#client/requests'
import type { ListName } from '#client/routes'
import type { Position } from '#client/state'
import type { Request } from '#client/transport'
import type { EventOf, EventType, StreamEvent } from '#model/event'

/** Describes a list of the API that is read once and then kept current by events. */
export interface ListKind {
  readonly route: ListName
  readonly query: Readonly<Record<string, unknown>>
  /**
   * Entries of the first page; later pages have a weight of about `weightPerPage`. Undefined: the list has no pages.
   */
  readonly firstPage?: number | undefined
  readonly weightPerPage?: number
  /** The events that change the list. */
  readonly types: readonly EventType[]
  /**
   * The key of the entry that an event changes. '' for several entries: such an event waits until the whole list is
   * read.
   */
  keyOf(event: StreamEvent): string
  /** Stores entries, which replace what was known of them. Returns their keys and their total weight. */
  store(entries: readonly unknown[]): { readonly keys: readonly string[]; readonly weight: number }
  /** The whole list was read: removes the entries that it did not contain. */
  retainOnly(isListed: (key: string) => boolean): void
  apply(event: StreamEvent): void
  /** A device was deleted; absent for lists that are not about devices. */
  removeDevice?(device: string): void
  /** True when the whole list is read and all events are applied, false when it may no longer be correct. */
  complete(isComplete: boolean): void
}

/** The means to read a list. */
export interface ListReader {
  readonly platform: Platform
  pages(first: Request, limitOf: () => number | undefined): AsyncIterable<Paged>
  /** The list could not be read. It is read again, unless `isFinal`. */
  failed(problem: Error, isFinal: boolean): void
}

/** When this number of events waits for an entry, items that later events replace are dropped. */
const stripAtLength = 32
const pageMax = 5_000

/** The server answers a page in milliseconds. After this silence the page is requested again. */
const silenceMs = 30_000

/**
 * A list that is read once and then kept current by events.
 * While the list is read page by page, events about entries that were read are applied, and other events wait. A page
 * that fails is requested again; the pages before it stay valid as long as no event is missed. The previous entries
 * stay visible until they are read again. Contract 3.4, 4
 */
export class SyncedList {
  readonly kind: ListKind
  readonly #reader: ListReader
  #state: 'idle' | 'reading' | 'synced' | 'refused' = 'idle'
  #round = new AbortController()
  /** A page must show the state at this offset or later. */
  #floor = 0
  /** Position of the first page: every later event must be applied. */
  #readAt: Position | undefined
  /** The path of the next page. */
  #next: string | undefined
  #limit: number | undefined
  /** Entity tag of the last complete list, and of the list that is being read. */
  #etag: string | undefined
  #nextEtag: string | undefined
  #seen = new Set<string>()
  #waiting = new Map<string, StreamEvent[]>()
  /** Entries that are read again individually, each with the events since that request. */
  readonly #rereads = new Map<string, StreamEvent[]>()
  #waiters: (() => void)[] = []

  constructor(kind: ListKind, reader: ListReader) {
    this.kind = kind
    this.#reader = reader
  }

  get isActive(): boolean {
    return this.#state !== 'idle'
  }

  /** The list is complete, or the caller may not read it. */
  get isSynced(): boolean {
    return this.#state === 'synced' || this.#state === 'refused'
  }

  get readAt(): Position | undefined {
    return this.#readAt
  }

  /** Reads the whole list. Events from now on are received, and pages must be as of `floor` or later. */
  startOver(floor: number): void {
    this.stop()
    this.#floor = floor
    this.#state = 'reading'
    this.#readAt = undefined
    void this.#read(this.#round.signal)
  }

  /** Stops reading, and ignores events. */
  stop(): void {
    this.#round.abort()
    this.#round = new AbortController()
    this.#state = 'idle'
    this.#next = undefined
    this.#seen = new Set()
    this.#waiting = new Map()
    this.#rereads.clear()
    this.kind.complete(false)
  }

  received(event: StreamEvent): void {
    if (this.#readAt && event.offset <= this.#readAt.offset) return
    // The caller may not read this list, even if other permissions let its events through.
    if (this.#state === 'idle' || this.#state === 'refused') return
    const key = this.kind.keyOf(event)
    if (this.#state === 'synced' || this.#seen.has(key)) this.kind.apply(event)
    else this.#defer(key, event)
    this.#rereads.get(key)?.push(event)
  }

  /**
   * Reads the entries of some devices again, for changes without an event, including a deletion. The entries must fit
   * into one page.
   */
  async readAgain(devices: readonly string[]): Promise<void> {
    const requested = devices.filter((device) => !this.#rereads.has(device))
    if (this.#state !== 'synced' || requested.length === 0) return
    const { signal } = this.#round
    const since: StreamEvent[] = []
    for (const device of requested) this.#rereads.set(device, since)
    const query = { ...this.kind.query, deviceIdentifier: requested, limit: pageMax }
    try {
      for await (const page of this.#reader.pages(requestOf(this.kind.route, { query, signal }), () => undefined)) {
        if (signal.aborted) break
        const offset = Number(page.headers.get('stream-offset'))
        const received = new Set(this.kind.store(page.items).keys)
        for (const device of requested) if (!received.has(device)) this.kind.removeDevice?.(device)
        for (const event of since) if (event.offset > offset) this.kind.apply(event)
      }
    } catch {
      // The entries stay as they were; no guarantee was given.
    }
    for (const device of requested) if (this.#rereads.get(device) === since) this.#rereads.delete(device)
  }

  /** Resolves when the whole list is read and all waiting events are applied. */
  whenSynced(): Promise<void> {
    return this.isSynced ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve))
  }

  async #read(round: AbortSignal): Promise<void> {
    const { platform } = this.#reader
    for (let attempt = 1; !round.aborted; attempt++) {
      const seen = this.#seen.size
      let failed: unknown
      try {
        const isUnchanged = await this.#readPages(round)
        return await this.#finish(round, isUnchanged)
      } catch (error) {
        failed = error
      }
      if (round.aborted) return
      const status = failed instanceof Problem ? failed.status : 0
      if (status === 403) return this.#refused(round)
      if (!(failed instanceof OutdatedPage)) this.#reader.failed(failed as Error, status === badRequest)
      if (status === badRequest) return
      if (this.#seen.size > seen) attempt = 1
      await platform.sleep(pauseAfter(failed, attempt, platform.random), round)
    }
  }

  /** Returns whether the list has not changed since it was last read. */
  async #readPages(round: AbortSignal): Promise<boolean> {
    const { kind } = this
    for await (const page of this.#reader.pages(this.#request(round), () => this.#limit)) {
      if (round.aborted) return false
      if (!this.#readAt && !this.#acceptFirstPage(page)) throw new OutdatedPage()
      if (page.isUnchanged) return true
      const { keys, weight } = kind.store(page.items)
      for (const key of keys) {
        this.#seen.add(key)
        this.#applyWaiting(key)
      }
      this.#next = nextOf(page.headers)
      if (kind.weightPerPage && weight > 0) {
        this.#limit = Math.max(1, Math.min(pageMax, Math.round((kind.weightPerPage * page.items.length) / weight)))
      }
      await this.#reader.platform.yieldToOthers()
    }
    return false
  }

  #request(signal: AbortSignal): Request {
    const { route, query, firstPage } = this.kind
    if (this.#next !== undefined) return { method: 'GET', path: this.#next, signal, silenceMs }
    const ifNoneMatch = this.#etag
    return { ...requestOf(route, { query: { ...query, limit: firstPage }, ifNoneMatch, signal }), silenceMs }
  }

  /** Reads position and entity tag of the first page. Returns whether it is recent enough. */
  #acceptFirstPage({ headers, isUnchanged }: Paged): boolean {
    const offset = Number(headers.get('stream-offset'))
    const epoch = headers.get('stream-epoch') ?? ''
    if (offset < this.#floor) return false
    this.#readAt = { epoch, offset }
    if (!isUnchanged) {
      this.#etag = undefined
      this.#nextEtag = headers.get('etag') ?? undefined
    }
    for (const [key, events] of [...this.#waiting]) {
      const later = events.filter((event) => event.offset > offset)
      if (later.length > 0) this.#waiting.set(key, later)
      else this.#waiting.delete(key)
    }
    return true
  }

  /** In slices, because many events may wait, and more may arrive meanwhile. */
  async #finish(round: AbortSignal, isUnchanged: boolean, state: 'synced' | 'refused' = 'synced'): Promise<void> {
    if (round.aborted) return
    const { platform } = this.#reader
    if (!isUnchanged) this.kind.retainOnly((key) => this.#seen.has(key))
    let applied = 0
    for (const key of this.#waiting.keys()) {
      this.#seen.add(key)
      this.#applyWaiting(key)
      if (++applied % 500 === 0) await platform.yieldToOthers()
      if (round.aborted) return
    }
    this.#state = state
    this.#next = undefined
    this.#seen = new Set()
    this.#etag = this.#nextEtag
    this.kind.complete(true)
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  /** Forgets the entity tags, because the entries are removed: a 304 would then be useless. */
  forget(): void {
    this.#etag = undefined
    this.#nextEtag = undefined
  }

  /** The caller may not read the list: it is empty. */
  async #refused(round: AbortSignal): Promise<void> {
    this.forget()
    this.#readAt = { epoch: '', offset: this.#floor }
    this.#waiting.clear()
    await this.#finish(round, false, 'refused')
  }

  #defer(key: string, event: StreamEvent): void {
    const waiting = this.#waiting.get(key)
    if (!waiting) this.#waiting.set(key, [event])
    else if (waiting.push(event) % stripAtLength === 0 && key !== '') this.#waiting.set(key, strip(waiting))
  }

  #applyWaiting(key: string): void {
    const events = this.#waiting.get(key)
    if (!events) return
    this.#waiting.delete(key)
    for (const event of events) this.kind.apply(event)
  }
}

/** The page is older than an event that was already received. */
class OutdatedPage extends Error {}

/**
 * A repeated request would be refused again. Other statuses may come from a proxy, and the end of a session is handled
 * elsewhere.
 */
const badRequest = 400

/**
 * Drops the items that a later event of the same device replaces, and events without items. Applied in order, the rest
 * has the same result. The server does the same for slow clients, contract 4.5.
 */
export function strip(events: readonly StreamEvent[]): StreamEvent[] {
  const replaced = new Set<string>()
  const remaining: StreamEvent[] = []
  for (const event of events.toReversed()) {
    const left = event.type === 'OBJECT_UPDATED' ? stripped(event as EventOf<'OBJECT_UPDATED'>, replaced) : event
    if (left) remaining.push(left)
    // Events before a deletion have no effect.
    if (event.type === 'DEVICE_DELETE') break
  }
  return remaining.reverse()
}

function stripped(event: EventOf<'OBJECT_UPDATED'>, replaced: Set<string>): StreamEvent | undefined {
  const updates: EventOf<'OBJECT_UPDATED'>['updates'] = []
  for (const item of event.updates.toReversed()) {
    const place = `${event.serviceIdentifier} ${item.propId}`
    if (!replaced.has(place)) updates.push(item)
    replaced.add(place)
  }
  if (updates.length === 0) return undefined
  return updates.length === event.updates.length ? event : { ...event, updates: updates.reverse() }
}
