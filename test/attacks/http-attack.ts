import { connect as connectTls } from 'node:tls'
import { until } from '#test/blackbox/until'
import { RawClient } from '#test/http/raw-client'

/**
 * Bytes that are sent over a new connection, and the expected outcome.
 *
 * Many rows contain a canary, which is a smuggled request that creates a device. The canary stands where a proxy or a
 * less strict parser would read it as part of another request.
 */
export interface HttpAttack {
  readonly name: string
  /** The bytes, one for each character. The pieces of a list are sent one after the other, with pauses. */
  readonly sent: string | readonly string[]
  /** The statuses of all answers in order. */
  readonly answers: readonly number[]
  /** Whether the connection is then closed, open for the next request (default), or waiting for the rest of it. */
  readonly end?: 'closed' | 'open' | 'waiting'
  /** True if more is sent than the server reads, so that a reset may overtake the answer. */
  readonly mayBeUnanswered?: true
  /** A pattern that the text of the answers must match. */
  readonly text?: RegExp
}

/** The device that a smuggled request would create. */
export const canaryName = 'CANARY'

const canaryBody = JSON.stringify({ deviceIdentifier: canaryName })

/** A complete request with a length, which creates the device. */
export const canary =
  `POST /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${canaryBody.length}\r\n` +
  `\r\n${canaryBody}`

/** A request without a body, which is answered with 200. `lines` follow the header `Host`. */
export function get(lines: readonly string[] = [], target = '/api/v1/health'): string {
  return request('GET', target, ['Host: localhost', ...lines])
}

/** The head of a request with a JSON body. An empty object as the body is answered with 400. */
export function post(...lines: readonly string[]): string {
  return request('POST', '/api/v1/devices', ['Host: localhost', 'Content-Type: application/json', ...lines])
}

export function request(method: string, target: string, lines: readonly string[]): string {
  return `${method} ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
}

/** The pieces as a chunked body: `4\r\nWiki\r\n…0\r\n\r\n`. */
export function chunked(...pieces: readonly string[]): string {
  return `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
}

export interface Outcome {
  readonly answers: readonly number[]
  readonly end: NonNullable<HttpAttack['end']>
  readonly text: string
}

/** The pause between pieces, long enough to read one. No result depends on it. */
const pauseMs = 15
/** After this silence an answer is complete. */
const silentMs = 120

/**
 * Sends a row and returns the outcome. A connection is open only if the server answers another request on it, so that
 * `answers` includes the answers to all smuggled requests.
 */
export async function attempt(port: number, { sent, answers, end = 'open' }: HttpAttack): Promise<Outcome> {
  const client = new RawClient(port)
  try {
    for (const [place, piece] of (typeof sent === 'string' ? [sent] : sent).entries()) {
      if (place > 0) await pause()
      if (client.socket.writable) client.send(Buffer.from(piece, 'latin1'))
    }
    const isThere = () => client.isClosed || client.statuses.length >= answers.length
    await until(isThere, () => `${answers.length} answers in ${JSON.stringify(client.text.slice(0, 500))}`)
    if (answers.length === 0) await pause()
    // The server would read another request as the rest of this one.
    if (end === 'waiting' && !client.isClosed) return { answers: client.statuses, end, text: client.text }
    const asked = `fence-${++fences}`
    if (!client.isClosed && client.socket.writable) client.send(get([`X-Request-Id: ${asked}`]))
    const isAnswered = () => client.isClosed || client.text.includes(`X-Request-Id: ${asked}\r\n`)
    await until(isAnswered, () => `an end of ${JSON.stringify(client.text.slice(0, 500))}`)
    const isOpen = client.text.includes(`X-Request-Id: ${asked}\r\n`)
    const text = client.text
    return { answers: isOpen ? client.statuses.slice(0, -1) : client.statuses, end: isOpen ? 'open' : 'closed', text }
  } finally {
    client.socket.destroy()
  }
}

let fences = 0

/** Sends a row through a proxy with TLS. Resolves when the proxy has answered and is silent, or closes. */
export async function attemptByTls(
  port: number,
  servername: string,
  { sent }: Pick<HttpAttack, 'sent'>,
): Promise<{ readonly received: () => string; readonly close: () => void }> {
  const socket = connectTls({ port, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  // The proxy aborts many of these connections.
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('secureConnect', resolve))
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece
  })
  let isClosed = false
  socket.once('close', () => {
    isClosed = true
  })
  for (const [place, piece] of (typeof sent === 'string' ? [sent] : sent).entries()) {
    if (place > 0) await pause()
    if (socket.writable) socket.write(Buffer.from(piece, 'latin1'))
  }
  await until(() => isClosed || text !== '', 'the proxy to answer')
  for (let received = 0; !isClosed && text.length > received; ) {
    received = text.length
    await pause(silentMs)
  }
  return { received: () => text, close: () => socket.destroy() }
}

const pause = (ms = pauseMs) => new Promise((resolve) => setTimeout(resolve, ms))
