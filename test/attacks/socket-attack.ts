import { pack } from 'msgpackr'
import { canaryName } from '#test/attacks/http-attack'
import { frame, type handshakeLines, opcodes, RawWebsocket } from '#test/attacks/raw-websocket'
import { until } from '#test/blackbox/until'

/** One of the websockets that the server speaks, and a message on it that is answered. */
export interface Spoken {
  readonly path: string
  readonly lines: typeof handshakeLines
  /** Of its messages. */
  readonly opcode: number
  /** What is answered, in exactly so many bytes where a number is given. `text`: to be carried in it. */
  message(bytes?: number, text?: string): Buffer
  /** The same, and it would leave something behind. */
  canary(): Buffer
  /** Whether this is the answer. */
  isAnswer(payload: Buffer): boolean
  /** Whether this refuses what is no message, and the socket goes on; without it such a one ends the socket with 4400. */
  isRefusal?(payload: Buffer): boolean
  /** The largest message that is read, and answered. */
  readonly bytesMax: number
  /** The largest that is refused in words of ours. */
  readonly payloadBytesMax: number
}

const ofLink = (name: string, value: string | Uint8Array) => ({
  type: 'HELLO',
  deviceIdentifier: name,
  services: [{ serviceIdentifier: 's', properties: [{ propId: 1, type: 'STRING', value }] }],
})
/** A declaration of nothing is short enough for every length that is asked for. */
const ofNothing = (name: string) => ({ type: 'HELLO', deviceIdentifier: name, services: [] })
const valueMax = 60_000

export type SpokenName = 'events' | 'link in JSON' | 'link in msgpack'

export const spoken: Readonly<Record<SpokenName, Spoken>> = {
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
      Buffer.from(JSON.stringify(text === '' ? ofNothing('JSON') : ofLink('JSON', text)).padEnd(bytes)),
    canary: () => Buffer.from(JSON.stringify(ofLink(canaryName, ''))),
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
    canary: () => pack(ofLink(canaryName, '')),
    isAnswer: (payload) => payload.includes('WELCOME'),
    isRefusal: (payload) => payload.includes('BAD_MESSAGE'),
    bytesMax: 256 * 1024,
    payloadBytesMax: 256 * 1024,
  },
}

/** A declaration with texts until it is as long as wanted; of a longer name where lengths of lengths leave a gap. */
function packed(bytes: number, text: string): Buffer {
  for (const name of ['MSGPACK', 'MSGPACK-2']) {
    const hello = (length: number) => {
      const values = Array.from({ length: Math.max(1, Math.ceil(length / valueMax)) }, (_, place) =>
        'x'.repeat(Math.min(valueMax, length - place * valueMax)),
      )
      const properties = values.map((value, place) => ({ propId: place, type: 'STRING', value: text + value }))
      return pack({ ...ofLink(name, ''), services: [{ serviceIdentifier: 's', properties }] })
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
 * What is sent over a socket of its own, and what must come of it.
 *
 * `end`: `serves`: a message is answered behind it; a number: a close frame with this code, and the end of the connection;
 * `cut`: the end of the connection without one (RFC 6455 §7.1.7 lets either); `waits`: none, though all of it was read.
 */
export interface SocketAttack {
  readonly what: string
  /** A list: in pieces, each when the one before has been read. */
  readonly sent: Uint8Array | readonly Uint8Array[]
  readonly end: 'serves' | 'cut' | 'waits' | number
  /** How many messages are answered before. Default none where it serves; else it is chance whether one still leaves. */
  readonly answers?: number
  /** How many are refused before, in words. Default none. */
  readonly refusals?: number
  /** What pings are answered with. Default none. */
  readonly pongs?: readonly string[]
}

export interface SocketOutcome {
  readonly end: SocketAttack['end']
  readonly answers: number
  readonly refusals: number
  readonly pongs: readonly string[]
  /** Frames behind a close frame, of which there may be none. RFC 6455 §5.5.1. */
  readonly behindClose: number
}

/** Longer than the server takes to read a piece; nothing is decided by it. */
const pauseMs = 5

/** A socket that is not closed counts as serving when a message is answered, behind everything that was answered before. */
export async function attemptOn(
  port: number,
  { path, lines, ...spoke }: Spoken,
  row: SocketAttack,
): Promise<SocketOutcome> {
  const websocket = await RawWebsocket.open(port, path, lines)
  const messages = () => websocket.of(spoke.opcode)
  const answers = () => messages().filter(({ payload }) => spoke.isAnswer(payload))
  const refusals = () => messages().filter(({ payload }) => spoke.isRefusal?.(payload))
  try {
    const pieces = row.sent instanceof Uint8Array ? [row.sent] : row.sent
    for (const [place, piece] of pieces.entries()) {
      // Of many each is a packet of its own all the same.
      if (place > 0)
        await new Promise((resolve) => (pieces.length > 10 ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
      websocket.send(piece)
    }
    const fence = Buffer.from(`fence ${++fences}`)
    const isFenced = () => websocket.of(opcodes.pong).some(({ payload }) => payload.equals(fence))
    if (row.end === 'serves') {
      websocket.send(frame({ opcode: opcodes.ping, payload: fence }))
      const isHeard = () =>
        isFenced() && answers().length >= (row.answers ?? 0) && refusals().length >= (row.refusals ?? 0)
      await until(
        () => websocket.isClosed || isHeard(),
        () => `answers on ${path}`,
      )
      const before = answers().length
      websocket.send(frame({ opcode: spoke.opcode, payload: spoke.message() }))
      await until(
        () => websocket.isClosed || answers().length > before,
        () => `a last answer on ${path}`,
      )
      const isServing = answers().length > before
      if (isServing) return seen('serves', before)
    } else if (row.end === 'waits') {
      // Whoever is answered behind it shows that it has been read: no ping can be sent inside of a frame.
      for (let time = 0; time < 3; time++) (await RawWebsocket.open(port, path, lines)).cut()
      if (!websocket.isClosed) return seen('waits', answers().length)
    } else
      await until(
        () => websocket.isClosed,
        () => `the end of a socket on ${path}`,
      )
    return seen(websocket.closeCode ?? 'cut', answers().length)

    function seen(end: SocketAttack['end'], count: number): SocketOutcome {
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
