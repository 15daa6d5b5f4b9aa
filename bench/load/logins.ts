import { answerWith } from '#bench/harness/answering'
import type { LoadedServer } from '#bench/harness/under-load'
import { bringInMany, currentNonce, type Login, loginOf, send } from '#bench/load/sign-ins'

/** People who sign in all at once: so many a second, each from an address, on a connection and by a key of his own. */
export interface LoginsSpec extends LoadedServer {
  readonly perSecond: number
  /** How long they come. */
  readonly milliseconds: number
}

export interface LoginsResult {
  readonly seconds: number
  readonly signedIn: number
  /** Told to come again: too many passwords waited to be checked. */
  readonly refused: number
}

/** More than one, as each may have a hundred sessions only; a password is hashed for each. */
const users = 20
/** What is due goes out so often. */
const tickMs = 5

let spec: LoginsSpec
let logins: readonly Login[]

answerWith({
  /** All proofs are made here; they are good for a minute. */
  async open(asked: LoginsSpec) {
    spec = asked
    const { port, perSecond, milliseconds, authorizations } = spec
    if (!authorizations) throw new Error('nobody signs in where identity is off')
    const brought = await bringInMany(port, authorizations.person, users, 'viewer')
    const place = { port, nonce: await currentNonce(port) }
    const count = Math.ceil((perSecond * milliseconds) / 1000)
    logins = Array.from({ length: count }, (_, number) => {
      const who = brought[number % users]
      if (!who) throw new Error('there are no users')
      return loginOf(who, place)
    })
  },

  /** Whoever is due signs in, whether those before him were answered or not. */
  async run(): Promise<LoginsResult> {
    const startedAt = performance.now()
    const statuses: Promise<number>[] = []
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const due = Math.min(((performance.now() - startedAt) / 1000) * spec.perSecond, logins.length)
        while (statuses.length < due) statuses.push(statusOf(statuses.length))
        if (statuses.length < logins.length) return
        clearInterval(timer)
        resolve()
      }, tickMs)
    })
    const seconds = (performance.now() - startedAt) / 1000
    const told = await Promise.all(statuses)
    const count = (status: number) => told.filter((each) => each === status).length
    const result = { seconds, signedIn: count(200), refused: count(503) }
    if (result.signedIn + result.refused < told.length) {
      throw new Error(`logins were answered ${[...new Set(told)].join(', ')}`)
    }
    return result
  },
})

async function statusOf(number: number): Promise<number> {
  const { status } = await send(spec.port, logins[number] as Login, addressOf(number))
  return status
}

/** All of 127.0.0.0/8 is this machine. */
function addressOf(number: number): string {
  return `127.1.${(number >> 8) & 0xff}.${number & 0xff}`
}
