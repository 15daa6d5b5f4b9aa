import { type AudienceClass, Audiences, type EventFilter } from '#events/audience'
import type { Caller } from '#model/caller'
import { addTo, removeFrom } from '#model/map-values'
import type { Socket } from '#runtime/socket'

/** The open event sockets of one tenant. */
export class TenantHub {
  readonly tenant: string
  readonly audiences: Audiences
  readonly connections = new Set<Connection>()
  readonly #byUser = new Map<string, Set<Connection>>()
  /** The last offset up to which live sockets have everything. */
  published = 0
  /** Bytes of events since the buffers of all sockets were checked. */
  uncheckedBytes = 0

  constructor(tenant: string) {
    this.tenant = tenant
    this.audiences = new Audiences(`events/${tenant}`)
  }

  add(connection: Connection): void {
    this.connections.add(connection)
    addTo(this.#byUser, connection.user, connection)
  }

  remove(connection: Connection): void {
    this.connections.delete(connection)
    removeFrom(this.#byUser, connection.user, connection)
    this.audiences.leave(connection.audience)
  }

  /** `user`: CRN. */
  ofUser(user: string): Iterable<Connection> {
    return this.#byUser.get(user) ?? []
  }
}

/** The scope of a socket. `access` names it: a change of the scope affects every socket with this access. */
export type Access = Pick<Caller, 'access' | 'scope'>

/**
 * The user, the access and the filter of a socket. A client at or before `scopeSince` may have events that the access no
 * longer allows, or lack others.
 */
export interface Listener extends Access, Pick<Caller, 'tenant' | 'user' | 'scopeSince'> {
  readonly filter: EventFilter
}

/**
 * An event socket.
 *
 * - `live`: subscribed to the topic of its class; events for only its user are sent directly.
 * - `behind`: not subscribed; it has everything up to `position`, and waits for its buffer to drain, for a chunk to be
 *   read, or for its place in the queue.
 */
export interface Connection {
  readonly socket: Socket
  readonly tenant: string
  /** CRN of the user, or of the API key that acts as one. */
  readonly user: string
  audience: AudienceClass
  /**
   * The socket joins the class of this access when it becomes live again; until then it is behind, without a position.
   */
  nextAccess: Access | undefined
  state: 'live' | 'behind' | 'closed'
  /** While behind: the last offset that was sent to the socket, or that the socket is not permitted to read. */
  position: number
  /**
   * Up to this offset the socket gets every event whole. After it, overridden properties are left out, because the
   * socket was slow. Infinite at first.
   */
  unstrippedUntil: number
  /** A chunk is being read for the socket. */
  isLoading: boolean
  /** The socket waits in the queue of `CatchUp`. */
  isQueued: boolean
}

/**
 * The highest limit of unsent bytes. A socket that is behind gets no more events while its unsent bytes exceed its
 * limit. The kernel's buffer of some megabytes fills first, so this hardly affects throughput.
 */
const highWaterBytesMax = 128 * 1024
/** The lowest limit: with less, sockets would fall behind at every burst of a few events. */
const highWaterBytesMin = 16 * 1024
/** A live socket falls behind at this multiple of the high-water mark. */
export const slowHighWaters = 4
/** The limit of all unsent bytes for up to about 4 000 stalled sockets. With more, each socket has the lowest limit. */
const stalledBytesMax = 256 * 1024 * 1024

/**
 * The limit per socket falls with the number of sockets, so that all together stay within `stalledBytesMax`, as far as
 * the lowest limit permits.
 */
export function highWaterBytesOf(socketCount: number): number {
  const shareBytes = Math.floor(stalledBytesMax / slowHighWaters / Math.max(socketCount, 1))
  return Math.max(highWaterBytesMin, Math.min(highWaterBytesMax, shareBytes))
}
