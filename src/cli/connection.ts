import { readHealth } from '#api/health'
import { readMe } from '#api/sessions'
import { type Answer, exchangeLong, NoAnswer, requestPage } from '#cli/exchange'
import { Refusal } from '#cli/exit-codes'
import { type Client, type ConnectOptions, connect, Problem } from '#client/client'

export type Credentials =
  | { readonly apiKey: string }
  | {
      readonly name: string
      /** Asks for the password. Called only if a server was found that needs one. @throws Misuse without a terminal */
      readonly password: (place: string) => Promise<string>
    }

/** How long a health check may take. The server needs no time for it. */
const healthTimeoutMs = 10_000

/**
 * Connects to a server. The first call sends the credentials. Returns undefined if nothing listens there.
 *
 * @param isOpenAllowed whether authentication may be off
 * @param doubt returns why the server may be another server than the configured one; absent if any server is right
 * @throws Refusal if a program of another kind answers, if the server may be another one, or if its authentication is
 * off although that is not allowed; Misuse if a password is needed and there is no terminal; NoAnswer
 */
export async function connectToServer(
  base: string,
  credentials: Credentials,
  isOpenAllowed: boolean,
  doubt?: () => Promise<string | undefined>,
): Promise<Connection | undefined> {
  if (!(await isServing(base))) return undefined
  const reason = await doubt?.()
  if (reason !== undefined) {
    const what = `the server at ${base} may be another one, so no credentials were sent: ${reason}`
    throw new Refusal(`${what}\nIf it is the right one, use --url.`)
  }
  // If authentication is off, every caller is an administrator and no password is needed. Contract 2.
  if ((await answerAt(base, readMe.path))?.status === 200) {
    if (isOpenAllowed) return connectionTo(base, {})
    throw new Refusal(`IAM is off at ${base}: that server has no users, roles, tenants, keys and sessions`)
  }
  if ('apiKey' in credentials) return connectionTo(base, { credentials })
  const { name, password } = credentials
  return connectionTo(base, { credentials: { scheme: 'basic', name, password: await password(base) } })
}

/** Whether a server of this kind answers. @throws Refusal if another program answers; NoAnswer */
export async function isServing(base: string): Promise<boolean> {
  const answer = await answerAt(base, readHealth.path)
  if (!answer) return false
  return (answer.status === 200 && answer.text === '{"status":"ok"}') || refuse(base, answer)
}

/** Returns undefined if nothing listens there. Refuses a redirection: the user must name the new address. */
async function answerAt(base: string, path: string): Promise<Answer | undefined> {
  try {
    const answer = await requestPage(base + path, healthTimeoutMs)
    return answer.headers.has('location') ? refuse(base, answer) : answer
  } catch (error) {
    if (error instanceof NoAnswer && error.isRefused) return undefined
    throw error
  }
}

function refuse(base: string, { status, headers }: Answer): never {
  const what = `the server at ${base} is not a healthy server of this kind: ${status}`
  const location = headers.get('location')
  throw new Refusal(
    location === null ? what : `${what}\nIt redirects to ${location}: if that is the right one, use --url.`,
  )
}

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
