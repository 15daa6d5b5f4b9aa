import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { clientFrame, opcodes } from '#bench/load/frames'

export interface RawSocketOptions {
  readonly port: number
  readonly path: string
  readonly protocol?: string
  readonly authorization?: string | undefined
  /** Bytes behind the upgrade's answer; only lent during the call. */
  readonly received: (bytes: Buffer) => void
  readonly closed?: () => void
  /** Where it comes from; all of 127.0.0.0/8 is this machine. */
  readonly localAddress?: string
  /** Read in pieces of at most this; the buffer is shared by all sockets of the same size. */
  readonly readBytes?: number
}

const readBytesDefault = 256 * 1024
/** Reading and hearing happen in one go, so one buffer serves every socket of this thread. */
const readBuffers = new Map<number, Buffer>()

/** A websocket of which only the upgrade is ours to see to: what comes behind it is handed on as bytes. */
export class RawSocket {
  readonly #socket: Socket
  #isUpgraded = false
  #head = ''

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Resolves when it is open; rejects with what the server answered instead. */
  static open(options: RawSocketOptions): Promise<RawSocket> {
    return new Promise((resolve, reject) => {
      const raw = new RawSocket(
        connect({
          host: '127.0.0.1',
          port: options.port,
          noDelay: true,
          ...(options.localAddress !== undefined && { localAddress: options.localAddress }),
          onread: {
            buffer: readBufferOf(options.readBytes ?? readBytesDefault),
            callback: (count, bytes) => {
              const heard = (bytes as Buffer).subarray(0, count)
              if (raw.#isUpgraded) options.received(heard)
              else raw.#upgrade(heard, options, () => resolve(raw), reject)
              return true
            },
          },
        }),
      )
      const socket = raw.#socket
      socket.once('connect', () => socket.write(upgradeOf(options)))
      socket.once('error', reject)
      socket.on('error', () => {})
      socket.once('close', () => {
        reject(new Error(`the server closed ${options.path}`))
        options.closed?.()
      })
    })
  }

  /** Whole frames; the bytes must not change any more. */
  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  pong(payload: Uint8Array): void {
    this.#socket.write(clientFrame(payload, opcodes.pong))
  }

  /** As a browser does it whose page hangs. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
  }

  #upgrade(bytes: Buffer, { path, received }: RawSocketOptions, opened: () => void, failed: (error: Error) => void) {
    this.#head += bytes.toString('latin1')
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!this.#head.startsWith('HTTP/1.1 101')) {
      failed(new Error(`${path}: ${this.#head.slice(0, 300)}`))
      this.close()
      return
    }
    this.#isUpgraded = true
    opened()
    const rest = Buffer.from(this.#head.slice(end + 4), 'latin1')
    this.#head = ''
    if (rest.length > 0) received(rest)
  }
}

function upgradeOf({ port, path, protocol, authorization }: RawSocketOptions): string {
  return [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    '\r\n',
  ].join('\r\n')
}

function readBufferOf(size: number): Buffer {
  const buffer = readBuffers.get(size) ?? Buffer.allocUnsafeSlow(size)
  readBuffers.set(size, buffer)
  return buffer
}
