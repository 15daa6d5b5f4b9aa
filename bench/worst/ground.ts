import WebSocket from 'ws'
import { type Authorizations, askApi, asked, identityOn } from '#bench/harness/identity'
import type { LoopQuestion } from '#bench/harness/loop-probe'
import { loadedBefore, startAdmitting } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import type { HttpAnswer, HttpQuestion } from '#bench/http'
import { freePort } from '#bench/server-process'

/** After the answer, for its commit and its events. */
const settleMs = 10
const answerMsMax = 30_000

/** A server with IAM on and the probe of its event loop, with the administrator's credentials. */
export interface Ground {
  readonly port: number
  readonly person: string
  readonly link: string
  /** A request of the administrator. */
  request(method: string, path: string, body?: string | object, headers?: HttpQuestion['headers']): Promise<HttpAnswer>
  /** The same; throws if it is refused. */
  make<Value>(method: string, path: string, body?: object): Promise<Value>
  open(path: string, protocol?: string, authorization?: string): Promise<WebSocket>
  /** The longest run of the server's loop while `send` runs, ms. */
  longest(send: () => Promise<unknown>): Promise<number>
  stop(): Promise<void>
}

export async function startGround(): Promise<Ground> {
  const folder = temporaryFolder('bench-worst-')
  const port = await freePort()
  const { server, authorizations } = await startAdmitting({
    port,
    dataFolder: folder.path,
    environment: { ...identityOn, RATE_LIMITS: 'off' },
    nodeArguments: loadedBefore('harness/loop-probe'),
    isKilledAtExit: true,
  })
  const { person, link } = authorizations as Authorizations
  const ask = <Answer>(question: LoopQuestion) => server.ask<Answer>(question)
  return {
    port,
    person,
    link,
    request: (method, path, body, headers) =>
      askApi(port, path, {
        method,
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        headers: { authorization: person, ...headers },
      }),
    make: (method, path, body) => asked(port, path, { person, method, ...(body && { body }) }),
    open: (path, protocol, authorization = person) =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1${path}`, protocol ?? [], {
          headers: { authorization },
        })
        socket.once('open', () => resolve(socket))
        socket.once('error', reject)
      }),
    async longest(send) {
      await ask({ type: 'begin' })
      try {
        await send()
        await new Promise((resolve) => setTimeout(resolve, settleMs))
      } catch (error) {
        await ask({ type: 'end' })
        throw error
      }
      return (await ask<{ longestMs: number }>({ type: 'end' })).longestMs
    },
    async stop() {
      await server.stop()
      await folder.remove()
    },
  }
}

/** Resolves with the next message as Latin-1, or with undefined when the socket closes or nothing comes. */
export function answer(socket: WebSocket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(undefined), answerMsMax)
    const done = (text: string | undefined) => {
      clearTimeout(timer)
      socket.off('message', heard)
      socket.off('close', closed)
      resolve(text)
    }
    const heard = (data: WebSocket.RawData) => done((data as Buffer).toString('latin1'))
    const closed = () => done(undefined)
    socket.once('message', heard)
    socket.once('close', closed)
  })
}
