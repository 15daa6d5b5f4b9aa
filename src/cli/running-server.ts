import { readHealth } from '#api/health'
import { readMe } from '#api/sessions'
import { type Connection, connectionTo } from '#cli/connection'
import { type Answer, NoAnswer, requestPage } from '#cli/exchange'
import { Refusal } from '#cli/exit-codes'

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
