import { connect, type Socket } from 'node:net'

export interface SingleRequest {
  readonly port: number
  readonly localAddress?: string
  readonly bytes: Buffer
  /** Continues to send until `isOver`. */
  readonly goOn?: (socket: Socket, isOver: () => boolean) => void
  readonly timeoutMs: number
}

export interface SingleAnswer {
  /** The status of the answer, otherwise how the connection ended without an answer. */
  readonly end: string
  readonly sentBytes: number
}

export const unanswered = {
  closed: 'closed without an answer',
  reset: 'reset without an answer',
  silent: 'no answer in time',
  outside: 'not let in',
} as const

const headEnd = '\r\n\r\n'
const retryAfter = /\r\nretry-after: *\d+\r\n/i
const addressesOfThird = 250

/**
 * Sends one request on its own connection, and reports how it ended. A 429 or 503 without `Retry-After` gets a note.
 */
export function sendSingleRequest({
  port,
  localAddress,
  bytes,
  goOn,
  timeoutMs,
}: SingleRequest): Promise<SingleAnswer> {
  return new Promise((resolve) => {
    let head = ''
    let isOver = false
    let isConnected = false
    let errorCode: string | undefined
    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      ...(localAddress !== undefined && { localAddress }),
    })
    const end = (how: string) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      resolve({ end: how, sentBytes: socket.bytesWritten })
      socket.destroy()
    }
    const timer = setTimeout(() => end(unanswered.silent), timeoutMs)
    socket.on('data', (piece) => {
      head += piece.toString('latin1')
      if (head.includes(headEnd)) end(statusOf(head))
    })
    socket.once('connect', () => {
      isConnected = true
      socket.write(bytes)
      goOn?.(socket, () => isOver || socket.destroyed)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      errorCode = error.code
    })
    socket.once('close', () => {
      if (!isConnected) end(unanswered.outside)
      else end(errorCode === undefined ? unanswered.closed : unanswered.reset)
    })
  })
}

/** The status, with a note if a temporary refusal has no `Retry-After`. RFC 9110 §10.2.3 */
function statusOf(head: string): string {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 'not HTTP'
  const isTemporary = status === '429' || status === '503'
  return isTemporary && !retryAfter.test(head) ? `${status} without Retry-After` : status
}

/** One of many addresses of this machine: all of 127.0.0.0/8 is local. */
export function localAddressOf(number: number): string {
  return `127.${1 + (Math.floor(number / addressesOfThird ** 2) % addressesOfThird)}.${
    Math.floor(number / addressesOfThird) % addressesOfThird
  }.${1 + (number % addressesOfThird)}`
}
