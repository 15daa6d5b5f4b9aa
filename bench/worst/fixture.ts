import { once } from 'node:events'
import WebSocket from 'ws'
import { type Authorizations, askApi, callApi, identityOn } from '#bench/harness/identity'
import type { LoopMessage } from '#bench/harness/loop-probe'
import { ownServer } from '#bench/harness/servers'
import type { HttpAnswer, HttpOptions } from '#bench/http'
import { sleep } from '#bench/time'

/** The time after an answer for the commit and the events. */
const settleMs = 10
const answerMsMax = 30_000

/** A server with IAM on and the probe of its event loop, with the administrator's credentials. */
export interface Fixture {
  readonly port: number
  readonly person: string
  readonly link: string
  request(method: string, path: string, body?: string | object, headers?: HttpOptions['headers']): Promise<HttpAnswer>
  make<Value>(method: string, path: string, body?: object): Promise<Value>
  open(path: string, protocol?: string, authorization?: string): Promise<WebSocket>
  /** The longest run of the server's loop while `send` runs, ms. */
  longest(send: () => Promise<unknown>): Promise<number>
  stop(): Promise<void>
}

const start = ownServer({ ...identityOn, RATE_LIMITS: 'off' }, 'harness/loop-probe')

export async function startFixture(): Promise<Fixture> {
  const server = await start()
  const { port } = server
  const { person, link } = server.authorizations as Authorizations
  const ask = <Answer>(question: LoopMessage) => server.ask<Answer>(question)
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
    make: (method, path, body) => callApi(port, path, { person, method, ...(body && { body }) }),
    async open(path, protocol, authorization = person) {
      const headers = { authorization }
      const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1${path}`, protocol ?? [], { headers })
      // An error after the opening is followed by 'close'.
      socket.on('error', () => {})
      await once(socket, 'open')
      return socket
    },
    async longest(send) {
      await ask({ type: 'begin' })
      try {
        await send()
        await sleep(settleMs)
      } catch (error) {
        await ask({ type: 'end' })
        throw error
      }
      return (await ask<{ longestMs: number }>({ type: 'end' })).longestMs
    },
    stop: () => server.stop(),
  }
}

/** Resolves with the next message as Latin-1, or with undefined when the socket closes or no message arrives in time. */
export async function nextMessage(socket: WebSocket): Promise<string | undefined> {
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(answerMsMax)])
  const message = once(socket, 'message', { signal }).then(([data]) => (data as Buffer).toString('latin1'))
  const closed = once(socket, 'close', { signal }).then(() => undefined)
  return Promise.race([message, closed])
    .catch(() => undefined)
    .finally(() => ended.abort())
}
