import type { Platform } from '#client/platform'
import { Problem, pauseAfter } from '#client/problem'
import { nextOf, type Paged, requestOf } from '#client/requests'
import type { ListName } from '#client/routes'
import type { Position } from '#client/state'
import type { Request } from '#client/transport'
import type { EventOf, EventType, StreamEvent } from '#model/event'

/** A list of the API that is read once and then kept up by events: what it is, not how that is done. */
export interface ListKind {
  readonly route: ListName
  readonly query: Readonly<Record<string, unknown>>
  /** Entries of the first page; later ones come to about `weightPerPage`. Undefined: the list has no pages. */
  readonly firstPage?: number | undefined
  readonly weightPerPage?: number
  /** Events that concern it. */
  readonly types: readonly EventType[]
  /** Which entry an event is about; '' for several: then it waits until all were read. */
  keyOf(event: StreamEvent): string
  /** Entries as they were read; what was known of them is put aside. Their keys, and how much there was. */
  take(entries: readonly unknown[]): { readonly keys: readonly string[]; readonly weight: number }
  /** All was read: what was not among it is gone. */
  keepOnly(isThere: (key: string) => boolean): void
  apply(event: StreamEvent): void
  /** A device is there no more; absent where nothing is said of devices. */
  gone?(device: string): void
  /** It was read to its end and events were caught up with, or it is not known any more whether it is right. */
  complete(isComplete: boolean): void
}

/** What a list is read with. */
export interface Reading {
  readonly platform: Platform
  pages(first: Request, limitOf: () => number | undefined): AsyncIterable<Paged>
  /** It could not be read; it is tried again unless that `isFinal`. */
  failed(problem: Error, isFinal: boolean): void
}

/** Events of one entry that wait for it to be read are stripped of what later ones say again, from so many on. */
const stripFrom = 32
const pageMax = 5_000

/** A page takes the server milliseconds: one of which nothing comes for so long is asked for again. */
const silenceMs = 30_000

/**
 * One list, read once and kept up by events. While it is read, page by page, events about entries that were read are
 * applied, those about others wait for them. A page that fails is asked for again: what was read stays read, as long as no
 * event is missed. What was known before stays until it is read anew. Contract 3.4, 4
 */
export class KeptList {
  readonly kind: ListKind
  readonly #reading: Reading
  #state: 'idle' | 'reading' | 'kept' | 'refused' = 'idle'
  #round = new AbortController()
  /** What is read must be of then or later. */
  #floor = 0
  /** Of the first page: every later event is to be applied. */
  #readAt: Position | undefined
  /** Where reading goes on. */
  #next: string | undefined
  #limit: number | undefined
  /** Of the first page of all that was read to its end, and of that which is being read. */
  #etag: string | undefined
  #etagRead: string | undefined
  #seen = new Set<string>()
  #waiting = new Map<string, StreamEvent[]>()
  /** Of entries that are read anew by themselves: what came since they were asked for, of all that were together. */
  readonly #again = new Map<string, StreamEvent[]>()
  #whenKept: (() => void)[] = []

  constructor(kind: ListKind, reading: Reading) {
    this.kind = kind
    this.#reading = reading
  }

  get isActive(): boolean {
    return this.#state !== 'idle'
  }

  /** It is as the server has it, or not for the caller. */
  get isKept(): boolean {
    return this.#state === 'kept' || this.#state === 'refused'
  }

  get readAt(): Position | undefined {
    return this.#readAt
  }

  /** Reads all; what comes from now on will be heard, and what is read must be of `floor` or later. */
  startOver(floor: number): void {
    this.stop()
    this.#floor = floor
    this.#state = 'reading'
    this.#readAt = undefined
    void this.#read(this.#round.signal)
  }

  /** Nothing is read any more, nor heard. */
  stop(): void {
    this.#round.abort()
    this.#round = new AbortController()
    this.#state = 'idle'
    this.#next = undefined
    this.#seen = new Set()
    this.#waiting = new Map()
    this.#again.clear()
    this.kind.complete(false)
  }

