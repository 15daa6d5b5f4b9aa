import type { AudienceClass, EventFilter } from '#events/audience'
import type { Scope } from '#model/scope'
import type { Socket } from '#runtime/socket'

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
