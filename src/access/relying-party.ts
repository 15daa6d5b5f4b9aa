/** The relying party of authenticators, and the pages that may use it. WebAuthn §5.1.3, contract 2. */
export interface RelyingParty {
  /** A host name without a port. Keys are made for it, and do not work under another one. */
  readonly id: string
  readonly name: string
  readonly origins: readonly string[]
}

export interface RelyingPartySettings {
  readonly publicUrls: readonly string[]
  readonly corsOrigins: readonly string[]
  /** The port of the server. */
  readonly port: number
}

const name = 'Device Data Backend'

/** From the configuration only, never from a request, because a client could name any host. */
export function relyingPartyOf({ publicUrls, corsOrigins, port }: RelyingPartySettings): RelyingParty {
  const [first] = publicUrls
  const own = first === undefined ? [`http://localhost:${port}`] : publicUrls.map((url) => new URL(url).origin)
  const id = first === undefined ? 'localhost' : new URL(first).hostname
  return { id, name, origins: [...new Set([...own, ...corsOrigins])] }
}
