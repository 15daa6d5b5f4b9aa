import type { AudienceClass } from '#events/audience'
import type { PersonalClass } from '#events/personal-audiences'
import type { Socket } from '#runtime/socket'

/**
 * A dashboard's socket.
 *
 * - `live`: subscribed to its two classes; every event is published to them.
 * - `behind`: not subscribed; it has everything it may hear up to `position`, and waits for its buffer to drain, for a
 *   chunk to be read or for its turn to be sent more.
 */
export interface Connection {
  readonly socket: Socket
  readonly tenant: string
  /** Another one when its access becomes another, like the next. */
  audience: AudienceClass
  /** By it alone it hears what concerns its user. */
  personal: PersonalClass
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

export function subscribe({ socket, audience, personal }: Connection): void {
  socket.subscribe(audience.topic)
  socket.subscribe(personal.topic)
}

export function unsubscribe({ socket, audience, personal }: Connection): void {
  socket.unsubscribe(audience.topic)
  socket.unsubscribe(personal.topic)
}
