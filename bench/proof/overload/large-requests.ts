import type { Socket } from 'node:net'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { count, type EndCounts } from '#bench/load/end-counts'
import { sendSingleRequest } from '#bench/load/single-request'

/**
 * Sends bodies of a gigabyte to routes for small and for large bodies, or heads at the limit and above it, on many
 * connections, one request after the other on each.
 */
interface LargeRequestsOptions extends ServerTarget {
  readonly parts: 'bodies' | 'heads'
  readonly atOnce: number
}

interface Body {
  readonly what: string
  readonly method: string
  readonly path: () => string
  readonly isKnown: boolean
  readonly isChunked: boolean
  /**
   * How much the server may take before it answers: bytes that it reads and bytes in socket buffers; images may be read
   * fully.
   */
  readonly sentMibMax: number
  readonly contentType: string
}

const json = { method: 'POST', contentType: 'application/json', sentMibMax: 96 } as const
const devices = () => '/devices'
const login = () => '/auth/login'
/** Two uploads of one release at once are a conflict. */
let images = 0
const image = {
  method: 'PUT',
  path: () => `/updates/projects/flood/releases/9.9.${images++}`,
  contentType: 'application/octet-stream',
} as const

const bodies: readonly Body[] = [
  { what: 'with a length', ...json, path: devices, isKnown: true, isChunked: false },
  { what: 'in chunks', ...json, path: devices, isKnown: true, isChunked: true, sentMibMax: 512 },
  { what: 'without credentials', ...json, path: devices, isKnown: false, isChunked: false },
  { what: 'to the login', ...json, path: login, isKnown: false, isChunked: false },
  { what: 'to the login in chunks', ...json, path: login, isKnown: false, isChunked: true, sentMibMax: 512 },
  { what: 'an image with a length', ...image, isKnown: true, isChunked: false, sentMibMax: 96 },
  { what: 'an image in chunks', ...image, isKnown: true, isChunked: true, sentMibMax: 2048 },
]

const line = 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n'

const many = (headers: number) => Array.from({ length: headers }, (_, place) => `X-${place}: ${place}\r\n`).join('')

/** A head may have 16 KiB. */
const heads: Readonly<Record<string, string>> = {
  'a value of 12 KiB': `${line}X-A: ${'a'.repeat(12_288)}\r\n\r\n`,
  'ninety headers': `${line}${many(90)}\r\n`,
  'a token of 12 KiB': `${line.replace('health', 'devices')}Authorization: Bearer ${'a'.repeat(12_288)}\r\n\r\n`,
  'two hundred headers': `${line}${many(200)}\r\n`,
  'ten thousand headers': `${line}${many(10_000)}\r\n`,
  'a value of 1 MiB': `${line}X-A: ${'a'.repeat(2 ** 20)}\r\n\r\n`,
  'a name without an end': `${line}${'a'.repeat(17_408)}`,
  'line ends without an end': '\r\n'.repeat(10_000),
}

const bodyBytes = 2 ** 30
const pieceBytes = 64 * 1024
const piece = Buffer.alloc(pieceBytes, 'a')
const chunk = Buffer.concat([Buffer.from(`${pieceBytes.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
const timeoutMs = 90_000
const mib = 1024 * 1024

let options: LargeRequestsOptions

serveFunctions({
  open(asked: LargeRequestsOptions): void {
    options = asked
  },

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    const ends: EndCounts = {}
    const over = performance.now() + seconds * 1000
    const again = async (send: () => Promise<void>) => {
      do await send()
      while (performance.now() < over)
    }
    const all =
      options.parts === 'bodies'
        ? bodies.map((body) => () => sendBody(body, ends))
        : Object.entries(heads).map(([what, text]) => {
            const bytes = Buffer.from(text, 'latin1')
            return async () =>
              count(ends, `${what}: ${(await sendSingleRequest({ port: options.port, bytes, timeoutMs })).end}`)
          })
    await Promise.all(all.flatMap((send) => Array.from({ length: options.atOnce }, () => again(send))))
    return ends
  },
})

async function sendBody(kind: Body, ends: EndCounts): Promise<void> {
  const { port } = options
  const { end, sentBytes } = await sendSingleRequest({ port, bytes: headOf(kind), goOn: pump(kind), timeoutMs })
  count(ends, `${kind.what}: ${end}`)
  if (sentBytes > kind.sentMibMax * mib) count(ends, `${kind.what}: refused after more than ${kind.sentMibMax} MiB`)
}

function headOf({ method, path, isKnown, isChunked, contentType }: Body): Buffer {
  const { port, authorizations } = options
  const lines = [
    `${method} /api/v1${path()} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Content-Type: ${contentType}`,
    isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bodyBytes}`,
    ...(isKnown && authorizations ? [`Authorization: ${authorizations.person}`] : []),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

/** Sends as fast as the server reads; checks for an answer before each piece, because a failing write would hide it. */
function pump({ isChunked }: Body): (socket: Socket, isOver: () => boolean) => void {
  return (socket, isOver) => {
    let sent = 0
    const write = () => {
      if (isOver() || sent >= bodyBytes) return
      sent += pieceBytes
      if (socket.write(isChunked ? chunk : piece)) setImmediate(write)
      else socket.once('drain', () => setImmediate(write))
    }
    write()
  }
}
