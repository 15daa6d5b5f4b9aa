import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export type Answer = (response: ServerResponse, request: IncomingMessage) => void

export interface ReceivedRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  /** Names in lower case. */
  readonly lines: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** An HTTP server that a test answers for. It records the requests that arrive completely. */
export class RecordingServer {
  readonly received: ReceivedRequest[] = []
  readonly server: Server
  answer: Answer
  port = 0

  private constructor(answer: Answer) {
    this.answer = answer
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        const { method = '', url: target = '', headers, rawHeaders } = request
        const lines = rawHeaders.flatMap((name, index) =>
          index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as const] : [],
        )
        this.received.push({ method, target, headers, lines, body: Buffer.concat(pieces).toString() })
        this.answer(response, request)
      })
    })
  }

  static async open(answer: Answer = (response) => response.end()): Promise<RecordingServer> {
    const opened = new RecordingServer(answer)
    await new Promise<void>((listening) => opened.server.listen(0, '127.0.0.1', listening))
    opened.port = (opened.server.address() as AddressInfo).port
    return opened
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  close(): Promise<unknown> {
    this.server.closeAllConnections()
    return new Promise((closed) => this.server.close(closed))
  }
}
