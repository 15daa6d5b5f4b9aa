import { type Credentials, readToken } from '#bench/harness/identity'
import type { ServerTarget } from '#bench/harness/servers'
import { createUsers, currentNonce, signIn } from '#bench/load/login-requests'
import { RawSocket } from '#bench/load/raw-socket'
import { type CpuUse, startCpuClock } from '#bench/process-usage'

export interface AuthSpec {
  readonly scheme: 'DPoP' | 'Bearer'
  /** The sessions are used in rotation; with the DPoP scheme each has its own key. */
  readonly sessionCount: number
  /** The number of requests before the measurement. */
  readonly warmup: number
  /** The number of requests during the measurement. */
  readonly measured: number
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

/** Requests of signed-in users over 64 connections. Each connection sends its next request after the previous answer. */
export async function requestsOfUsers(server: ServerTarget, spec: AuthSpec): Promise<CpuUse> {
  const requests = await requestsOf(server, spec)
  let [next, done] = [0, 0]
  let readClock: () => CpuUse
  let sockets: readonly RawSocket[] = []
  const answered = new Promise<CpuUse>((resolve, reject) => {
    const sendNext = (socket: RawSocket) => {
      const request = requests[next++]
      if (request) socket.write(request)
    }
    const onAnswer = (socket: RawSocket) => {
      done++
      if (done === spec.warmup) readClock = startCpuClock(server.processId)
      if (done === requests.length) resolve(readClock())
      else sendNext(socket)
    }
    const open = () => openConnection(server.port, onAnswer, reject)
    Promise.all(Array.from({ length: connections }, open)).then((opened) => {
      sockets = opened
      opened.forEach(sendNext)
    }, reject)
  })
  return answered.finally(() => {
    for (const socket of sockets) socket.close()
  })
}

/** A kept-alive connection that receives one answer at a time. Cheaper than an HTTP client. */
async function openConnection(
  port: number,
  onAnswer: (socket: RawSocket) => void,
  failed: (error: Error) => void,
): Promise<RawSocket> {
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
  const closed = () => failed(new Error('the server closed a connection'))
  const socket = await RawSocket.connect({ port, received, closed }, [])
  return socket
}

/**
 * Requests of the sessions in rotation. Proofs are made before the measurement, and are valid for a minute: a run must
 * not take longer.
 */
async function requestsOf({ port, authorizations }: ServerTarget, spec: AuthSpec): Promise<readonly Buffer[]> {
  const { scheme, sessionCount, warmup, measured } = spec
  /** Each makes the next request of a session. */
  const sessions: (() => Buffer)[] = []
  const addBearer = (token: string) => {
    const request = requestOf(port, [`Authorization: Bearer ${token}`])
    sessions.push(() => request)
  }
  if (!authorizations) addBearer('x'.repeat(tokenCharacters))
  else {
    const nonce = await currentNonce(port)
    const users = await createUsers(port, authorizations.person, Math.ceil(sessionCount / sessionsPerUserMax), 'admin')
    let next = 0
    const signInMore = async () => {
      while (next < sessionCount) {
        const user = users[next++ % users.length] as Credentials
        if (scheme === 'Bearer') addBearer(await readToken(port, user))
        else {
          const { key, token } = await signIn(user, { port, nonce })
          const proof = { method: 'GET', url: `http://127.0.0.1:${port}${path}`, nonce, token }
          sessions.push(() => requestOf(port, [`Authorization: DPoP ${token}`, `DPoP: ${key.proof(proof)}`]))
        }
      }
    }
    await Promise.all(Array.from({ length: signInsAtOnce }, signInMore))
  }
  return Array.from({ length: warmup + measured }, (_, place) => sessions[place % sessions.length]?.() as Buffer)
}

function requestOf(port: number, authorization: readonly string[]): Buffer {
  const lines = [
    ...[`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, 'Accept: application/json', 'User-Agent: bench'],
    ...authorization,
  ]
  return Buffer.from(`${lines.join('\r\n')}${headEnd}`)
}
