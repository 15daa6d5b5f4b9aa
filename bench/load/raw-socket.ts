import { connect, type Socket } from 'node:net'
import { clientFrame, frameReader, opcodes } from '#bench/load/frames'

export interface Step {
  readonly send: string | Uint8Array
  /** Length of the answer in the text (latin1); 0 while it is incomplete. Throws when the answer is a refusal. */
  readonly answered: (text: string) => number
}

interface SocketOptions {
  readonly port: number
  /** Receives bytes after the last answer; the buffer is reused after the call. */
  readonly received: (bytes: Buffer) => void
  readonly closed?: () => void
  /** All of 127.0.0.0/8 is this machine. */
  readonly localAddress?: string
  /** Maximum number of bytes in one read; all sockets with the same maximum share the buffer. */
  readonly readBytes?: number
  /** Time limit for the answer to a step; absent: no limit. */
  readonly answerMsMax?: number
}

interface Upgrade {
  readonly port: number
  readonly path: string
  readonly protocol?: string
  readonly authorization?: string | undefined
}

interface WebSocketOptions extends Upgrade, Omit<SocketOptions, 'received' | 'closed'> {
  /** Called for each message; the bytes are only valid during the call. */
  readonly onMessage: (bytes: Buffer, start: number, end: number, opcode: number) => void
  readonly onRead?: (() => void) | undefined
  /** Also called if the server refused the upgrade. `how`: the close code, or that there was none. */
  readonly closed: (how: string) => void
}

/** In the error of a step that was not answered in time. */
export const noAnswer = 'no answer'

const readBytesDefault = 256 * 1024
const readBuffers = new Map<number, Buffer>()

/** A TCP connection that executes the steps of a protocol, and passes on all later bytes. */
export class RawSocket {
  readonly #socket: Socket
  #text = ''
  #step = 0
  #isOpen = false

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /**
   * Opens a WebSocket, answers its pings, and passes on its messages. Rejects with the answer of a server that refuses
   * the upgrade.
   */
  static async open({ onMessage, onRead, closed, ...options }: WebSocketOptions): Promise<RawSocket> {
    let socket: RawSocket | undefined
    let how = 'cut without a close frame'
    const read = frameReader((bytes, start, end, opcode) => {
      if (opcode === opcodes.ping) socket?.write(clientFrame(bytes.subarray(start, end), opcodes.pong))
      else if (opcode === opcodes.close) how = `close ${end - start >= 2 ? bytes.readUInt16BE(start) : 1005}`
      else onMessage(bytes, start, end, opcode)
    })
    const received = (bytes: Buffer) => {
      read(bytes)
      onRead?.()
    }
    socket = await RawSocket.connect({ ...options, received, closed: () => closed(how) }, [upgradeStep(options)])
    return socket
  }

  /** Resolves when the last step is answered. */
  static connect(options: SocketOptions, steps: readonly Step[]): Promise<RawSocket> {
    return new Promise((resolve, reject) => {
      const { port, received, closed, localAddress, readBytes = readBytesDefault, answerMsMax = 0 } = options
      const callback = (count: number, bytes: Uint8Array) => {
        const read = (bytes as Buffer).subarray(0, count)
        if (raw.#isOpen) received(read)
        else answer(read)
        return true
      }
      const socket = connect({
        host: '127.0.0.1',
        port,
        noDelay: true,
        ...(localAddress !== undefined && { localAddress }),
        onread: { buffer: readBufferOf(readBytes), callback },
      })
      const raw = new RawSocket(socket)
      const next = () => {
        const step = steps[raw.#step]
        if (step) {
          socket.write(step.send)
          return
        }
        raw.#isOpen = true
        socket.setTimeout(0)
        resolve(raw)
        if (raw.#text !== '') received(Buffer.from(raw.#text, 'latin1'))
      }
      const answer = (bytes: Buffer) => {
        raw.#text += bytes.toString('latin1')
        try {
          const length = steps[raw.#step]?.answered(raw.#text) ?? 0
          if (length === 0) return
          raw.#text = raw.#text.slice(length)
          raw.#step++
          next()
        } catch (error) {
          reject(error)
          raw.close()
        }
      }
      const unanswered = (why: string) => new Error(`step ${raw.#step}: ${why} after ${raw.#text.slice(0, 300)}`)
      socket.setTimeout(answerMsMax, () => socket.destroy(unanswered(noAnswer)))
      socket.once('connect', next)
      socket.on('error', reject)
      socket.once('close', () => {
        reject(unanswered('the server closed the connection'))
        closed?.()
      })
    })
  }

  /** The bytes must not change after the call. */
  write(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** RFC 6455 §4.1. */
export function upgradeStep({ port, path, protocol, authorization }: Upgrade): Step {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    '\r\n',
  ]
  return {
    send: lines.join('\r\n'),
    answered(text) {
      const end = text.indexOf('\r\n\r\n')
      if (end >= 0 && !text.startsWith('HTTP/1.1 101')) throw new Error(`${path}: ${text.slice(0, 300)}`)
      return end < 0 ? 0 : end + 4
    },
  }
}

function readBufferOf(size: number): Buffer {
  const buffer = readBuffers.get(size) ?? Buffer.allocUnsafeSlow(size)
  readBuffers.set(size, buffer)
  return buffer
}
