import type { Credential, Request } from '#client/transport'

/** In whose name requests are sent. */
export interface Authority {
  /** Who that is, where he did not say so by `credentials`: `crn#user:…`. */
  readonly subject?: unknown
  /** What goes with a request; signs in, or renews, first if that has to be. */
  credentialFor(request: Request): Promise<Credential>
  /**
   * What went with a request was refused: whether there is something else by now. Many may wait for one renewal.
   *
   * @throws ConnectionLost or Problem when that can't be known at the moment
   */
  renew(refused: Credential): Promise<boolean>
}

/** Nobody: as it is before signing in, and where nobody does. */
export const nobody: Authority = {
  credentialFor: async () => ({}),
  renew: async () => false,
}

/** A program, by its key. Contract 2. */
export function apiKeyHolder(apiKey: string): Authority {
  return { credentialFor: async () => ({ apiKey }), renew: async () => false }
}
