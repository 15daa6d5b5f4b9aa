import { exchangeLong } from '#cli/exchange'
import { type Client, type ConnectOptions, connect } from '#client/client'

export const basePath = '/api/v1'

/** A server that answers, as one user or key, until the connection is closed. */
export interface Connection {
  readonly client: Client
  /** A backup, which may be long: not by the client. */
  backup(): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/**
 * @param base with the base path of the API, without a slash at the end
 * @param token sent with every request in place of credentials
 */
export function connectionTo(
  base: string,
  { credentials, token }: Pick<ConnectOptions, 'credentials'> & { readonly token?: string },
): Connection {
  let sent: Record<string, string> = {}
  const client = connect({
    url: base.slice(0, -basePath.length),
    ...(credentials && { credentials }),
    async fetch(url, init) {
      const headers = new Headers(init?.headers)
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
      sent = Object.fromEntries([...headers].filter(([name]) => name === 'authorization' || name === 'x-api-key'))
      const answer = await fetch(url, { ...init, headers })
      // A proxy may answer with a page of its own.
      const isOdd = answer.ok && answer.status !== 204 && !/json/.test(answer.headers.get('content-type') ?? '')
      if (isOdd) throw new Error(`${answer.status} with an unexpected answer`)
      return answer
    },
  })
  const hasSession = credentials !== undefined && 'name' in credentials
  return {
    client,
    async *backup() {
      // Signs in, or renews a token that is about to end.
      await client.call('GET /iam/me')
      yield* exchangeLong(`${base}/backup`, sent)
    },
    // A session left behind would end another one of the same user at some time. Contract 2, Sessions. It may have ended already.
    close: async () => (hasSession ? client.signOut().catch(() => undefined) : undefined),
  }
}
