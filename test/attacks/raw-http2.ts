import { connect } from 'node:tls'
import { until } from '#test/blackbox/until'

/** Frames by hand, because libraries refuse to send invalid ones. RFC 9113 §4.1, §6. */
const frameTypes = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7 } as const
const [endStream, endHeaders] = [1, 4]

export interface Http2Post {
  readonly authority: string
  readonly path: string
  /** In this order, unchecked, with up to 127 bytes per name and value. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** How a request ended: with an answer, a reset of its stream, or the end of its connection. */
export type Http2End = 'answered' | 'reset' | 'closed'

/** Sends a POST in HTTP/2 over TLS with unchecked headers. */
export async function postByHttp2(port: number, servername: string, asked: Http2Post): Promise<Http2End> {
  const socket = connect({ port, servername, rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  socket.on('error', () => {})
  let received = Buffer.alloc(0)
  let isClosed = false
  socket.on('data', (piece: Buffer) => {
    received = Buffer.concat([received, piece])
  })
  socket.once('close', () => {
    isClosed = true
  })
  await new Promise((resolve) => socket.once('secureConnect', resolve))
  socket.write(
    Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      frame(frameTypes.settings, 0, 0, Buffer.alloc(0)),
      frame(frameTypes.headers, endHeaders, 1, headersOf(asked)),
      frame(frameTypes.data, endStream, 1, Buffer.from(asked.body, 'latin1')),
    ]),
  )
  const endOf = (): Http2End | undefined => {
    const frames = framesIn(received)
    if (isClosed || frames.some(({ type }) => type === frameTypes.goAway)) return 'closed'
    // A reset after an answer only discards the rest of the body.
    if (frames.some(({ type, flags }) => type <= frameTypes.headers && flags & endStream)) return 'answered'
    return frames.some(({ type }) => type === frameTypes.reset) ? 'reset' : undefined
  }
  await until(
    () => endOf() !== undefined,
    () => `an end of ${received.toString('hex').slice(0, 500)}`,
  )
  socket.destroy()
  return endOf() ?? 'closed'
}

/** HPACK with static entries only for `POST`, `https`, path and authority. RFC 7541 §6, appendix A. */
function headersOf({ authority, path, headers }: Http2Post): Buffer {
  const more = headers.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)])
  return Buffer.concat([Buffer.of(0x83, 0x87, 0x04), text(path), Buffer.of(0x01), text(authority), ...more])
}

function text(all: string): Buffer {
  return Buffer.concat([Buffer.of(all.length), Buffer.from(all, 'latin1')])
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt16BE((type << 8) | flags, 3)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function framesIn(bytes: Buffer): readonly { readonly type: number; readonly flags: number }[] {
  const frames: { type: number; flags: number }[] = []
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    frames.push({ type: bytes.readUInt8(at + 3), flags: bytes.readUInt8(at + 4) })
  }
  return frames
}
