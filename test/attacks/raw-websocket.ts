import { connect, type Socket } from 'node:net'
import { until } from '#test/blackbox/until'

/** Of RFC 6455 §5.2. */
export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface FrameParts {
  readonly opcode: number
  readonly payload?: string | Uint8Array
  /** By default the last of its message. */
  readonly isFinal?: boolean
  /** The three reserved bits, RSV1 the highest. */
  readonly reserved?: number
  /** By default one that is no zero. `none`: as only servers may send. */
  readonly mask?: 'zero' | 'none'
  /** How many bytes say the length, by default as few as do. */
  readonly lengthBytes?: 1 | 2 | 8
  /** What is said of the length, by default the truth. */
  readonly length?: bigint
}

const usualMask = Buffer.from([0x37, 0xfa, 0x21, 0x3d])

/** One frame as clients send them. */
export function frame({ opcode, payload = '', isFinal = true, reserved = 0, mask, ...said }: FrameParts): Buffer {
  const bytes = Buffer.from(payload as Uint8Array)
  const length = said.length ?? BigInt(bytes.length)
  const lengthBytes = said.lengthBytes ?? (length < 126n ? 1 : length < 65_536n ? 2 : 8)
  const isMasked = mask !== 'none'
  const head = Buffer.alloc(2 + (lengthBytes === 1 ? 0 : lengthBytes))
  head[0] = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode
  head[1] = (isMasked ? 0x80 : 0) | (lengthBytes === 1 ? Number(length) : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) head.writeUInt16BE(Number(length), 2)
  if (lengthBytes === 8) head.writeBigUInt64BE(length, 2)
  if (!isMasked) return Buffer.concat([head, bytes])
  const key = mask === 'zero' ? Buffer.alloc(4) : usualMask
  return Buffer.concat([head, key, bytes.map((byte, place) => byte ^ (key[place % 4] ?? 0))])
}

/** A message in fragments, cut at these places. */
export function fragments(opcode: number, payload: string | Uint8Array, ...cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(payload as Uint8Array)
  const ends = [...cuts, bytes.length]
  return ends.map((end, place) =>
    frame({
      opcode: place === 0 ? opcode : opcodes.more,
      payload: bytes.subarray(cuts[place - 1] ?? 0, end),
      isFinal: place === ends.length - 1,
    }),
  )
}

export function closeFrame(code?: number, reason: string | Uint8Array = ''): Buffer {
  if (code === undefined) return frame({ opcode: opcodes.close })
  const payload = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason as Uint8Array)])
  return frame({ opcode: opcodes.close, payload })
}

export interface HeardFrame {
  readonly opcode: number
  readonly payload: Buffer
}

/** The lines of a handshake that is in order, by name; a test replaces or takes away some. RFC 6455 §4.1. */
export const handshakeLines: Readonly<Record<string, string | readonly string[] | undefined>> = {
  Host: 'localhost',
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

export function handshake(path: string, lines: typeof handshakeLines = {}): string {
  const all = Object.entries({ ...handshakeLines, ...lines }).flatMap(([name, value]) =>
    (value === undefined ? [] : [value].flat()).map((each) => `${name}: ${each}\r\n`),
  )
  return `GET /api/v1${path} HTTP/1.1\r\n${all.join('')}\r\n`
}

/** A websocket that sends what it is told to, well formed or not, and writes down the frames that it hears. */
export class RawWebsocket {
  readonly #socket: Socket
  readonly frames: HeardFrame[] = []
  /** The answer to the handshake. */
  head = ''
  isClosed = false
  #rest = Buffer.alloc(0)

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true)
    // A reset is a way of being closed.
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.isClosed = true
    })
    this.#socket.on('data', (bytes) => this.#take(bytes))
  }

  static async open(port: number, path: string, lines: typeof handshakeLines = {}): Promise<RawWebsocket> {
    const websocket = new RawWebsocket(port).send(handshake(path, lines))
    if ((await websocket.status()) !== 101) throw new Error(`the handshake was refused: ${websocket.head}`)
    return websocket
  }

  get isWritable(): boolean {
    return this.#socket.writable
  }

  send(bytes: string | Uint8Array): this {
    if (this.isWritable) this.#socket.write(bytes)
    return this
  }

  /** Of the answer to the handshake. */
  async status(): Promise<number> {
    await until(() => this.head !== '' || this.isClosed, 'an answer to a handshake')
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.head)?.[1] ?? 0)
  }

  of(opcode: number): HeardFrame[] {
    return this.frames.filter((heard) => heard.opcode === opcode)
  }

  /** Of the close frame that came; undefined before one has. */
  get closeCode(): number | undefined {
    const [closing] = this.of(opcodes.close)
    // RFC 6455 §7.1.5: none was given.
    return closing && (closing.payload.length === 0 ? 1005 : closing.payload.readUInt16BE(0))
  }

  cut(): void {
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    if (this.head === '') {
      const end = this.#rest.indexOf('\r\n\r\n')
      if (end < 0) return
      this.head = this.#rest.toString('latin1', 0, end + 4)
      this.#rest = this.#rest.subarray(end + 4)
    }
    for (let next = this.#next(); next; next = this.#next()) this.frames.push(next)
  }

  /** What we are sent is not masked, and whole in one frame. */
  #next(): HeardFrame | undefined {
    const rest = this.#rest
    if (rest.length < 2) return undefined
    const short = (rest[1] ?? 0) & 0x7f
    const begin = short < 126 ? 2 : short === 126 ? 4 : 10
    if (rest.length < begin) return undefined
    const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2))
    if (rest.length < begin + length) return undefined
    this.#rest = rest.subarray(begin + length)
    return { opcode: (rest[0] ?? 0) & 0x0f, payload: rest.subarray(begin, begin + length) }
  }
}
