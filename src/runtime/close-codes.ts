/** Close codes of our websockets, and what the other side should do. Contract 4.7, 7. */
export const closeCodes = {
  /** The client sent an invalid message. Do not reconnect before the client is fixed. */
  badMessage: { code: 4400, reason: 'bad message' },
  /** The session is over: sign in again. */
  sessionOver: { code: 4401, reason: 'session over' },
  notPermitted: { code: 4403, reason: 'not permitted' },
  /** Pings were not answered. Reconnect. */
  dead: { code: 4408, reason: 'no answer to pings' },
  /** The server restarts. Reconnect after a random delay. RFC 6455 registry. */
  restarting: { code: 1012, reason: 'restarting' },
  /** A bug of the server. Reconnect. RFC 6455 §7.4.1. */
  failed: { code: 1011, reason: 'internal error' },
  /** Reconnect later: too much is queued, or the store refuses writes. */
  tryLater: { code: 1013, reason: 'try again later' },
} as const

export type CloseReason = (typeof closeCodes)[keyof typeof closeCodes]