  heard(event: StreamEvent): void {
    if (this.#readAt && event.offset <= this.#readAt.offset) return
    // What may not be read is not known by what other rights let one hear either.
    if (this.#state === 'idle' || this.#state === 'refused') return
    const key = this.kind.keyOf(event)
    if (this.#state === 'kept' || this.#seen.has(key)) this.kind.apply(event)
    else this.#wait(key, event)
    this.#again.get(key)?.push(event)
  }

  /** Reads what is said of devices anew, for what of them no event says: also that one is gone. They fit into one page. */
  async readAgain(devices: readonly string[]): Promise<void> {
    const asked = devices.filter((device) => !this.#again.has(device))
    if (this.#state !== 'kept' || asked.length === 0) return
    const { signal } = this.#round
    const since: StreamEvent[] = []
    for (const device of asked) this.#again.set(device, since)
    const query = { ...this.kind.query, deviceIdentifier: asked, limit: pageMax }
    try {
      for await (const page of this.#reading.pages(requestOf(this.kind.route, { query, signal }), () => undefined)) {
        if (signal.aborted) break
        const offset = Number(page.headers.get('stream-offset'))
        const there = new Set(this.kind.take(page.items).keys)
        for (const device of asked) if (!there.has(device)) this.kind.gone?.(device)
        for (const event of since) if (event.offset > offset) this.kind.apply(event)
      }
    } catch {
      // It is as it was: nothing was said to be more.
    }
    for (const device of asked) if (this.#again.get(device) === since) this.#again.delete(device)
  }

  /** Resolves when all is read, and everything that was heard meanwhile applied. */
  whenKept(): Promise<void> {
    return this.isKept ? Promise.resolve() : new Promise((resolve) => this.#whenKept.push(resolve))
  }

  async #read(round: AbortSignal): Promise<void> {
    const { platform } = this.#reading
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
      if (!(failed instanceof TooOld)) this.#reading.failed(failed as Error, status === ourMistake)
      if (status === ourMistake) return
      if (this.#seen.size > seen) attempt = 1
      await platform.sleep(pauseAfter(failed, attempt, platform.random), round)
    }
  }

  /** Whether nothing had changed since it was read the last time. */
  async #readPages(round: AbortSignal): Promise<boolean> {
    const { kind } = this
    for await (const page of this.#reading.pages(this.#request(round), () => this.#limit)) {
      if (round.aborted) return false
      if (!this.#readAt && !this.#begun(page)) throw new TooOld()
      if (page.isUnchanged) return true
      const { keys, weight } = kind.take(page.items)
      for (const key of keys) {
        this.#seen.add(key)
        this.#applyWaiting(key)
      }
      this.#next = nextOf(page.headers)
      if (kind.weightPerPage && weight > 0) {
        this.#limit = Math.max(1, Math.min(pageMax, Math.round((kind.weightPerPage * page.items.length) / weight)))
      }
      await this.#reading.platform.breathe()
    }
    return false
  }

  #request(signal: AbortSignal): Request {
    const { route, query, firstPage } = this.kind
    if (this.#next !== undefined) return { method: 'GET', path: this.#next, signal, silenceMs }
    const ifNoneMatch = this.#etag
    return { ...requestOf(route, { query: { ...query, limit: firstPage }, ifNoneMatch, signal }), silenceMs }
  }

  /** What a first page says of all. Whether it is young enough. */
  #begun({ headers, isUnchanged }: Paged): boolean {
    const offset = Number(headers.get('stream-offset'))
    const epoch = headers.get('stream-epoch') ?? ''
    if (offset < this.#floor) return false
    this.#readAt = { epoch, offset }
    if (!isUnchanged) {
      this.#etag = undefined
      this.#etagRead = headers.get('etag') ?? undefined
    }
    for (const [key, events] of [...this.#waiting]) {
      const later = events.filter((event) => event.offset > offset)
      if (later.length > 0) this.#waiting.set(key, later)
      else this.#waiting.delete(key)
    }
    return true
  }

  /** In slices: what waits may be much, and more may come meanwhile. */
  async #finish(round: AbortSignal, isUnchanged: boolean, state: 'kept' | 'refused' = 'kept'): Promise<void> {
    if (round.aborted) return
    const { platform } = this.#reading
    if (!isUnchanged) this.kind.keepOnly((key) => this.#seen.has(key))
    let applied = 0
    for (const key of this.#waiting.keys()) {
      this.#seen.add(key)
      this.#applyWaiting(key)
      if (++applied % 500 === 0) await platform.breathe()
      if (round.aborted) return
    }
    this.#state = state
    this.#next = undefined
    this.#seen = new Set()
    this.#etag = this.#etagRead
    this.kind.complete(true)
    for (const resolve of this.#whenKept.splice(0)) resolve()
  }

  /** What was read is put away, or will be: that it has not changed would say nothing. */
  forget(): void {
    this.#etag = undefined
    this.#etagRead = undefined
  }

  /** Who may not read it has none. */
  async #refused(round: AbortSignal): Promise<void> {
    this.forget()
    this.#readAt = { epoch: '', offset: this.#floor }
    this.#waiting.clear()
    await this.#finish(round, false, 'refused')
  }

  #wait(key: string, event: StreamEvent): void {
    const waiting = this.#waiting.get(key)
    if (!waiting) this.#waiting.set(key, [event])
    else if (waiting.push(event) % stripFrom === 0 && key !== '') this.#waiting.set(key, strip(waiting))
  }

  #applyWaiting(key: string): void {
    const events = this.#waiting.get(key)
    if (!events) return
    this.#waiting.delete(key)
    for (const event of events) this.kind.apply(event)
  }
}

/** Read from somebody who did not know yet what we were told. */
class TooOld extends Error {}

/**
 * Asked for once more it is refused once more. Whatever else is answered may have come from somebody in between; whose
 * session is over hears so elsewhere.
 */
const ourMistake = 400

/**
 * Events about one device without the items that a later one says again, and without events of which nothing is left:
 * applied in order they come to the same. As the server does it for who is slow, contract 4.5.
 */
export function strip(events: readonly StreamEvent[]): StreamEvent[] {
  const said = new Set<string>()
  const kept: StreamEvent[] = []
  for (const event of events.toReversed()) {
    const left = event.type === 'OBJECT_UPDATED' ? stripped(event as EventOf<'OBJECT_UPDATED'>, said) : event
    if (left) kept.push(left)
    // What was before does not matter to what comes after.
    if (event.type === 'DEVICE_DELETE') break
  }
  return kept.reverse()
}

function stripped(event: EventOf<'OBJECT_UPDATED'>, said: Set<string>): StreamEvent | undefined {
  const updates: EventOf<'OBJECT_UPDATED'>['updates'] = []
  for (const item of event.updates.toReversed()) {
    const place = `${event.serviceIdentifier} ${item.propId}`
    if (!said.has(place)) updates.push(item)
    said.add(place)
  }
  if (updates.length === 0) return undefined
  return updates.length === event.updates.length ? event : { ...event, updates: updates.reverse() }
}
