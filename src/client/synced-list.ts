import type { Platform } from '#client/platform'
import { Problem, pauseMsAfter } from '#client/problem'
import { nextOf, type Paged, pagesOf, requestOf } from '#client/requests'
import type { ListName } from '#client/routes'
import type { Exchange, Request } from '#client/transport'
import type { EventOf, EventType, StreamEvent } from '#model/event'

/** Describes a list of the API that is read once and then kept current by events. */
export interface ListKind {
  readonly route: ListName
  readonly query: Readonly<Record<string, unknown>>
  /**
   * The number of entries of the first page; undefined: the list has no pages. With `weightPerPage`, later pages are
   * sized so that the weight that `store` returns is about this number.
   */
  readonly firstLimit?: number | undefined
  readonly weightPerPage?: number
  readonly entries: Entries
  /** The events that change the list. */
  readonly types: readonly EventType[]
  /**
   * The key of the entry that an event changes. '' for several entries: such an event waits until the whole list is
   * read.
   */
  keyOfEvent(event: StreamEvent): string
  /** Stores entries, which replace what was known of them. Returns their keys and their total weight. */
  store(entries: readonly unknown[]): { readonly keys: readonly string[]; readonly weight: number }
  apply(event: StreamEvent): void
  /** Removes a device that was deleted. Absent for lists that are not about devices. */
  removeDevice?(device: string): void
}

/** The entries of a list, by key: a map, or a part of the devices of a fleet. */
export interface Entries {
  keys(): Iterable<string>
  delete(key: string): void
  /** True when the whole list is read and all events are applied, false when it may no longer be correct. */
  complete(isComplete: boolean): void
}

/** The devices of a state that covers only watched devices. */
export interface WatchedDevices {
  /** The devices with a listener. */
  watched(): readonly string[]
  /** Whether the device is watched, or still known. */
  has(device: string): boolean
}

/** Sends the requests of a list, and takes failures. */
export interface ListReader {
  readonly platform: Platform
  readonly read: Exchange
  /** Called when the list could not be read. It is read again, unless `isFinal`. */
  failed(problem: Error, isFinal: boolean): void
}

/** When this number of events waits for an entry, items that later events replace are dropped. */
const stripAtLength = 32
const pageMax = 5_000

/** This number of identifiers fits into a URL. */
const devicesPerRequest = 50

/**
 * A list that is read once and then kept current by events.
 * While the list is read page by page, events about entries that were read are applied, and other events wait. A page
 * that fails is requested again; the pages before it stay valid as long as no event is missed. The previous entries
 * stay visible until they are read again. Contract 3.4, 4
 */
export class SyncedList {
  readonly kind: ListKind
  readonly #reader: ListReader
  readonly #watched: WatchedDevices | undefined
  #state: 'idle' | 'reading' | 'synced' | 'refused' = 'idle'
  #round = new AbortController()
  /** A page must show the state at this offset or later. */
  #floor = 0
  /** The offset of the first page: every later event must be applied. */
  readAt: number | undefined
  /** The path of the next page. */
  #next: string | undefined
  #limit: number | undefined
  #seen = new Set<string>()
  #waiting = new Map<string, StreamEvent[]>()
  /** Devices to read again. */
  readonly #again = new Set<string>()
  /** Devices in the current request for single devices. */
  #requested = new Set<string>()
  #readingDevices: Promise<void> | undefined
  #waiters: (() => void)[] = []

  /** @param watched each device is read when it gets a listener, instead of the whole list */
  constructor(kind: ListKind, reader: ListReader, watched?: WatchedDevices) {
    this.kind = kind
    this.#reader = reader
    this.#watched = watched
  }

  /** Whether the list is complete, or the caller may not read it. */
  get isSynced(): boolean {
    return this.#state === 'synced' || this.#state === 'refused'
  }

  /** Reads the list or the watched devices. Events from now on are received. Pages must be as of `floor` or later. */
  startOver(floor: number): void {
    this.stop()
    this.#floor = floor
    this.#state = 'reading'
    this.readAt = this.#watched && floor
    void this.#read(this.#round.signal, this.#watched !== undefined)
  }

