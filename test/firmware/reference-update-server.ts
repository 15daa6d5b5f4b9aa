import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What the server was asked. */
export interface AskedForUpdate {
  readonly project: string
  /** As it stood in the path, decoded: that of another tenant is `<tenant>/<device>`. */
  readonly device: string
  readonly firmware: string
  readonly hardware: string | null
  readonly index: number
  readonly authorization: string | undefined
}

/**
 * How it answers: an offer as its JSON; nothing newer; a status with headers; a text that is said to be the JSON; or one
 * of the ways in which a server does not answer.
 */
export type Answering =
  | { readonly offer: object }
  | 'none'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly text?: string }
  | { readonly text: string }
  | 'silence'
  | 'half an answer'
  | 'endless'
  | 'reset'

/** An update server by the contract, which answers as it is told to. Contract 6, External. */
export class ReferenceUpdateServer {
  readonly asked: AskedForUpdate[] = []
  /** Of each question: a table of a test, or a real fleet's releases. */
  answering: (asked: AskedForUpdate) => Answering = () => 'none'
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
    const asked = askedBy(request)
    if (!asked) {
      response.writeHead(404).end()
      return
    }
    this.asked.push(asked)
    const answering = this.answering(asked)
    if (typeof answering !== 'string') this.#say(answering, response)
    else this.#misbehave(answering, request.socket, response)
  }

  #say(answering: Exclude<Answering, string>, response: ServerResponse): void {
    const json = { 'content-type': 'application/json' }
    if ('offer' in answering) response.writeHead(200, json).end(JSON.stringify(answering.offer))
    else if ('status' in answering) response.writeHead(answering.status, answering.headers).end(answering.text)
    else response.writeHead(200, json).end(answering.text)
  }

  #misbehave(answering: Extract<Answering, string>, socket: Socket, response: ServerResponse): void {
    switch (answering) {
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
        this.#sayMore(response)
        return
      case 'reset':
        socket.resetAndDestroy()
    }
  }

  #sayMore(response: ServerResponse): void {
    if (response.destroyed) return
    response.write(' '.repeat(16_384), () => this.#sayMore(response))
  }
}

function askedBy({ method, url, headers }: IncomingMessage): AskedForUpdate | undefined {
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
