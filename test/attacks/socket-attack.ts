import { pack } from 'msgpackr'
import { canaryName } from '#test/attacks/http-attack'
import { frame, type handshakeLines, opcodes, RawWebsocket } from '#test/attacks/raw-websocket'
import { until } from '#test/blackbox/until'

/** A websocket protocol of the server, with a message that is answered. */
export interface TestedProtocol {
  readonly path: string
  readonly lines: typeof handshakeLines
  /** The opcode of its messages. */
  readonly opcode: number
  /** A message that is answered, with exactly this size and with this text. */
  message(bytes?: number, text?: string): Buffer
  /** A message that would create a device, if the protocol has devices. */
  canary(): Buffer
  /** Whether this message is the answer. */
  isAnswer(payload: Buffer): boolean
  /** Whether this message refuses an invalid message. Without this method, invalid ones close the socket with 4400. */
  isRefusal?(payload: Buffer): boolean
  /** The size of the largest answered message. */
  readonly bytesMax: number
  /** The size of the largest message that is refused with a reason. */
  readonly payloadBytesMax: number
}

const helloWith = (name: string, value: string | Uint8Array) => ({
  type: 'HELLO',
  deviceIdentifier: name,
  services: [{ serviceIdentifier: 's', properties: [{ propId: 1, type: 'STRING', value }] }],
})
/** An empty declaration, which is shorter than every tested size. */
const emptyHello = (name: string) => ({ type: 'HELLO', deviceIdentifier: name, services: [] })
const valueMax = 60_000

type ProtocolName = 'events' | 'link in JSON' | 'link in msgpack'

export const protocols: Readonly<Record<ProtocolName, TestedProtocol>> = {
  events: {
    path: '/events',
    lines: {},
    opcode: opcodes.text,
    message: (bytes = 0, text = '') => Buffer.from(JSON.stringify({ type: 'PING', text }).padEnd(bytes)),
    canary: () => Buffer.from('{"type":"PING"}'),
    isAnswer: (payload) => payload.includes('"PONG"'),
    bytesMax: 4096,
    payloadBytesMax: 256 * 1024,
  },
  'link in JSON': {
    path: '/link',
    lines: { 'Sec-WebSocket-Protocol': 'link.v1.json' },
    opcode: opcodes.text,
    message: (bytes = 0, text = '') =>
      Buffer.from(JSON.stringify(text === '' ? emptyHello('JSON') : helloWith('JSON', text)).padEnd(bytes)),
    canary: () => Buffer.from(JSON.stringify(helloWith(canaryName, ''))),
    isAnswer: (payload) => payload.includes('"WELCOME"'),
    isRefusal: (payload) => payload.includes('"BAD_MESSAGE"'),
    bytesMax: 256 * 1024,
    payloadBytesMax: 256 * 1024,
  },
  'link in msgpack': {
    path: '/link',
    lines: { 'Sec-WebSocket-Protocol': 'link.v1.msgpack' },
    opcode: opcodes.binary,
    message: (bytes = 0, text = '') => packed(bytes, text),
    canary: () => pack(helloWith(canaryName, '')),
    isAnswer: (payload) => payload.includes('WELCOME'),
    isRefusal: (payload) => payload.includes('BAD_MESSAGE'),
    bytesMax: 256 * 1024,
    payloadBytesMax: 256 * 1024,
  },
}

/** A declaration padded to this size. A longer name fills gaps that length prefixes leave. */
function packed(bytes: number, text: string): Buffer {
  for (const name of ['MSGPACK', 'MSGPACK-2']) {
    const hello = (length: number) => {
      const values = Array.from({ length: Math.max(1, Math.ceil(length / valueMax)) }, (_, place) =>
        'x'.repeat(Math.min(valueMax, length - place * valueMax)),
      )
      const properties = values.map((value, place) => ({ propId: place, type: 'STRING', value: text + value }))
      return pack({ ...helloWith(name, ''), services: [{ serviceIdentifier: 's', properties }] })
    }
    if (bytes <= hello(0).length) return hello(0)
    for (let length = bytes - hello(0).length; length >= 0; length--) {
      const message = hello(length)
      if (message.length === bytes) return message
      if (message.length < bytes - 80) break
    }
  }
  throw new RangeError(`no message of ${bytes} bytes`)
}

