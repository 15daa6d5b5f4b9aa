import { type AudienceClass, isReceivedBy, resumeClasses } from '#events/audience'
import { CatchUp, type IsOverridden } from '#events/catch-up'
import { reportedBytes } from '#events/object-updated'
import {
  type Access,
  type Connection,
  highWaterBytesOf,
  type Listener,
  slowHighWaters,
  TenantHub,
} from '#events/tenant-hub'
import { boundOf, deviceOf, encode, ownerOf, serviceOf, typeOf } from '#events/wire-format'
import type { Entry, EntryExceptReport } from '#model/entry'
import { type BindingLists, bindingLists } from '#model/group'
import type { Scope } from '#model/scope'
import type { EventListener } from '#runtime/gate'
import type { Position, StreamReader } from '#runtime/journal'
import type { Socket, SocketPublisher } from '#runtime/socket'
import type { StreamHead } from '#runtime/stream-head'
import type { World } from '#runtime/world'

export interface HubOptions {
  readonly world: World
  readonly publisher: SocketPublisher
  readonly reader: StreamReader<Entry>
  readonly isOverridden: IsOverridden
  /** The current members of a group; undefined if it was deleted. */
  readonly membersOf: (tenant: string, group: string) => readonly string[] | undefined
  readonly published?: (tenant: string, entry: EntryExceptReport) => void
  readonly failed: (error: unknown) => void
  /**
   * Above this number of unsent bytes, no more events are sent to a socket that is behind. A live socket falls behind
   * at `slowHighWaters` times this number. Default: `highWaterBytesOf`.
   */
  readonly highWaterBytes?: number
}

/** The events that a socket gets: all after a position, or new ones, with a STREAM first ('now') or without it. */
export type Resume = { readonly after: Position } | 'now' | undefined

/**
 * Publishes committed events to sockets. For live sockets every event is encoded at most once, and published once to
 * each class that may receive it. A socket that is too slow is unsubscribed, so that other sockets never wait for it;
 * it gets the missed events later, from the stream. Contract 4.
 */
export class Hub implements EventListener<Entry> {
  readonly #options: HubOptions
  readonly #tenants = new Map<string, TenantHub>()
  readonly #connections = new Map<Socket, Connection>()
  readonly #catchUp: CatchUp
  /** Sockets that lost a message since the last release; they cannot be changed inside `dropped`. */
  readonly #lossy: Connection[] = []
  /**
   * `bytes`: of all deliveries; in events written as text, each UTF-16 unit counts as one byte. `caughtUp`: events sent
   * later to sockets that missed them.
   */
  readonly counts = { events: 0, publishes: 0, deliveries: 0, bytes: 0, caughtUp: 0, fallen: 0, resyncs: 0 }
  #behindCount = 0

