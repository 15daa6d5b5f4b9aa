import { connect as connectTls } from 'node:tls'
import { until } from '#test/blackbox/until'

import { RawClient } from '#test/http/raw-client'

/**
 * One thing that is sent over a connection of its own, and what must come of it.
 *
 * Rows hold a canary, a request that nobody meant to send: it makes a device. It is in a row's bytes where a proxy, or a
 * reader who is less strict than we are, would take it for part of something else.
 */
export interface HttpAttack {
  readonly what: string
  /** A list: in pieces, each when the one before has been read. Characters are bytes. */
  readonly sent: string | readonly string[]
  /** Statuses of all that is answered, in order. */
  readonly answers: readonly number[]
  /** Whether the connection is closed then, serves the next request, or goes on waiting for the end of this one. */
  readonly end: 'closed' | 'open' | 'waiting'
  /** More comes than is read: the reset may overtake the answer. */
  readonly mayBeUnheard?: true
  /** What stands in the answers. */
  readonly says?: RegExp
}

/** The device that nobody meant to make. */
export const canaryName = 'CANARY'

const canaryBody = JSON.stringify({ deviceIdentifier: canaryName })

/** Whole, with a length. */
export const canary =
  `POST /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${canaryBody.length}\r\n` +
  `\r\n${canaryBody}`

/** A request without a body that is answered with 200. `lines` stand behind `Host`. */
export function get(lines: readonly string[] = [], target = '/api/v1/health'): string {
  return request('GET', target, ['Host: localhost', ...lines])
}

/** The head of a request with a body: it wants JSON, and an empty object is answered with 400 in words of its own. */
export function post(...lines: readonly string[]): string {
  return request('POST', '/api/v1/devices', ['Host: localhost', 'Content-Type: application/json', ...lines])
}

export function request(method: string, target: string, lines: readonly string[]): string {
  return `${method} ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
}

/** `4\r\nWiki\r\n…0\r\n\r\n`. */
export function chunked(...pieces: readonly string[]): string {
  return `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
}

/** What came of it. */
export interface Outcome {
  readonly answers: readonly number[]
  readonly end: HttpAttack['end']
  readonly text: string
}

/** Between pieces: longer than the server takes to read one; nothing is decided by it. */
const pauseMs = 15
/** Who says no more for so long has said all. */
const silentMs = 120

/**
 * Sends a row and sees what it comes to. A connection that seems open is asked once more, and counts as open only when
 * that is answered: whatever still hid in it is then in `answers`.
 */
export async function attempt(port: number, { sent, answers, end }: HttpAttack): Promise<Outcome> {
  const client = new RawClient(port)
  try {
    for (const [place, piece] of (typeof sent === 'string' ? [sent] : sent).entries()) {
      if (place > 0) await pause()
      if (client.socket.writable) client.send(Buffer.from(piece, 'latin1'))
    }
    const isThere = () => client.isClosed || client.statuses.length >= answers.length
    await until(isThere, () => `${answers.length} answers in ${JSON.stringify(client.text.slice(0, 500))}`)
    if (answers.length === 0) await pause()
    // Asked once more it would take that for the rest.
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

/** The same through a proxy with TLS, which answers in its own ways: all that it said until it was silent, or closed. */
export async function attemptByTls(
  port: number,
  servername: string,
  { sent }: Pick<HttpAttack, 'sent'>,
): Promise<string> {
  const socket = connectTls({ port, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  // Ours is cut off in the middle of many.
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
  for (let heard = 0; !isClosed && text.length > heard; ) {
    heard = text.length
    await pause(silentMs)
  }
  socket.destroy()
  return text
}

const pause = (ms = pauseMs) => new Promise((resolve) => setTimeout(resolve, ms))
