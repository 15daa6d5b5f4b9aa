import { isReceivedBy } from '#events/audience'
import type { Connection } from '#events/tenant-hub'
import { deviceOf, encode, encodeStripped, ownerOf, serviceOf, typeOf } from '#events/wire-format'
import type { Entry } from '#model/entry'
import type { BindingLists } from '#model/group'
import type { Chunk, StreamReader } from '#runtime/journal'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/** A property in an entry: a value or a removal. */
interface PropertyItem {
  readonly tenant: string
  readonly device: string
  readonly service: string
  readonly propId: number
  readonly isRemoval: boolean
  readonly offset: number
}

/**
 * Whether a later published entry contains the property again; live sockets have received everything up to `published`.
 */
export type IsOverridden = (item: PropertyItem, published: number) => boolean

export interface CatchUpOptions {
  readonly world: World
  readonly reader: StreamReader<Entry>
  readonly isOverridden: IsOverridden
  /** `caughtUp`: number of sent events. */
  readonly counts: { caughtUp: number }
  /** For an entry without a device: the devices to which its object is bound. */
  readonly boundTo: (tenant: string, entry: Entry) => BindingLists | undefined
  /** The last offset sent to live sockets. */
  readonly publishedTo: (tenant: string) => number
  /** The socket has received everything and is live from this call on. */
  readonly caughtUp: (connection: Connection) => void
  /** The socket cannot catch up: missed events are no longer retained, or one of them could not be sent. */
  readonly lost: (connection: Connection) => void
  readonly failed: (error: unknown) => void
  /**
   * Above this number of unsent bytes, no more events are sent to a socket, and it does not become live. Sending
   * continues when its buffer has drained. The number is well below the size above which uWebSockets.js drops messages.
   */
  readonly highWaterBytes: () => number
}

/** Delay after a failed read of a chunk. */
const retryMs = 1_000

/**
 * Sends missed events to sockets, in offset order, as fast as each accepts them. Queued sockets share slices of two
 * milliseconds, so that neither one socket with many events nor a thousand sockets block the others.
 */
export class CatchUp {
  readonly #options: CatchUpOptions
  readonly #queue: Connection[] = []
  #isRunning = false

  constructor(options: CatchUpOptions) {
    this.#options = options
  }

  /** Queues a socket that is behind, unless it is queued or a chunk is being read for it. */
  enqueue(connection: Connection): void {
    if (connection.state !== 'behind' || connection.isQueued || connection.isLoading) return
    connection.isQueued = true
    this.#queue.push(connection)
    if (this.#isRunning) return
    this.#isRunning = true
    this.#options.world.soon(() => this.#run())
  }

  #run(): void {
    const { world } = this.#options
    const slice = new Slices(world)
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      next.isQueued = false
      try {
        this.#send(next, slice)
      } catch (error) {
        this.#giveUp(next, error)
      }
      if (slice.isOver) break
    }
    this.#isRunning = this.#queue.length > 0
    if (this.#isRunning) world.soon(() => this.#run())
  }

  /**
   * Sends chunks until the socket has everything, its buffer is full, the slice is over, or a chunk must be read first.
   */
  #send(connection: Connection, slice: Slices): void {
    const { reader, publishedTo, caughtUp, lost, highWaterBytes } = this.#options
    const { tenant } = connection
    while (connection.state === 'behind') {
      const published = publishedTo(tenant)
      if (connection.socket.bufferedBytes() > highWaterBytes()) {
        markSlow(connection, published)
        return
      }
      if (connection.position >= published) {
        caughtUp(connection)
        return
      }
      if (slice.isOver) {
        this.enqueue(connection)
        return
      }
      const next = connection.position + 1
      if (next < reader.retainedFrom(tenant)) {
        lost(connection)
        return
      }
      const chunk = reader.recent(tenant, next)
      if (!chunk) {
        this.#load(connection, next)
        return
      }
      if (!this.#sendTogether(connection, chunk, published, slice)) return
    }
  }

  #load(connection: Connection, offset: number): void {
    const { world, reader, lost, failed } = this.#options
    connection.isLoading = true
    const loaded = (chunk: Chunk<Entry> | undefined) => {
      connection.isLoading = false
      if (connection.state !== 'behind') return
      if (!chunk) {
        lost(connection)
        return
      }
      const published = this.#options.publishedTo(connection.tenant)
      if (this.#sendTogether(connection, chunk, published, new Slices(world))) this.enqueue(connection)
    }
    reader.load(connection.tenant, offset).then(
      (chunk) => {
        try {
          loaded(chunk)
        } catch (error) {
          this.#giveUp(connection, error)
        }
      },
      (error) => {
        connection.isLoading = false
        failed(error)
        // The store may be reopening, so the read is repeated.
        world.after(retryMs, () => this.enqueue(connection))
      },
    )
  }

  /** An event could not be sent, so the order cannot be continued. */
  #giveUp(connection: Connection, error: unknown): void {
    this.#options.failed(error)
    if (connection.state === 'behind') this.#options.lost(connection)
  }

  #sendTogether(connection: Connection, chunk: Chunk<Entry>, published: number, slice: Slices): boolean {
    let takesMore = true
    connection.socket.cork(() => {
      takesMore = this.#sendChunk(connection, chunk, published, slice)
    })
    return takesMore
  }

  /**
   * Returns false if the socket accepts no more for now. An event may have 300 KB, so the slice may end within a chunk.
   */
  #sendChunk(connection: Connection, chunk: Chunk<Entry>, published: number, slice: Slices): boolean {
    const last = Math.min(chunk.firstOffset + chunk.events.length - 1, published)
    while (connection.position < last) {
      const offset = connection.position + 1
      const entry = chunk.events[offset - chunk.firstOffset]
      if (!entry) return true
      const message = this.#encodeFor(connection, entry, offset, published)
      if (message !== undefined) {
        if (connection.socket.bufferedBytes() > this.#options.highWaterBytes() || !connection.socket.send(message)) {
          markSlow(connection, published)
          return false
        }
        this.#options.counts.caughtUp++
      }
      if (connection.state !== 'behind') return false
      connection.position = offset
      if (slice.isOver) return true
    }
    return true
  }

  #encodeFor(connection: Connection, entry: Entry, offset: number, published: number): string | undefined {
    const owner = ownerOf(entry)
    if (owner !== undefined && owner !== connection.user) return undefined
    const device = deviceOf(entry)
    const service = serviceOf(entry)
    const bound = this.#options.boundTo(connection.tenant, entry)
    if (!isReceivedBy(connection.audience, typeOf(entry), device, service, bound)) return undefined
    if (offset <= connection.unstrippedUntil || device === undefined || service === undefined)
      return encode(entry, offset)
    const { isOverridden } = this.#options
    const { tenant } = connection
    return encodeStripped(entry, offset, (propId, isRemoval) =>
      isOverridden({ tenant, device, service, propId, isRemoval, offset }, published),
    )
  }
}

/** The socket is slow: overridden properties are left out of events that are published from now on. */
function markSlow(connection: Connection, published: number): void {
  connection.unstrippedUntil = Math.min(connection.unstrippedUntil, published)
}
