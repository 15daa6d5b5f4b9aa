import { serveFunctions } from '#bench/harness/remote-functions'
import type { ServerTarget } from '#bench/harness/server-target'
import { createUsers, currentNonce, type LoginPlace, loginOf } from '#bench/load/login-requests'
import { count, type EndCounts } from '#bench/proof/overload/end-counts'
import { type LoginAsked, type LoginKind, loginKinds } from '#bench/proof/overload/login-kinds'
import { localAddressOf, sendSingleRequest } from '#bench/proof/overload/single-request'

/** Users who log in and attackers who guess passwords, each on its own connection and with its own key. */
export interface LoginFloodOptions extends ServerTarget {
  readonly perSecond: number
  readonly seconds: number
}

/** Several, because a user may have only a hundred sessions. */
const usersLeft = 20
const timeoutMs = 90_000
const tickMs = 5
/** Failed logins at a time before the flood; fewer than the login queue holds. */
const failuresAtOnce = 24

const { right, stranger, atOne, fromOne, again } = loginKinds
/** In rotation. */
const kinds: readonly LoginKind[] = [right, stranger, right, atOne, fromOne, again]

interface Login {
  readonly what: string
  readonly localAddress: string
  readonly bytes: Buffer
}

let port: number
let perSecond: number
let failures: readonly Login[]
let flood: readonly Login[]

serveFunctions({
  /** All proofs are made here and are valid for a minute. */
  async open({ authorizations, ...asked }: LoginFloodOptions): Promise<void> {
    ;({ port, perSecond } = asked)
    if (!authorizations) throw new Error('users cannot log in while IAM is off')
    const [one = missingUser(), other = missingUser(), ...left] = await createUsers(
      port,
      authorizations.person,
      usersLeft + 2,
      'viewer',
    )
    const there = { guessedAt: [one, other], left } as const
    const place = { port, nonce: await currentNonce(port) }
    failures = kinds.flatMap(({ what, failures }) =>
      Array.from({ length: failures?.count ?? 0 }, (_, number) => {
        return loginBy(failures?.asks(number, there) as LoginAsked, what, place)
      }),
    )
    flood = Array.from({ length: Math.ceil(perSecond * asked.seconds) }, (_, number) => {
      const kind = kinds[number % kinds.length] as LoginKind
      return loginBy(kind.asks(number, there), kind.what, place)
    })
  },

  async run(): Promise<EndCounts> {
    await failAll()
    return floodAll()
  },

  close(): void {},
})

/** Uses up the failed logins that are allowed in a minute. @throws when one of them is not refused */
async function failAll(): Promise<void> {
  const left = [...failures]
  const failOn = async () => {
    for (let login = left.shift(); login; login = left.shift()) {
      const { end } = await sendSingleRequest({ port, ...login, timeoutMs })
      if (end !== '401') throw new Error(`before the flood, ${login.what} was answered ${end}`)
    }
  }
  await Promise.all(Array.from({ length: failuresAtOnce }, failOn))
}

/** Each login starts when it is due, whether earlier ones were answered or not. */
async function floodAll(): Promise<EndCounts> {
  const ends: EndCounts = {}
  const startedAt = performance.now()
  const asked: Promise<void>[] = []
  const ask = async ({ what, ...login }: Login) => {
    count(ends, `${what}: ${(await sendSingleRequest({ port, ...login, timeoutMs })).end}`)
  }
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(((performance.now() - startedAt) / 1000) * perSecond, flood.length)
      while (asked.length < due) asked.push(ask(flood[asked.length] as Login))
      if (asked.length < flood.length) return
      clearInterval(timer)
      resolve()
    }, tickMs)
  })
  await Promise.all(asked)
  return ends
}

function loginBy({ from, who }: LoginAsked, what: string, place: LoginPlace): Login {
  const { proof, body } = loginOf(who, place)
  const bytes = Buffer.from(
    `POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1:${place.port}\r\nContent-Type: application/json\r\n` +
      `DPoP: ${proof}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  return { what, localAddress: localAddressOf(from), bytes }
}

function missingUser(): never {
  throw new Error('too few users were created')
}