  constructor(options: HubOptions) {
    this.#options = options
    this.#catchUp = new CatchUp({
      world: options.world,
      reader: options.reader,
      counts: this.counts,
      isOverridden: options.isOverridden,
      boundTo: (tenant, entry) => this.#boundTo(tenant, entry),
      publishedTo: (tenant) => this.#tenant(tenant).published,
      caughtUp: (connection) => this.#goLive(connection),
      lost: (connection) => this.#resync(connection),
      failed: options.failed,
      highWaterBytes: () => this.#highWaterBytes,
    })
  }

  get #highWaterBytes(): number {
    return this.#options.highWaterBytes ?? highWaterBytesOf(this.#connections.size)
  }

  socketCount(tenant?: string): number {
    return (tenant === undefined ? this.#connections : this.#tenants.get(tenant)?.connections)?.size ?? 0
  }

  behindCount(): number {
    return this.#behindCount
  }

  /** The last offset sent to live sockets of a tenant. */
  publishedTo(tenant: string): number {
    return this.#tenant(tenant).published
  }

  beforeRelease(): void {
    for (const connection of this.#lossy.splice(0)) this.#lost(connection)
  }

  released(head: StreamHead<Entry>, entry: Entry, offset: number): number {
    const hub = this.#tenant(head.tenant)
    hub.published = offset
    this.counts.events++
    if (entry.kind !== 'reported') this.#options.published?.(head.tenant, entry)
    if (hub.connections.size === 0) return 0
    const receivers =
      entry.kind === 'reported'
        ? hub.audiences.receivers('OBJECT_UPDATED', entry.device, entry.shape.serviceIdentifier)
        : this.#receivers(hub, entry)
    if (!receivers) return this.#sendToOwner(hub, entry, offset)
    if (receivers.length === 0) return 0
    const message = (entry.kind === 'reported' && reportedBytes(entry, offset)) || encode(entry, offset)
    for (const audience of receivers) this.#publish(audience, message)
    hub.uncheckedBytes += message.length
    if (hub.uncheckedBytes > this.#highWaterBytes) this.#unsubscribeSlow(hub)
    return receivers.length
  }

  /** Sockets of the tenant may lack the event that could not be published, so all of them read the full state again. */
  lost({ tenant }: StreamHead<Entry>): void {
    this.beforeRelease()
    for (const connection of this.#tenant(tenant).connections) this.#resync(connection)
  }

  add(socket: Socket, listener: Listener, resume: Resume): void {
    const hub = this.#tenant(listener.tenant)
    const { tenant, user, access, scope, filter } = listener
    const connection: Connection = {
      socket,
      tenant,
      user,
      audience: hub.audiences.join(access, scope, filter),
      nextAccess: undefined,
      state: 'behind',
      position: hub.published,
      unstrippedUntil: Number.POSITIVE_INFINITY,
      isLoading: false,
      isQueued: false,
    }
    this.#behindCount++
    this.#connections.set(socket, connection)
    hub.add(connection)
    if (resume !== undefined) this.#begin(connection, listener, resume)
    if (connection.position < hub.published) this.#catchUp.enqueue(connection)
    else this.#goLive(connection)
  }

  remove(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (!connection) return
    this.#become(connection, 'closed')
    this.#connections.delete(socket)
    this.#tenant(connection.tenant).remove(connection)
  }

  dropped(socket: Socket): void {
    const connection = this.#connections.get(socket)
    // Also for a socket that is behind: an event published before it fell behind may be flushed, and dropped, later.
    if (connection && !this.#lossy.includes(connection)) this.#lossy.push(connection)
  }

  drained(socket: Socket): void {
    // The lost event may have been the last one, so without this call the socket would never catch up.
    this.beforeRelease()
    const connection = this.#connections.get(socket)
    if (connection) this.#catchUp.enqueue(connection)
  }

  /**
   * The position of a socket: everything up to it was sent, or is not readable for it. Undefined while a RESYNC is
   * pending.
   */
  positionOf(socket: Socket): Position | undefined {
    const connection = this.#connections.get(socket)
    if (!connection || this.#lossy.includes(connection)) return undefined
    const offset = this.#offsetOf(connection, this.#tenant(connection.tenant).published)
    return offset === noPosition ? undefined : { epoch: this.#options.reader.epoch, offset }
  }

  /**
   * Changes the scopes of accesses, all at the same time: their sockets read the full state again. RESYNC takes about
   * 20 µs per socket and is sent in slices; until then the sockets receive nothing. Contract 4.4.
   */
  redefine(tenant: string, changed: ReadonlyMap<string, Scope>): void {
    const hub = this.#tenant(tenant)
    const paused = hub.audiences.redefine(changed)
    this.beforeRelease()
    for (const connection of hub.connections) {
      const { nextAccess } = connection
      const scope = nextAccess && changed.get(nextAccess.access)
      if (nextAccess && scope) connection.nextAccess = { ...nextAccess, scope }
      if (!connection.audience.isPaused) continue
      if (connection.state === 'live') this.counts.resyncs++
      else {
        connection.position = noPosition
        this.#catchUp.enqueue(connection)
      }
    }
    const { world } = this.#options
    const resync = (audience: AudienceClass) => this.#publish(audience, this.#resyncMessage(hub.published))
    if (paused.length > 0) world.soon(() => resumeClasses(world, hub.audiences, [...paused], resync))
  }

  /**
   * Gives a socket another access: it reads the full state again. It receives nothing until its RESYNC, which is sent
   * in slices, and then everything in its filter that the new access allows.
   */
  move(socket: Socket, access: Access): void {
    this.beforeRelease()
    const connection = this.#connections.get(socket)
    if (!connection) return
    if (connection.state === 'live') this.#leave(connection)
    connection.position = noPosition
    connection.nextAccess = access
    this.#catchUp.enqueue(connection)
  }

  /**
   * The store was reloaded after a failure. Unpublished entries in it are published now. `isRewound`: the store
   * contains less than was published, so no client can resume from its position.
   */
  reloaded(lastOf: (tenant: string) => number, isRewound: boolean): void {
    this.beforeRelease()
    for (const hub of this.#tenants.values()) {
      const last = lastOf(hub.tenant)
      const before = hub.published
      hub.published = last
      for (const connection of hub.connections) {
        if (isRewound) this.#resync(connection)
        // A live socket is not slow, so it receives every event unstripped.
        else if (connection.state === 'live' && before < last)
          this.#fallBehind(connection, this.#offsetOf(connection, before), Number.POSITIVE_INFINITY)
        else this.#catchUp.enqueue(connection)
      }
    }
  }

  /** Call it when the server starts: everything stored counts as published. */
  load(tenant: string, last: number): void {
    this.#tenant(tenant).published = last
  }

  /**
   * Sends STREAM and sets the position from which the socket receives events. If one of the missed events is no longer
   * available, none of them is sent. Contract 4.4.
   */
  #begin(connection: Connection, listener: Listener, resume: Exclude<Resume, undefined>): void {
    const { reader } = this.#options
    const hub = this.#tenant(connection.tenant)
    const isRecovered = resume === 'now' || this.#isRecoverable(listener, resume.after)
    if (isRecovered && resume !== 'now') connection.position = resume.after.offset
    const offset = isRecovered ? connection.position : hub.published
    connection.socket.send(JSON.stringify({ type: 'STREAM', epoch: reader.epoch, offset, recovered: isRecovered }))
  }

  #isRecoverable({ tenant, scopeSince }: Listener, { epoch, offset }: Position): boolean {
    const { reader } = this.#options
    const last = reader.lastOffsetUnder(tenant, epoch)
    // An offset that is committed but not published was never given to a client.
    if (last === undefined || offset > Math.min(last, this.#tenant(tenant).published)) return false
    return offset > scopeSince && offset + 1 >= reader.retainedFrom(tenant)
  }

  #become(connection: Connection, state: Connection['state']): void {
    if (connection.state === 'behind') this.#behindCount--
    if (state === 'behind') this.#behindCount++
    connection.state = state
  }

  #goLive(connection: Connection): void {
    const { nextAccess, audience } = connection
    if (nextAccess) {
      const { audiences } = this.#tenant(connection.tenant)
      connection.audience = audiences.join(nextAccess.access, nextAccess.scope, audience.filter)
      connection.nextAccess = undefined
      audiences.leave(audience)
    }
    this.#become(connection, 'live')
    connection.socket.subscribe(connection.audience.topic)
  }

  /**
   * Makes sockets with full buffers fall behind now, while all messages sent so far are still in order: after
   * uWebSockets.js drops a message, later ones overtake it, and the order cannot be restored.
   */
  #unsubscribeSlow(hub: TenantHub): void {
    hub.uncheckedBytes = 0
    const slowBytes = slowHighWaters * this.#highWaterBytes
    for (const connection of hub.connections) {
      if (connection.state === 'live' && connection.socket.bufferedBytes() > slowBytes)
        this.#fallBehind(connection, this.#offsetOf(connection, hub.published))
    }
  }

  /** Unsubscribes a socket. It has received everything up to `position`. */
  #fallBehind(connection: Connection, position: number, unstrippedUntil = position): void {
    this.counts.fallen++
    this.#leave(connection)
    connection.position = position
    connection.unstrippedUntil = unstrippedUntil
    this.#catchUp.enqueue(connection)
  }

  /** The socket lost a message and may have received later ones, so it cannot catch up. */
  #lost(connection: Connection): void {
    if (connection.state === 'closed') return
    if (connection.state === 'live') {
      this.counts.fallen++
      this.#leave(connection)
    }
    this.#resync(connection)
  }

  #leave(connection: Connection): void {
    this.#become(connection, 'behind')
    connection.socket.unsubscribe(connection.audience.topic)
  }

  /** The socket has to read the full state again, and receives everything from now on. */
  #resync(connection: Connection): void {
    const hub = this.#tenant(connection.tenant)
    const wasLive = connection.state === 'live'
    if (!wasLive) connection.position = noPosition
    if (!connection.socket.send(this.#resyncMessage(hub.published))) {
      // The buffer is full: the RESYNC is sent when it has drained.
      if (wasLive) this.#lossy.push(connection)
      return
    }
    this.counts.resyncs++
    connection.position = hub.published
    connection.unstrippedUntil = hub.published
    if (!wasLive) this.#goLive(connection)
  }

  #resyncMessage(offset: number): string {
    return JSON.stringify({ type: 'RESYNC', epoch: this.#options.reader.epoch, offset })
  }

  /** Undefined for an event of one user, which other users with the same access do not receive. */
  #receivers({ tenant, audiences }: TenantHub, entry: Entry): readonly AudienceClass[] | undefined {
    if (ownerOf(entry) !== undefined) return undefined
    return audiences.receivers(typeOf(entry), deviceOf(entry), serviceOf(entry), this.#boundTo(tenant, entry))
  }

  /**
   * Sends an event of one user. Such events are rare, and a user has few sockets, so they need no topic. Returns the
   * number of sockets.
   */
  #sendToOwner(hub: TenantHub, entry: Entry, offset: number): number {
    const connections = [...hub.ofUser(ownerOf(entry) as string)].filter(
      ({ state, audience }) => state === 'live' && !audience.isPaused && isReceivedBy(audience, typeOf(entry)),
    )
    if (connections.length === 0) return 0
    const message = encode(entry, offset)
    for (const { socket } of connections) {
      if (!socket.send(message)) this.dropped(socket)
    }
    this.counts.deliveries += connections.length
    this.counts.bytes += connections.length * message.length
    return connections.length
  }

  /**
   * The last offset up to which the socket received everything, if live sockets received everything up to `published`.
   */
  #offsetOf({ state, position, audience }: Connection, published: number): number {
    if (state === 'behind') return position
    return audience.isPaused ? noPosition : published
  }

  /** Uses the current groups, for live sockets and those that catch up. */
  #boundTo(tenant: string, entry: Entry): BindingLists | undefined {
    const bound = boundOf(entry)
    return bound && bindingLists(bound, (group) => this.#options.membersOf(tenant, group))
  }

  #publish(audience: AudienceClass, message: string | Uint8Array): void {
    if (audience.isPaused) return
    this.counts.publishes++
    this.counts.deliveries += audience.sockets
    this.counts.bytes += audience.sockets * message.length
    this.#options.publisher.publish(audience.topic, message)
  }

  #tenant(tenant: string): TenantHub {
    let hub = this.#tenants.get(tenant)
    if (!hub) {
      hub = new TenantHub(tenant)
      this.#tenants.set(tenant, hub)
    }
    return hub
  }
}

/** A position from which a socket cannot catch up. */
const noPosition = -1
