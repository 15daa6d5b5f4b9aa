import { type AudienceClass, Audiences, type EventFilter } from '#events/audience'
import type { Scope } from '#model/scope'
import type { Socket } from '#runtime/socket'

/** The open event sockets of one tenant. */
export class TenantHub {
  readonly tenant: string
  readonly audiences: Audiences
  readonly #connections = new Set<Connection>()
  readonly #byUser = new Map<string, Set<Connection>>()
  /** The last offset of which live sockets have everything. */
  told = 0
  /** Bytes of events since the buffers of all sockets were looked at. */
  unlookedBytes = 0

  constructor(tenant: string) {
    this.tenant = tenant
    this.audiences = new Audiences(`events/${tenant}`)
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections
  }

  add(connection: Connection): void {
    this.#connections.add(connection)
    const ofUser = this.#byUser.get(connection.user)
    if (ofUser) ofUser.add(connection)
    else this.#byUser.set(connection.user, new Set([connection]))
  }

  remove(connection: Connection): void {
    this.#connections.delete(connection)
    const ofUser = this.#byUser.get(connection.user)
    ofUser?.delete(connection)
    if (ofUser?.size === 0) this.#byUser.delete(connection.user)
    this.audiences.leave(connection.audience)
  }

  /** `user`: CRN. */
  ofUser(user: string): Iterable<Connection> {
    return this.#byUser.get(user) ?? []
  }
}

/** What a socket may receive. `access` names it: a change of the scope concerns every socket with this access. */
export interface Access {
  readonly access: string
  readonly scope: Scope
}

/** The user of a socket, and what it asks for. */
export interface Listener extends Access {
  readonly tenant: string
  /** CRN: events that concern this user alone reach no other. */
  readonly user: string
  /**
   * The last offset of the stream when this access last changed, −1 for never: a client that is no further may have events
   * that the access does not reach any more, or lack others.
   */
  readonly scopeSince: number
  readonly filter: EventFilter
}

/**
 * A dashboard's socket.
 *
 * - `live`: subscribed to the topic of its audience; events of its user alone are sent to it directly.
 * - `behind`: not subscribed; it has everything it may hear up to `position`, and waits for its buffer to drain, for a
 *   chunk to be read or for its turn to be sent more.
 */
export interface Connection {
  readonly socket: Socket
  readonly tenant: string
  /** CRN of the user, or of the API key that acts as one. */
  readonly user: string
  audience: AudienceClass
  /** It joins the audience of this access when it is live again; until then it is behind, at no position. */
  nextAccess: Access | undefined
  state: 'live' | 'behind' | 'closed'
  /** While behind: the last offset it has been sent or may not hear. */
  position: number
  /** Up to here it hears everything; beyond, it was slow and hears what was not overridden. Infinite until it is. */
  unstrippedUntil: number
  /** A chunk is being read for it. */
  isLoading: boolean
  /** It waits in the queue of those that can be sent more. */
  isQueued: boolean
}

/**
 * Unsent bytes of one socket above which it is sent no more until they have drained. The kernel's own buffer of some
 * megabytes is filled before, so this decides little about speed.
 */
const highWaterBytesMax = 128 * 1024
/** Less would be a few events, and sockets would fall behind at every burst. */
const highWaterBytesMin = 16 * 1024
/** A live socket with this many times the high water in its buffer falls behind. */
export const slowHighWaters = 4
/** Of up to 4 000 stalled sockets of all users; beyond that each may keep the least. */
const stalledBytesMax = 256 * 1024 * 1024

/** The more sockets there are, the less each may keep: one user with a thousand stalled sockets costs no more memory. */
export function highWaterBytesOf(socketCount: number): number {
  const shareBytes = Math.floor(stalledBytesMax / slowHighWaters / Math.max(socketCount, 1))
  return Math.max(highWaterBytesMin, Math.min(highWaterBytesMax, shareBytes))
}
