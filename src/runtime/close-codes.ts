/** Why we close a websocket, and what the other side does about it. Contract 4.7, 7. */
export const closeCodes = {
  /** What came is not what may come. Do not come back before it is mended. */
  badMessage: { code: 4400, reason: 'bad message' },
  /** The session is over: sign in again. */
  sessionOver: { code: 4401, reason: 'session over' },
  /** Not permitted any more. */
  notPermitted: { code: 4403, reason: 'not permitted' },
  /** No ping was answered for too long. Come back. */
  dead: { code: 4408, reason: 'no answer to pings' },
  /** The server restarts. Come back, with jitter. RFC 6455 registry. */
  restarting: { code: 1012, reason: 'restarting' },
  /** A bug of ours. Come back. RFC 6455 §7.4.1. */
  failed: { code: 1011, reason: 'internal error' },
  /** Try again later: too much waits, or the store takes no writes. */
  tryLater: { code: 1013, reason: 'try again later' },
} as const

export type CloseReason = (typeof closeCodes)[keyof typeof closeCodes]
