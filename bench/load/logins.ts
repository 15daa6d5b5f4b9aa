import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { count, type EndCounts } from '#bench/load/end-counts'
import {
  type AskedLogin,
  createUsers,
  currentNonce,
  type LoginKind,
  type LoginPlace,
  loginKinds,
  loginOf,
  usersCount,
} from '#bench/load/login-requests'
import { localAddressOf, sendSingleRequest } from '#bench/load/single-request'

/**
 * Users who sign in at a steady rate, and attackers who guess passwords, each on its own connection with its own key.
 */
interface LoginsSpec extends ServerTarget {
  readonly perSecond: number
  readonly seconds: number
  /** Most of the logins are guesses. */
  readonly isAttack?: boolean
}

const { right, stranger, atOne, fromOne, again } = loginKinds
/** The kinds of logins in an attack, in rotation. */
const attack: readonly LoginKind[] = [right, stranger, right, atOne, fromOne, again]

const timeoutMs = 90_000
const tickMs = 5
/** How many logins fail at the same time before the attack: fewer than fit into the queue for password checks. */
const failuresAtOnce = 24

interface Login {
  readonly what: string
  readonly localAddress: string
  readonly bytes: Buffer
}

let spec: LoginsSpec
let failures: Login[]
let logins: readonly Login[]
let sent = 0

serveFunctions({
  /** Makes all requests with their proofs, which are valid for a minute. */
  async open(asked: LoginsSpec): Promise<void> {
    spec = asked
    const { port, authorizations, perSecond, seconds } = asked
    if (!authorizations) throw new Error('users cannot sign in while IAM is off')
    const users = await createUsers(port, authorizations.person, usersCount, 'viewer')
    const place = { port, nonce: await currentNonce(port) }
    const kinds: readonly LoginKind[] = asked.isAttack ? attack : [right]
    failures = kinds.flatMap(({ what, failures }) =>
      Array.from({ length: failures?.count ?? 0 }, (_, number) => {
        return loginBy(failures?.asks(number, users) as AskedLogin, what, place)
      }),
    )
    logins = Array.from({ length: Math.ceil(perSecond * seconds) }, (_, number) => {
      const kind = kinds[number % kinds.length] as LoginKind
      return loginBy(kind.asks(number, users), kind.what, place)
    })
    sent = 0
  },

  /** Each login starts when it is due, whether earlier ones were answered or not. */
  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    await failAll()
    const ends: EndCounts = {}
    const first = sent
    sent = Math.min(logins.length, first + Math.ceil(spec.perSecond * seconds))
    const startedAt = performance.now()
    const asked: Promise<void>[] = []
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const due = Math.min(((performance.now() - startedAt) / 1000) * spec.perSecond, sent - first)
        while (asked.length < due) asked.push(send(logins[first + asked.length] as Login, ends))
        if (asked.length < sent - first) return
        clearInterval(timer)
        resolve()
      }, tickMs)
    })
    await Promise.all(asked)
    return ends
  },
})

/** Uses up the failed logins that are allowed in a minute. @throws when one of these logins is not refused */
async function failAll(): Promise<void> {
  const failOn = async () => {
    for (let login = failures.shift(); login; login = failures.shift()) {
      const ends: EndCounts = {}
      await send(login, ends)
      if (!ends[`${login.what}: 401`]) throw new Error(`before the attack: ${Object.keys(ends)}`)
    }
  }
  await Promise.all(Array.from({ length: failuresAtOnce }, failOn))
}

async function send({ what, ...login }: Login, ends: EndCounts): Promise<void> {
  count(ends, `${what}: ${(await sendSingleRequest({ port: spec.port, ...login, timeoutMs })).end}`)
}

function loginBy({ from, who }: AskedLogin, what: string, place: LoginPlace): Login {
  const { proof, body } = loginOf(who, place)
  const bytes = Buffer.from(
    `POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1:${place.port}\r\nContent-Type: application/json\r\n` +
      `DPoP: ${proof}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  return { what, localAddress: localAddressOf(from), bytes }
}
