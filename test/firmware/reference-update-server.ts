import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A received query. */
interface ReceivedQuery {
  readonly project: string
  /** Decoded from the path: `<tenant>/<device>` for another tenant. */
  readonly device: string
  readonly firmware: string
  readonly hardware: string | null
  readonly index: number
  readonly authorization: string | undefined
}

/**
 * An answer: the JSON of an offer, `none` for no update, a status with headers, a text as JSON, or a way not to answer.
 */
export type UpdateServerAnswer =
  | { readonly offer: object }
  | 'none'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly text?: string }
  | { readonly text: string }
  | 'silence'
  | 'half an answer'
  | 'endless'
  | 'reset'

/** An update server with scripted answers. Contract 6, External. */
export class ReferenceUpdateServer {
  readonly queries: ReceivedQuery[] = []
  /** The answer to each query. */
  answerTo: (query: ReceivedQuery) => UpdateServerAnswer = () => 'none'
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async open(): Promise<ReferenceUpdateServer> {
    const server = new ReferenceUpdateServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get connections(): number {
    return this.#sockets.size
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const query = queryOf(request)
    if (!query) {
      response.writeHead(404).end()
      return
    }
    this.queries.push(query)
    const answer = this.answerTo(query)
    if (typeof answer !== 'string') this.#send(answer, response)
    else this.#misbehave(answer, request.socket, response)
  }

  #send(answer: Exclude<UpdateServerAnswer, string>, response: ServerResponse): void {
    const json = { 'content-type': 'application/json' }
    if ('offer' in answer) response.writeHead(200, json).end(JSON.stringify(answer.offer))
    else if ('status' in answer) response.writeHead(answer.status, answer.headers).end(answer.text)
    else response.writeHead(200, json).end(answer.text)
  }

  #misbehave(answer: Extract<UpdateServerAnswer, string>, socket: Socket, response: ServerResponse): void {
    switch (answer) {
      case 'none':
        response.writeHead(204).end()
        return
      case 'silence':
        return
      case 'half an answer':
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"firmware":', () => socket.destroy())
        return
      case 'endless':
        response.writeHead(200)
        this.#writeMore(response)
        return
      case 'reset':
        socket.resetAndDestroy()
    }
  }

  #writeMore(response: ServerResponse): void {
    if (response.destroyed) return
    response.write(' '.repeat(16_384), () => this.#writeMore(response))
  }
}

function queryOf({ method, url, headers }: IncomingMessage): ReceivedQuery | undefined {
  const { pathname, searchParams } = new URL(url ?? '', 'http://host')
  const [, project, device] = /^\/(?:api\/)?projects\/([^/]+)\/devices\/([^/]+)\/update$/.exec(pathname) ?? []
  const [firmware, index] = [searchParams.get('firmware'), searchParams.get('index')]
  if (method !== 'GET' || !project || !device || firmware === null || index === null) return undefined
  return {
    project: decodeURIComponent(project),
    device: decodeURIComponent(device),
    firmware,
    hardware: searchParams.get('hardware'),
    index: Number(index),
    authorization: headers.authorization,
  }
}
