import { Hub, type Resume } from '#events/hub'
import type { Listener } from '#events/tenant-hub'
import type { Entry } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import { everything } from '#model/scope'
import type { Shape } from '#model/shape'
import type { Chunk, StreamReader } from '#runtime/journal'
import type { SocketPublisher } from '#runtime/socket'
import { StreamHead } from '#runtime/stream-head'
import { Shapes } from '#store/shapes'
import { type StallingSocket, StallingSockets } from '#test/events/stalling-sockets'
import { ann } from '#test/events/subscription-entries'
import { ManualWorld } from '#test/runtime/manual-world'

export const tenant = 'default'

const shapes = new Shapes(() => undefined)
const propertyCount = 3

function shapeOf(service: string): Shape {
  const type = propertyTypeOf('uint32')
  if (!type) throw new Error('no such type')
  return shapes.intern(
    service,
    Array.from({ length: propertyCount }, (_, propId) => ({ propId, type, modifier: 0 })),
  )
}

interface ConnectOptions {
  /** Resumes after this offset of the first epoch. */
  readonly after?: number | undefined
  readonly resume?: Resume
  readonly listener?: Partial<Listener>
  readonly limitBytes?: number
}

/**
 * A hub with a stream that the test publishes entry by entry. The test sets the length of its chunks. Only some old
 * chunks are in memory, and reading the others takes simulated time.
 */
export class TestStream implements StreamReader<Entry> {
  readonly world = new ManualWorld()
  readonly sockets = new StallingSockets()
  readonly hub: Hub
  /** The entries by offset, from 1. */
  readonly entries: (Entry | undefined)[] = [undefined]
  readonly failures: unknown[] = []
  epoch = 'now'
  /** The last offset of each earlier epoch. */
  readonly ended = new Map<string, number>()
  retained = 1
  chunkCount = 4
  /** The chunks from this offset on are in memory. */
  recentFrom = 1
  readonly #head = new StreamHead<Entry>(tenant, 0)
  readonly #taken: Entry[] = []
  /** The last offset of each property in the actor of its device, published or not. */
  readonly lastOf = new Map<string, number>()
  /** The last published offset of each property. */
  readonly publishedOf = new Map<string, number>()
  /** The members of each group, which the hub reads. */
  readonly groups = new Map<string, readonly string[]>()

  constructor(highWaterBytes?: number, publisher?: SocketPublisher) {
    this.hub = new Hub({
      world: this.world,
      publisher: publisher ?? this.sockets,
      reader: this,
      isOverridden: ({ device, service, propId, offset }, published) => {
        const last = this.lastOf.get(`${device}/${service}/${propId}`) ?? 0
        return last > offset && last <= published
      },
      membersOf: (_, group) => this.groups.get(group),
      failed: (error) => this.failures.push(error),
      ...(highWaterBytes === undefined ? {} : { highWaterBytes }),
    })
    this.sockets.hub = this.hub
  }

  get last(): number {
    return this.entries.length - 1
  }

  /** Applies an entry in its actor. It is stored and published together with the next published one. */
  take(entry: Entry): void {
    this.#taken.push(entry)
    for (const key of keysOf(entry)) this.lastOf.set(key, this.last + this.#taken.length)
  }

  /** Applies, stores and publishes entries. */
  publish(...entries: Entry[]): void {
    for (const entry of entries) this.take(entry)
    this.hub.beforeRelease()
    for (const entry of this.#taken.splice(0)) {
      this.entries.push(entry)
      for (const key of keysOf(entry)) this.publishedOf.set(key, this.last)
      try {
        this.hub.released(this.#head, entry, this.last)
      } catch (error) {
        this.failures.push(error)
        this.hub.lost(this.#head)
      }
    }
  }

  /** Publishes a report of one property. The value is the offset. */
  report(device = 'A', propId = 0, service = 's'): void {
    this.publish(this.reportOf(device, propId, service))
  }

  reportOf(device = 'A', propId = 0, service = 's', value = this.last + this.#taken.length + 1): Entry {
    const items = [propId, value]
    const shape = shapeOf(service)
    return { kind: 'reported', device, flakeAddress: 1, shape, at: 5, timestamp: 5, seq: 1, items }
  }

  listener(more: Partial<Listener> = {}): Listener {
    return { tenant, user: ann, access: 'all', scope: everything, scopeSince: -1, filter: {}, ...more }
  }

  connect({ after, resume, listener, limitBytes }: ConnectOptions = {}): StallingSocket {
    const socket = this.sockets.open(limitBytes)
    const resumed = after === undefined ? resume : { after: { epoch: 'now', offset: after } }
    this.hub.add(socket, this.listener(listener), resumed)
    return socket
  }

  settle(): Promise<void> {
    return this.world.settle()
  }

  retainedFrom(): number {
    return this.retained
  }

  lastOffsetUnder(_: string, epoch: string): number | undefined {
    return epoch === this.epoch ? this.last : this.ended.get(epoch)
  }

  recent(_: string, offset: number): Chunk<Entry> | undefined {
    return offset < this.recentFrom ? undefined : this.#chunk(offset)
  }

  load(_: string, offset: number): Promise<Chunk<Entry> | undefined> {
    return new Promise((loaded) => this.world.soon(() => loaded(this.#chunk(offset))))
  }

  #chunk(offset: number): Chunk<Entry> | undefined {
    const firstOffset = Math.floor((offset - 1) / this.chunkCount) * this.chunkCount + 1
    if (offset > this.last || offset < 1 || firstOffset < this.retained - this.chunkCount) return undefined
    return { firstOffset, events: this.entries.slice(firstOffset, firstOffset + this.chunkCount) as Entry[] }
  }
}

/** The keys of the properties in a report. */
function keysOf(entry: Entry): string[] {
  if (entry.kind !== 'reported') return []
  const service = `${entry.device}/${entry.shape.serviceIdentifier}`
  return entry.items.filter((_, at) => at % 2 === 0).map((index) => `${service}/${index}`)
}

/** Lets all clients read until no more messages come. */
export async function readAll(stream: TestStream): Promise<void> {
  for (let quiet = 0; quiet < 2; ) {
    const before = [...stream.sockets.sockets].reduce((sum, { received }) => sum + received.length, 0)
    await stream.settle()
    for (const socket of [...stream.sockets.sockets]) socket.read()
    const after = [...stream.sockets.sockets].reduce((sum, { received }) => sum + received.length, 0)
    quiet = before === after ? quiet + 1 : 0
  }
}