  /** Reads the devices that are watched and not known, or to be read again. */
  async readDevices(): Promise<void> {
    if (this.#state !== 'synced' || this.#unread().length === 0) return
    if (this.#watched) {
      this.#state = 'reading'
      this.kind.entries.complete(false)
    }
    this.#readingDevices ??= this.#read(this.#round.signal, true)
    return this.#readingDevices
  }

  /** Forgets a device that is not watched. */
  drop(device: string): void {
    this.#seen.delete(device)
    this.kind.removeDevice?.(device)
  }

  /** Stops reading, and ignores events. */
  stop(): void {
    this.#round.abort()
    this.#round = new AbortController()
    this.#state = 'idle'
    this.#next = undefined
    this.#seen = new Set()
    this.#waiting = new Map()
    this.#again.clear()
    this.#readingDevices = undefined
    this.kind.entries.complete(false)
  }

  received(event: StreamEvent): void {
    if (event.offset <= (this.readAt ?? -1)) return
    // A caller who may not read this list may still receive its events, because of other permissions.
    if (this.#state === 'idle' || this.#state === 'refused') return
    const { kind } = this
    const key = kind.keyOfEvent(event)
    const isWhole = this.#state === 'synced' && !this.#watched
    // Later answers about devices must include this event.
    if (isWhole || this.#watched) this.#floor = event.offset
    if (this.#watched?.has(key) === false) return void this.#seen.delete(key)
    const isKnown = isWhole || this.#seen.has(key)
    if (isKnown) kind.apply(event)
    if (!isKnown || this.#again.has(key)) this.#defer(key, event)
  }

  /** Reads the entries of some devices again, for changes without an event, including a deletion. */
  async readAgain(devices: readonly string[]): Promise<void> {
    if (this.#state !== 'synced' && !this.#watched) return
    for (const device of devices) {
      this.#again.add(device)
      this.#requested.delete(device)
    }
    return this.readDevices()
  }

  /** Resolves when the whole list is read and all waiting events are applied. */
  whenSynced(): Promise<void> {
    return this.isSynced ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve))
  }

  /** Reads the whole list, or single devices. */
  async #read(round: AbortSignal, isOfDevices: boolean): Promise<void> {
    const { platform } = this.#reader
    for (let attempt = 1; !round.aborted; attempt++) {
      const seen = this.#seen.size
      let failed: unknown
      try {
        await (isOfDevices ? this.#readEach(round) : this.#readPages(round))
        return await this.#finish(round, !isOfDevices || this.#watched !== undefined)
      } catch (error) {
        failed = error
      }
      if (round.aborted) return
      const status = failed instanceof Problem ? failed.status : 0
      if (status === 403) return this.#refused(round)
      if (failed !== outdatedPage) this.#reader.failed(failed as Error, status === badRequest)
      if (status === badRequest) return
      if (this.#seen.size > seen) attempt = 1
      await platform.sleep(pauseMsAfter(failed, attempt, platform.random), round)
    }
  }

  async #readPages(round: AbortSignal): Promise<void> {
    const { kind } = this
    for await (const page of pagesOf(this.#request(round), this.#reader.read, () => this.#limit)) {
      if (round.aborted) return
      if (this.readAt === undefined && !this.#acceptFirstPage(page)) throw outdatedPage
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
  }

  /** Reads the devices in `#unread`. */
  async #readEach(signal: AbortSignal): Promise<void> {
    const { kind } = this
    for (;;) {
      // Many devices may get a listener in the same turn.
      await this.#reader.platform.yieldToOthers()
      const devices = this.#unread()
      if (signal.aborted || devices.length === 0) return
      const floor = this.#floor
      this.#requested = new Set(devices)
      const listed = new Set<string>()
      let offset = 0
      const query = { ...kind.query, deviceIdentifier: devices, limit: pageMax }
      const request = requestOf(kind.route, { query, signal })
      for await (const { items, headers } of pagesOf(request, this.#reader.read, () => pageMax)) {
        if (signal.aborted) return
        offset = Number(headers.get('stream-offset'))
        if (offset < floor) throw outdatedPage
        for (const key of kind.store(items).keys) listed.add(key)
      }
      for (const device of devices) if (!listed.has(device)) kind.removeDevice?.(device)
      for (const device of this.#requested) {
        this.#again.delete(device)
        // A device that is no longer watched was not stored.
        if (this.#watched?.has(device) === false) continue
        this.#seen.add(device)
        this.#applyWaiting(device, offset)
      }
    }
  }

  /** As many of the devices to read as fit into one request. */
  #unread(): readonly string[] {
    const watched = this.#watched?.watched() ?? []
    return [...this.#again, ...watched.filter((device) => !this.#seen.has(device))].slice(0, devicesPerRequest)
  }

  #request(signal: AbortSignal): Request {
    const { route, query, firstLimit } = this.kind
    if (this.#next !== undefined) return { method: 'GET', path: this.#next, signal }
    return requestOf(route, { query: { ...query, limit: firstLimit }, signal })
  }

  /** Reads the position of the first page. Returns whether it is recent enough. */
  #acceptFirstPage({ headers }: Paged): boolean {
    const offset = Number(headers.get('stream-offset'))
    if (offset < this.#floor) return false
    this.readAt = offset
    for (const [key, events] of [...this.#waiting]) {
      const later = events.filter((event) => event.offset > offset)
      if (later.length > 0) this.#waiting.set(key, later)
      else this.#waiting.delete(key)
    }
    return true
  }

  /**
   * Applies waiting events in slices, because many events may wait, and more may arrive meanwhile.
   *
   * @param removesOthers whether entries that were not read are removed
   */
  async #finish(round: AbortSignal, removesOthers: boolean, state: 'synced' | 'refused' = 'synced'): Promise<void> {
    if (round.aborted) return
    const { platform } = this.#reader
    const { entries } = this.kind
    for (const key of removesOthers ? [...entries.keys()] : []) if (!this.#seen.has(key)) entries.delete(key)
    // The events that are left concern devices that are not watched any more.
    if (this.#watched) this.#waiting.clear()
    let applied = 0
    for (const key of this.#waiting.keys()) {
      this.#seen.add(key)
      this.#applyWaiting(key)
      if (++applied % 500 === 0) await platform.yieldToOthers()
      if (round.aborted) return
    }
    this.#state = state
    this.#next = undefined
    if (!this.#watched) this.#seen = new Set()
    this.#readingDevices = undefined
    entries.complete(true)
    for (const resolve of this.#waiters.splice(0)) resolve()
    void this.readDevices()
  }

  /** The caller may not read the list. Its entries are removed. */
  async #refused(round: AbortSignal): Promise<void> {
    this.readAt = this.#floor
    this.#waiting.clear()
    await this.#finish(round, true, 'refused')
  }

  #defer(key: string, event: StreamEvent): void {
    const waiting = this.#waiting.get(key)
    if (!waiting) this.#waiting.set(key, [event])
    else if (waiting.push(event) % stripAtLength === 0 && key !== '') this.#waiting.set(key, dropReplacedItems(waiting))
  }

  /** @param after events up to this offset are in the entry already */
  #applyWaiting(key: string, after = 0): void {
    const events = this.#waiting.get(key)
    if (!events) return
    this.#waiting.delete(key)
    for (const event of events) if (event.offset > after) this.kind.apply(event)
  }
}

/** The page is older than an event that was already received. */
const outdatedPage = new Error()

/**
 * The status after which a repeated request would be refused again. Other statuses may come from a proxy, and
 * `Client` handles the end of a session.
 */
const badRequest = 400

/**
 * Drops the items that a later event of the same device replaces, and events without items. The remaining events,
 * applied in order, have the same result. The server does the same for slow clients, contract 4.5.
 */
export function dropReplacedItems(events: readonly StreamEvent[]): StreamEvent[] {
  const replaced = new Set<string>()
  const remaining: StreamEvent[] = []
  for (const event of events.toReversed()) {
    const left =
      event.type === 'OBJECT_UPDATED' ? withoutReplacedItems(event as EventOf<'OBJECT_UPDATED'>, replaced) : event
    if (left) remaining.push(left)
    // Events before a deletion have no effect.
    if (event.type === 'DEVICE_DELETE') break
  }
  return remaining.reverse()
}

function withoutReplacedItems(event: EventOf<'OBJECT_UPDATED'>, replaced: Set<string>): StreamEvent | undefined {
  const updates: EventOf<'OBJECT_UPDATED'>['updates'] = []
  for (const item of event.updates.toReversed()) {
    const place = `${event.serviceIdentifier} ${item.propId}`
    if (!replaced.has(place)) updates.push(item)
    replaced.add(place)
  }
  if (updates.length === 0) return undefined
  return updates.length === event.updates.length ? event : { ...event, updates: updates.reverse() }
}
