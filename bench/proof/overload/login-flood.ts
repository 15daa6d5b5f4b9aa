import { answerWith } from '#bench/harness/answering'
import type { LoadedServer } from '#bench/harness/under-load'
import { bringInMany, currentNonce, loginOf } from '#bench/load/sign-ins'
import { count, type Ends } from '#bench/proof/overload/ends'
import { askAlone, localAddressOf } from '#bench/proof/overload/lone-request'

/** People who sign in, among them those who guess; each from an address of his own, on a connection and by a key of his own. */
export interface LoginFloodOptions extends LoadedServer {
  readonly perSecond: number
  readonly seconds: number
}

/** As each may have a hundred sessions only. */
const users = 24
/** Of those: whose passwords are guessed. The others have theirs right. */
const guessed = 4
const timeoutMs = 90_000
const tickMs = 5

let port: number
let perSecond: number
let requests: readonly Buffer[]

answerWith({
  /** All proofs are made here; they are good for a minute. */
  async open({ authorizations, ...asked }: LoginFloodOptions): Promise<void> {
    ;({ port, perSecond } = asked)
    if (!authorizations) throw new Error('nobody signs in where identity is off')
    const brought = await bringInMany(port, authorizations.person, users, 'viewer')
    const place = { port, nonce: await currentNonce(port) }
    requests = Array.from({ length: Math.ceil(perSecond * asked.seconds) }, (_, number) => {
      const right = brought[guessed + ((number >> 1) % (users - guessed))]
      const wrong = { name: brought[(number >> 2) % guessed]?.name ?? '', password: `guess ${number}` }
      const unknown = { name: `nobody ${number}`, password: `guess ${number}` }
      const { proof, body } = loginOf([right, wrong, right, unknown][number % 4] ?? unknown, place)
      return Buffer.from(
        `POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n` +
          `DPoP: ${proof}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      )
    })
  },

  /** Whoever is due signs in, whether those before him were answered or not. */
  async run(): Promise<Ends> {
    const ends: Ends = {}
    const startedAt = performance.now()
    const asked: Promise<void>[] = []
    const ask = async (number: number) => {
      const bytes = requests[number] as Buffer
      count(ends, (await askAlone({ port, localAddress: localAddressOf(number), bytes, timeoutMs })).end)
    }
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const due = Math.min(((performance.now() - startedAt) / 1000) * perSecond, requests.length)
        while (asked.length < due) asked.push(ask(asked.length))
        if (asked.length < requests.length) return
        clearInterval(timer)
        resolve()
      }, tickMs)
    })
    await Promise.all(asked)
    return ends
  },

  close(): void {},
})
