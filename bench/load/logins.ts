import { connect } from 'node:net'
import { serveFunctions } from '#bench/harness/remote-functions'
import type { ServerTarget } from '#bench/harness/server-target'
import { createUsers, currentNonce, type Login, loginOf } from '#bench/load/login-requests'

/** Users who log in at a steady rate, each from its own address, on its own connection and with its own key. */
interface LoginsSpec extends ServerTarget {
  readonly perSecond: number
  readonly milliseconds: number
}

export interface LoginsResult {
  readonly seconds: number
  readonly signedIn: number
  /** Refused with a wait: too many passwords were waiting for a check. */
  readonly refused: number
}

/** Several, because a user may have only a hundred sessions; each user costs one password hash. */
const users = 20
const tickMs = 5

let spec: LoginsSpec
let logins: readonly Login[]
let came = 0

serveFunctions({
  /** All proofs are made here and are valid for a minute. */
  async open(asked: LoginsSpec) {
    spec = asked
    const { port, perSecond, milliseconds, authorizations } = spec
    if (!authorizations) throw new Error('users cannot log in while IAM is off')
    const brought = await createUsers(port, authorizations.person, users, 'viewer')
    const place = { port, nonce: await currentNonce(port) }
    const count = Math.ceil((perSecond * milliseconds) / 1000)
    logins = Array.from({ length: count }, (_, number) => {
      const who = brought[number % users]
      if (!who) throw new Error('there are no users')
      return loginOf(who, place)
    })
    came = 0
  },

  /** Each login starts when it is due, whether earlier ones were answered or not. */
  async run({ milliseconds }: Pick<LoginsSpec, 'milliseconds'>): Promise<LoginsResult> {
    const startedAt = performance.now()
    const statuses: Promise<number>[] = []
    const first = came
    const count = Math.min(Math.ceil((spec.perSecond * milliseconds) / 1000), logins.length - first)
    came += count
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const due = Math.min(((performance.now() - startedAt) / 1000) * spec.perSecond, count)
        while (statuses.length < due) statuses.push(statusOf(first + statuses.length))
        if (statuses.length < count) return
        clearInterval(timer)
        resolve()
      }, tickMs)
    })
    const seconds = (performance.now() - startedAt) / 1000
    const answers = await Promise.all(statuses)
    const answered = (status: number) => answers.filter((each) => each === status).length
    const result = { seconds, signedIn: answered(200), refused: answered(503) }
    if (result.signedIn + result.refused < answers.length) {
      throw new Error(`logins were answered ${[...new Set(answers)].join(', ')}`)
    }
    return result
  },
})

/** Minimal HTTP: an HTTP client would use a fifth of a core of the machine that is measured. */
function statusOf(number: number): Promise<number> {
  const { proof, body } = logins[number] as Login
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: spec.port, localAddress: addressOf(number), noDelay: true })
    socket.write(
      `POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1:${spec.port}\r\nContent-Type: application/json\r\n` +
        `DPoP: ${proof}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
    socket.once('data', (answer) => {
      resolve(Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer.toString('latin1', 0, 13))?.[1]))
      socket.destroy()
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('a login was not answered')))
  })
}

/** All of 127.0.0.0/8 is this machine. */
function addressOf(number: number): string {
  return `127.1.${(number >> 8) & 0xff}.${number & 0xff}`
}
