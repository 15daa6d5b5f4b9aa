import { connect, type Socket } from 'node:net'

/** What is said at the beginning of a connection, and how the whole answer to it looks, as latin1. */
export interface Step {
  readonly send: string | Uint8Array
  readonly answered: Pick<RegExp, 'test'>
}

export interface PeerSocketOptions {
  readonly port: number
  readonly steps: readonly Step[]
  /** Bytes behind the last answer; only lent during the call. */
  readonly received: (bytes: Buffer) => void
  readonly closed: () => void
}

/** Reading and hearing happen in one go, so one buffer serves every socket of this thread. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)
const answerMsMax = 20_000

/** A connection of any protocol: introduces itself step by step, then hands on bytes. */
export class PeerSocket {
  readonly #socket: Socket
  #isOpen = false
  #text = ''
  #step = 0

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Rejects with what was answered instead. */
  static open(options: PeerSocketOptions): Promise<PeerSocket> {
    return new Promise((resolve, reject) => {
      const onread = {
        buffer: readBuffer,
        callback: (count: number) => {
          const heard = readBuffer.subarray(0, count)
          if (peer.#isOpen) options.received(heard)
          else if (peer.#introduce(heard, options.steps)) {
            clearTimeout(timer)
            resolve(peer)
          }
          return true
        },
      }
      const peer = new PeerSocket(connect({ host: '127.0.0.1', port: options.port, noDelay: true, onread }))
      const timer = setTimeout(() => {
        reject(new Error(`step ${peer.#step} was answered ${JSON.stringify(peer.#text.slice(0, 300))}`))
        peer.close()
      }, answerMsMax)
      peer.#socket.once('connect', () => peer.#socket.write(options.steps[0]?.send ?? ''))
      peer.#socket.once('error', reject)
      peer.#socket.on('error', () => {})
      peer.#socket.once('close', () => {
        clearTimeout(timer)
        reject(new Error(`the server closed after ${JSON.stringify(peer.#text.slice(0, 300))}`))
        options.closed()
      })
    })
  }

  /** The bytes must not change any more. */
  write(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  close(): void {
    this.#socket.destroy()
  }

  /** Whether the last step was answered. */
  #introduce(bytes: Buffer, steps: readonly Step[]): boolean {
    this.#text += bytes.toString('latin1')
    if (!steps[this.#step]?.answered.test(this.#text)) return false
    const next = steps[++this.#step]
    this.#isOpen = next === undefined
    this.#text = ''
    if (next) this.#socket.write(next.send)
    return this.#isOpen
  }
}
