import { readToken } from '#bench/harness/identity'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { createUsers, currentNonce, type DpopKey, signIn } from '#bench/load/login-requests'
import { RawSocket } from '#bench/load/raw-socket'
import { type CpuUse, startCpuClock } from '#bench/process-usage'

/**
 * Requests of signed-in users over 64 connections. Each connection sends its next request after the previous answer.
 */

export interface AuthSpec extends ServerTarget {
  readonly scheme: 'DPoP' | 'Bearer'
  /** The sessions are used in rotation; with the DPoP scheme each has its own key. */
  readonly sessionCount: number
}

export interface AuthPhase {
  /** The number of requests before the measurement. */
  readonly warmup: number
  /** The number of requests during the measurement. */
  readonly measured: number
}

export interface AuthResult extends CpuUse {
  readonly requests: number
}

const path = '/api/v1/iam/me'
const headEnd = '\r\n\r\n'
const lengthPattern = /^content-length: (\d+)\r$/im
const connections = 64
/** Contract 2, Sessions. */
const sessionsPerUserMax = 100
/** Fewer than fit into the server's queue for password checks. */
const signInsAtOnce = 16
/** The usual length of a token, for a server that does not read it. */
const tokenCharacters = 700

interface Session {
  readonly token: string
  readonly key?: DpopKey
}

let spec: AuthSpec
let nonce: string
let sessions: readonly Session[]
let sockets: readonly RawSocket[]
let onAnswer: (socket: RawSocket) => void = () => {}
let failed: (error: Error) => void = () => {}

serveFunctions({
  async open(wanted: AuthSpec) {
    spec = wanted
    const { port, authorizations } = spec
    if (authorizations === undefined) sessions = [{ token: 'x'.repeat(tokenCharacters) }]
    else {
      nonce = await currentNonce(port)
      sessions = await openSessions(authorizations.person)
    }
    sockets = await Promise.all(Array.from({ length: connections }, openConnection))
  },

  /** Proofs are made before the measurement, and are valid for a minute: a run must not take longer. */
  run({ warmup, measured }: AuthPhase): Promise<AuthResult> {
    const requests = requestsOf(warmup + measured)
    let next = 0
    let done = 0
    let readClock: () => CpuUse
    return new Promise((resolve, reject) => {
      failed = reject
      const sendNext = (socket: RawSocket) => {
        const request = requests[next++]
        // A connection that waited too long may be closed.
        if (socket.isDestroyed) reject(closedError())
        else if (request) socket.write(request)
      }
      onAnswer = (socket) => {
        done++
        if (done === warmup) readClock = startCpuClock(spec.processId)
        if (done === requests.length) resolve({ ...readClock(), requests: measured })
        else sendNext(socket)
      }
      for (const socket of sockets) sendNext(socket)
    })
  },
})

const closedError = () => new Error('the server closed a connection')

/** A kept-alive connection that sends each request after the previous answer. Cheaper than an HTTP client. */
async function openConnection(): Promise<RawSocket> {
  let answer = ''
  const received = (bytes: Buffer) => {
    // Latin-1 has one character per byte, so that lengths count bytes.
    answer += bytes.toString('latin1')
    const end = answer.indexOf(headEnd)
    if (end < 0 || answer.length < end + headEnd.length + Number(lengthPattern.exec(answer)?.[1])) return
    if (answer.startsWith('HTTP/1.1 200 ')) {
      answer = ''
      onAnswer(socket)
    } else failed(new Error(`a request was answered ${answer.slice(0, 500)}`))
  }
  const socket = await RawSocket.connect({ port: spec.port, received, closed: () => failed(closedError()) }, [])
  return socket
}

async function openSessions(person: string): Promise<readonly Session[]> {
  const { port, scheme, sessionCount } = spec
  const users = await createUsers(port, person, Math.ceil(sessionCount / sessionsPerUserMax), 'admin')
  const opened: Session[] = []
  let next = 0
  const signInMore = async () => {
    while (next < sessionCount) {
      const user = users[next++ % users.length]
      if (!user) return
      opened.push(scheme === 'DPoP' ? await signIn(user, { port, nonce }) : { token: await readToken(port, user) })
    }
  }
  await Promise.all(Array.from({ length: signInsAtOnce }, signInMore))
  return opened
}

/** Requests of the sessions in rotation. With the Bearer scheme all requests of a session are identical. */
function requestsOf(count: number): readonly Buffer[] {
  const bearerRequests = spec.scheme === 'Bearer' ? sessions.map(requestOf) : undefined
  return Array.from({ length: count }, (_, place) => {
    const index = place % sessions.length
    return bearerRequests?.[index] ?? requestOf(sessions[index] as Session)
  })
}

function requestOf({ token, key }: Session): Buffer {
  const host = `127.0.0.1:${spec.port}`
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Accept: application/json',
    'User-Agent: bench',
    `Authorization: ${spec.scheme} ${token}`,
    ...(key ? [`DPoP: ${key.proof({ method: 'GET', url: `http://${host}${path}`, nonce, token })}`] : []),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}
