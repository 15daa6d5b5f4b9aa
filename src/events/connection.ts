import type { AudienceClass, EventFilter } from '#events/audience'
import type { Scope } from '#model/scope'
import type { Socket } from '#runtime/socket'

/** The user of a socket, and what it asks for. */
export interface Listener {
  readonly tenant: string
  /** CRN: events that concern this user alone reach no other. */
  readonly user: string
  /** Names the access, so that changing it once reaches every socket that has it. */
  readonly access: string
  readonly scope: Scope
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
  /** Another one when its access becomes another. */
  audience: AudienceClass
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
