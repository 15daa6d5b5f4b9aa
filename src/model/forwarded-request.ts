/** The address of a request as its client sees it: the server may be behind a proxy. Contract 2, DPoP. */
export interface ForwardedRequest {
  /**
   * Possible beginnings of URLs of this server: scheme, host and port in the form of `URL.origin`, then the path of a
   * public URL if it has one, without a slash at its end. Empty if the request's host is not valid.
   */
  readonly origins: readonly string[]
  /** The host of the request, with its port if there was one; lower case. */
  readonly host: string
  /**
   * The address of the client; behind a trusted proxy the one that this proxy reports. The first read must happen
   * before the request ends.
   */
  readonly address: string
}
