import type { Socket } from 'node:net'
import { answerWith } from '#bench/harness/answering'
import type { LoadedServer } from '#bench/harness/under-load'
import { count, type Ends } from '#bench/proof/overload/ends'
import { askAlone } from '#bench/proof/overload/lone-request'

/** Bodies of a gigabyte, to where small ones are wanted and to where large ones are. */
export interface LargeBodiesOptions extends LoadedServer {
  /** Of each kind at a time. */
  readonly atOnce: number
  readonly bodyBytes: number
}

interface Kind {
  readonly what: string
  readonly method: string
  readonly path: () => string
  readonly isKnown: boolean
  readonly isChunked: boolean
  /** So much may have been taken from us before the answer: what is read of it, and what sockets hold; of images all. */
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

const kinds: readonly Kind[] = [
  { what: 'with a length', ...json, path: devices, isKnown: true, isChunked: false },
  { what: 'in chunks', ...json, path: devices, isKnown: true, isChunked: true, sentMibMax: 512 },
  { what: 'of nobody', ...json, path: devices, isKnown: false, isChunked: false },
  { what: 'to the login', ...json, path: login, isKnown: false, isChunked: false },
  { what: 'to the login in chunks', ...json, path: login, isKnown: false, isChunked: true, sentMibMax: 512 },
  { what: 'an image with a length', ...image, isKnown: true, isChunked: false, sentMibMax: 96 },
  { what: 'an image in chunks', ...image, isKnown: true, isChunked: true, sentMibMax: 2048 },
]

const pieceBytes = 64 * 1024
const piece = Buffer.alloc(pieceBytes, 'a')
const chunk = Buffer.concat([Buffer.from(`${pieceBytes.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
const timeoutMs = 90_000
const mib = 1024 * 1024

let options: LargeBodiesOptions

answerWith({
  open(asked: LargeBodiesOptions): void {
    options = asked
  },

  async run({ seconds }: { readonly seconds: number }): Promise<Ends> {
    const ends: Ends = {}
    const over = performance.now() + seconds * 1000
    const send = async (kind: Kind) => {
      do await sendOne(kind, ends)
      while (performance.now() < over)
    }
    await Promise.all(kinds.flatMap((kind) => Array.from({ length: options.atOnce }, () => send(kind))))
    return ends
  },

  close(): void {},
})

async function sendOne(kind: Kind, ends: Ends): Promise<void> {
  const { port, bodyBytes } = options
  const { end, sentBytes } = await askAlone({ port, bytes: headOf(kind), goOn: pump(kind, bodyBytes), timeoutMs })
  count(ends, `${kind.what}: ${end}`)
  if (sentBytes > kind.sentMibMax * mib) count(ends, `${kind.what}: refused after more than ${kind.sentMibMax} MiB`)
}

function headOf({ method, path, isKnown, isChunked, contentType }: Kind): Buffer {
  const { port, bodyBytes, authorizations } = options
  const lines = [
    `${method} /api/v1${path()} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Content-Type: ${contentType}`,
    isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bodyBytes}`,
    ...(isKnown && authorizations ? [`Authorization: ${authorizations.person}`] : []),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

/** As fast as it is taken; an answer is looked for before each piece, as a write that fails would hide it. */
function pump({ isChunked }: Kind, bodyBytes: number): (socket: Socket, isOver: () => boolean) => void {
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
