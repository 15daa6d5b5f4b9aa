import { readHealth } from '#api/health'
import { readMe } from '#api/identity'
import { type Connection, connectionTo } from '#cli/connection'
import { Refusal } from '#cli/ending'
import { type Answer, exchange, NoAnswer } from '#cli/exchange'

export type Credentials =
  | { readonly apiKey: string }
  | {
      readonly name: string
      /** Asked for only when a server was found that needs it. @throws Misuse without a terminal */
      readonly password: (place: string) => Promise<string>
    }

/** A server of ours says at once that it is well. */
const lookWithinMs = 10_000

/**
 * Connects to a server, which gets the credentials with the first call. Undefined when nothing listens there.
 *
 * @param mayBeOpen whether a server with IAM off will do: the work is not about users
 * @param doubt why the server may be another one than the configured one; without it any server will do
 * @throws Refusal for anything but a server of ours; NoAnswer
 */
export async function meet(
  base: string,
  credentials: Credentials,
  mayBeOpen: boolean,
  doubt?: () => Promise<string | undefined>,
): Promise<Connection | undefined> {
  if (!(await isServing(base))) return undefined
  const why = await doubt?.()
  if (why !== undefined) {
    const what = `what answers at ${base} may be somebody else's, and is told nothing: ${why}`
    throw new Refusal(`${what}\nIf it is meant all the same, say so with --url.`)
  }
  // With IAM off every caller is an administrator, and no password is needed. Contract 2.
  if ((await looked(base, readMe.path))?.status === 200) {
    if (mayBeOpen) return connectionTo(base, {})
    throw new Refusal(`IAM is off at ${base}: that server knows no users, roles, tenants, keys and sessions`)
  }
  if ('apiKey' in credentials) return connectionTo(base, { credentials })
  const { name, password } = credentials
  return connectionTo(base, { credentials: { scheme: 'basic', name, password: await password(base) } })
}

/** Whether a server of ours answers. @throws Refusal for another one; NoAnswer */
export async function isServing(base: string): Promise<boolean> {
  const answer = await looked(base, readHealth.path)
  if (!answer) return false
  return (answer.status === 200 && answer.text === '{"status":"ok"}') || refuse(base, answer)
}

/** Undefined when nothing listens there. A redirection is refused: no password goes there unless the user names it. */
async function looked(base: string, path: string): Promise<Answer | undefined> {
  try {
    const answer = await exchange(base + path, lookWithinMs)
    return answer.headers.has('location') ? refuse(base, answer) : answer
  } catch (error) {
    if (error instanceof NoAnswer && error.isRefused) return undefined
    throw error
  }
}

function refuse(base: string, { status, headers }: Answer): never {
  const what = `what answers at ${base} is no such server, or not well: ${status}`
  const location = headers.get('location')
  throw new Refusal(location === null ? what : `${what}\nIt points to ${location}: say so with --url, if that is it.`)
}
