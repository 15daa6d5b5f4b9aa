import { connect, type Socket } from 'node:net'
import { until } from '#test/blackbox/until'

/** The opcodes of RFC 6455 §5.2. `more` is a continuation. */
export const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface FrameParts {
  readonly opcode: number
  readonly payload?: string | Uint8Array
  /** True by default. */
  readonly isFinal?: boolean
  /** The three reserved bits. RSV1 is the highest of them. */
  readonly reserved?: number
  /** By default a mask without zeros. Only servers may send `none`. */
  readonly mask?: 'zero' | 'none'
  /** The size of the length field; by default the shortest. */
  readonly lengthBytes?: 1 | 2 | 8
  /** The value of the length field; by default the correct one. */
  readonly length?: bigint
}

const defaultMask = Buffer.from([0x37, 0xfa, 0x21, 0x3d])

/** A client frame. */
export function frame({ opcode, payload = '', isFinal = true, reserved = 0, mask, ...lengths }: FrameParts): Buffer {
  const bytes = Buffer.from(payload as Uint8Array)
  const length = lengths.length ?? BigInt(bytes.length)
  const lengthBytes = lengths.lengthBytes ?? (length < 126n ? 1 : length < 65_536n ? 2 : 8)
  const isMasked = mask !== 'none'
  const head = Buffer.alloc(2 + (lengthBytes === 1 ? 0 : lengthBytes))
  head[0] = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode
  head[1] = (isMasked ? 0x80 : 0) | (lengthBytes === 1 ? Number(length) : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) head.writeUInt16BE(Number(length), 2)
  if (lengthBytes === 8) head.writeBigUInt64BE(length, 2)
  if (!isMasked) return Buffer.concat([head, bytes])
  const key = mask === 'zero' ? Buffer.alloc(4) : defaultMask
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

export interface ReceivedFrame {
  readonly opcode: number
  readonly payload: Buffer
}

/** The headers of a valid handshake, of which tests replace or remove some. RFC 6455 §4.1. */
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

/** A websocket client that sends any bytes, and records received frames. */
export class RawWebsocket {
  readonly #socket: Socket
  readonly frames: ReceivedFrame[] = []
  /** The answer to the handshake. */
  head = ''
  isClosed = false
  #rest = Buffer.alloc(0)

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true)
    // A reset is followed by `close`.
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

  /** The status of the answer to the handshake. */
  async status(): Promise<number> {
    await until(() => this.head !== '' || this.isClosed, 'an answer to a handshake')
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.head)?.[1] ?? 0)
  }

  of(opcode: number): ReceivedFrame[] {
    return this.frames.filter((each) => each.opcode === opcode)
  }

  /** The code of the close frame; undefined before it is received. */
  get closeCode(): number | undefined {
    const [closing] = this.of(opcodes.close)
    // A close frame without a code has this code. RFC 6455 §7.1.5.
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

  /** Reads the frames of the server, which are not masked and not fragmented. */
  #next(): ReceivedFrame | undefined {
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
