import { isHeard } from '#events/audience'
import type { Connection } from '#events/tenant-hub'
import { deviceOf, encode, encodeStripped, ownerOf, serviceOf, typeOf } from '#events/wire'
import type { MeantLists } from '#model/bound'
import type { Entry } from '#model/entry'
import { Slices } from '#runtime/slices'
import type { Chunk, StreamReader } from '#runtime/stream'
import type { World } from '#runtime/world'

/** A property, as an entry says what it stands at or that it is gone. */
interface SaidItem {
  readonly tenant: string
  readonly device: string
  readonly service: string
  readonly propId: number
  readonly isRemoval: boolean
  /** The entry's. */
  readonly offset: number
}

/** Whether a later entry says it again, which was told already: live sockets have heard everything up to `told`. */
export type IsOverridden = (item: SaidItem, told: number) => boolean

export interface CatchUpOptions {
  readonly world: World
  readonly reader: StreamReader<Entry>
  readonly isOverridden: IsOverridden
  /** `caughtUp`: events that were sent. */
  readonly counts: { caughtUp: number }
  /** The devices that the thing is bound to which an entry tells of, if it names none of its own. */
  readonly boundTo: (tenant: string, entry: Entry) => MeantLists | undefined
  /** The last offset that live sockets were told. */
  readonly toldTo: (tenant: string) => number
  /** It has been sent everything: it is live from this very moment. */
  readonly caughtUp: (connection: Connection) => void
  /** What it missed is not retained any more. */
  readonly lost: (connection: Connection) => void
  readonly failed: (error: unknown) => void
  /**
   * No more is sent to a socket with this much in its buffer, and none goes live: it is looked at again when that has
   * drained. Well below the limit above which messages are lost.
   */
  readonly highWaterBytes: () => number
}

/** When a chunk could not be read. */
const retryMs = 1_000

/**
 * Sends sockets what they missed, in offset order, as fast as each takes it. All share slices of two milliseconds, so
 * that neither one with much to hear nor a thousand at once hold up the others.
 */
export class CatchUp {
  readonly #options: CatchUpOptions
  readonly #queue: Connection[] = []
  #isRunning = false

  constructor(options: CatchUpOptions) {
    this.#options = options
  }

  /** It can be sent more: it is behind and its buffer has room. */
  ready(connection: Connection): void {
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

  /** Sends chunk after chunk until it has all, takes no more, or the slice is over. */
  #send(connection: Connection, slice: Slices): void {
    const { reader, toldTo, caughtUp, lost, highWaterBytes } = this.#options
    const { tenant } = connection
    while (connection.state === 'behind') {
      const told = toldTo(tenant)
      if (connection.socket.bufferedBytes() > highWaterBytes()) {
        isSlow(connection, told)
        return
      }
      if (connection.position >= told) {
        caughtUp(connection)
        return
      }
      if (slice.isOver) {
        this.ready(connection)
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
      if (!this.#sendTogether(connection, chunk, told, slice)) return
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
      const told = this.#options.toldTo(connection.tenant)
      if (this.#sendTogether(connection, chunk, told, new Slices(world))) this.ready(connection)
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
        // The store is being reopened, perhaps: we look again.
        world.after(retryMs, () => this.ready(connection))
      },
    )
  }

  /** An event could not be sent, and without it there is no order to go on in. */
  #giveUp(connection: Connection, error: unknown): void {
    this.#options.failed(error)
    if (connection.state === 'behind') this.#options.lost(connection)
  }

  #sendTogether(connection: Connection, chunk: Chunk<Entry>, told: number, slice: Slices): boolean {
    let takesMore = true
    connection.socket.together(() => {
      takesMore = this.#sendChunk(connection, chunk, told, slice)
    })
    return takesMore
  }

  /** False when it takes no more for now. An event has up to 300 KB: the slice may end within a chunk. */
  #sendChunk(connection: Connection, chunk: Chunk<Entry>, told: number, slice: Slices): boolean {
    const last = Math.min(chunk.firstOffset + chunk.events.length - 1, told)
    while (connection.position < last) {
      const offset = connection.position + 1
      const entry = chunk.events[offset - chunk.firstOffset]
      if (!entry) return true
      const message = this.#encodeFor(connection, entry, offset, told)
      if (message !== undefined) {
        if (connection.socket.bufferedBytes() > this.#options.highWaterBytes() || !connection.socket.send(message)) {
          isSlow(connection, told)
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

  #encodeFor(connection: Connection, entry: Entry, offset: number, told: number): string | undefined {
    const owner = ownerOf(entry)
    if (owner !== undefined && owner !== connection.user) return undefined
    const device = deviceOf(entry)
    const service = serviceOf(entry)
    const bound = this.#options.boundTo(connection.tenant, entry)
    if (!isHeard(connection.audience, typeOf(entry), device, service, bound)) return undefined
    if (offset <= connection.unstrippedUntil || device === undefined || service === undefined)
      return encode(entry, offset)
    const { isOverridden } = this.#options
    const { tenant } = connection
    return encodeStripped(entry, offset, (propId, isRemoval) =>
      isOverridden({ tenant, device, service, propId, isRemoval, offset }, told),
    )
  }
}

/** It takes no more for now: what is told from here on comes to it stripped. */
function isSlow(connection: Connection, told: number): void {
  connection.unstrippedUntil = Math.min(connection.unstrippedUntil, told)
}