/**
 * Bytes that are sent over a new socket, and the expected outcome.
 *
 * `end` is `serves` if a later message is answered, a number for a close frame with this code, `cut` for the end of the
 * connection without one (RFC 6455 §7.1.7 allows both), or `waits` if the socket stays open.
 */
export interface SocketAttack {
  readonly name: string
  /** The pieces of a list are sent one after the other, with pauses. */
  readonly sent: Uint8Array | readonly Uint8Array[]
  readonly end: 'serves' | 'cut' | 'waits' | number
  /** The number of answers before the end. The default is 0 for `serves`, and any number otherwise. */
  readonly answers?: number
  /** The number of refusals before the end; by default 0. */
  readonly refusals?: number
  /** The payloads of the pongs; by default none. */
  readonly pongs?: readonly string[]
}

export interface SocketOutcome {
  readonly end: SocketAttack['end']
  readonly answers: number
  readonly refusals: number
  readonly pongs: readonly string[]
  /** The number of frames after a close frame, which must be 0. RFC 6455 §5.5.1. */
  readonly behindClose: number
}

/** The pause between pieces, long enough to read one. No result depends on it. */
const pauseMs = 5

/** Sends a row and returns the outcome. An open socket counts as serving if it answers another message. */
export async function attemptOn(
  port: number,
  { path, lines, ...protocol }: TestedProtocol,
  row: SocketAttack,
): Promise<SocketOutcome> {
  const websocket = await RawWebsocket.open(port, path, lines)
  const messages = () => websocket.of(protocol.opcode)
  const answers = () => messages().filter(({ payload }) => protocol.isAnswer(payload))
  const refusals = () => messages().filter(({ payload }) => protocol.isRefusal?.(payload))
  try {
    const pieces = row.sent instanceof Uint8Array ? [row.sent] : row.sent
    const pongs = () => websocket.of(opcodes.pong).length
    for (const [place, piece] of pieces.entries()) {
      // The server does not answer a ping that it reads together with the end.
      if (row.end === 'cut' && row.pongs && place === pieces.length - 1)
        await until(() => websocket.isClosed || pongs() > 0, `a pong on ${path}`)
      // With many pieces, one turn of the event loop is enough to send each as a separate packet.
      if (place > 0)
        await new Promise((resolve) => (pieces.length > 10 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
      websocket.send(piece)
    }
    const fence = Buffer.from(`fence ${++fences}`)
    const isFenced = () => websocket.of(opcodes.pong).some(({ payload }) => payload.equals(fence))
    if (row.end === 'serves') {
      websocket.send(frame({ opcode: opcodes.ping, payload: fence }))
      const isAnswered = () =>
        isFenced() && answers().length >= (row.answers ?? 0) && refusals().length >= (row.refusals ?? 0)
      await until(() => websocket.isClosed || isAnswered(), `answers on ${path}`)
      const before = answers().length
      websocket.send(frame({ opcode: protocol.opcode, payload: protocol.message() }))
      await until(() => websocket.isClosed || answers().length > before, `a last answer on ${path}`)
      if (answers().length > before) return outcomeOf('serves', before)
    } else if (row.end === 'waits') {
      // The server answers later handshakes after it has read the row. A ping is impossible within a frame.
      for (let time = 0; time < 3; time++) (await RawWebsocket.open(port, path, lines)).cut()
      if (!websocket.isClosed) return outcomeOf('waits', answers().length)
    } else {
      await until(() => websocket.isClosed, `the end of a socket on ${path}`)
    }
    return outcomeOf(websocket.closeCode ?? 'cut', answers().length)

    function outcomeOf(end: SocketAttack['end'], count: number): SocketOutcome {
      const pongs = websocket.of(opcodes.pong).filter(({ payload }) => !payload.equals(fence))
      const closedAt = websocket.frames.findIndex(({ opcode }) => opcode === opcodes.close)
      return {
        end,
        answers: count,
        refusals: refusals().length,
        pongs: pongs.map(({ payload }) => payload.toString('latin1')),
        behindClose: closedAt < 0 ? 0 : websocket.frames.length - 1 - closedAt,
      }
    }
  } finally {
    websocket.cut()
  }
}

let fences = 0
