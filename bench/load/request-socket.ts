import { connect, type Socket } from 'node:net'

export interface RequestSocketOptions {
  readonly port: number
  /** The whole answer has come, and it was 200. */
  readonly answered: (socket: RequestSocket) => void
  readonly failed: (error: Error) => void
}

const headEnd = '\r\n\r\n'
const lengthPattern = /^content-length: (\d+)\r$/im

/** A kept-alive connection on which one request follows the other's answer; costs less than a client of HTTP. */
export class RequestSocket {
  readonly #socket: Socket
  readonly #options: RequestSocketOptions
  #answer = ''

  private constructor(socket: Socket, options: RequestSocketOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('data', (bytes) => this.#hear(bytes))
    socket.on('error', (error) => options.failed(error))
    socket.on('close', () => options.failed(closedError()))
  }

  static open(options: RequestSocketOptions): Promise<RequestSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: options.port, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new RequestSocket(socket, options)))
    })
  }

  /** A whole request; the one before has been answered. */
  ask(request: Buffer): void {
    // Perhaps while nobody listened, since it was left alone for too long: nothing would be heard of it any more.
    if (this.#socket.destroyed) this.#options.failed(closedError())
    else this.#socket.write(request)
  }

  #hear(bytes: Buffer): void {
    // One character a byte: lengths are those of bytes.
    this.#answer += bytes.toString('latin1')
    const answer = this.#answer
    const end = answer.indexOf(headEnd)
    if (end < 0) return
    const length = Number(lengthPattern.exec(answer)?.[1])
    if (answer.length < end + headEnd.length + length) return
    this.#answer = ''
    if (answer.startsWith('HTTP/1.1 200 ')) this.#options.answered(this)
    else this.#options.failed(new Error(`a request was answered ${answer.slice(0, 500)}`))
  }
}

function closedError(): Error {
  return new Error('the server closed a connection')
}
