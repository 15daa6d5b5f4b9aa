/** How a request reached the server, as its client sees it: the server itself may stand behind a proxy. Contract 2, DPoP. */
export interface Seen {
  /**
   * What a URL of this server may begin with: scheme, host and port in the form of `URL.origin`, then the path of a
   * public URL if it has one, without a slash at its end. Empty when the request's own host can be none.
   */
  readonly origins: readonly string[]
  /** With its port if it came with one; lower case. */
  readonly host: string
  /** The client's; behind a trusted proxy the one that this proxy saw. To be asked for while the request lives. */
  readonly address: string
}
