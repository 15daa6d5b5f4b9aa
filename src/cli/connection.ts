import { exchangeLong } from '#cli/exchange'
import { type Client, type ConnectOptions, connect, Problem } from '#client/client'

export const basePath = '/api/v1'

/** A connection to a server, as one user or API key. */
export interface Connection {
  readonly client: Client
  /** Streams the answer to a GET. The client only signs in, because the answer may be too large for it. */
  download(path: string): AsyncIterable<Uint8Array>
  /** Posts a CSV text. @throws Problem */
  uploadCsv(path: string, text: string): Promise<unknown>
  close(): Promise<void>
}

/**
 * @param base with the base path of the API, without a slash at the end
 * @param token sent with every request instead of credentials
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
      // A proxy may answer with its own page.
      const isOdd = answer.ok && answer.status !== 204 && !/json/.test(answer.headers.get('content-type') ?? '')
      if (isOdd) throw new Error(`${answer.status} with an unexpected answer`)
      return answer
    },
  })
  const hasSession = credentials !== undefined && 'name' in credentials
  return {
    client,
    async *download(path) {
      // Signs in, or renews a token that is about to expire.
      await client.call('GET /iam/me')
      yield* exchangeLong(base + path, sent)
    },
    async uploadCsv(path, text) {
      await client.call('GET /iam/me')
      const headers = { ...sent, 'content-type': 'text/csv' }
      const answer = await fetch(base + path, { method: 'POST', headers, body: text })
      const body: unknown = await answer.json().catch(() => undefined)
      if (!answer.ok) throw new Problem(answer.status, body)
      return body
    },
    // Ends the session, because a user with too many sessions loses the oldest sessions. The session may have expired
    // already. Contract 2, Sessions.
    close: async () => (hasSession ? client.signOut().catch(() => undefined) : undefined),
  }
}
