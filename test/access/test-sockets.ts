import type { Socket, SocketPublisher } from '#runtime/socket'

/** The part of the server that receives the events of a socket. */
interface TestSocketHandler {
  ponged(socket: TestSocket): void
  closed(socket: TestSocket): void
}

/** An event socket without filters that records its messages. */
export class TestSocket implements Socket {
  readonly remoteAddress = '127.0.0.1'
  readonly received: { readonly type: string; readonly [field: string]: unknown }[] = []
  readonly topics = new Set<string>()
  /** The close code; undefined while the socket is open. */
  endCode: number | undefined
  readonly #handler: TestSocketHandler

  constructor(handler: TestSocketHandler) {
    this.#handler = handler
  }

  send(message: string | Uint8Array): boolean {
    this.received.push(JSON.parse(typeof message === 'string' ? message : Buffer.from(message).toString()))
    return true
  }

  cork(task: () => void): void {
    task()
  }

  bufferedBytes(): number {
    return 0
  }

  subscribe(topic: string): void {
    this.topics.add(topic)
  }

  unsubscribe(topic: string): void {
    this.topics.delete(topic)
  }

  /** Answers the ping at once, so that the server keeps the socket open. */
  ping(): void {
    this.#handler.ponged(this)
  }

  end(code: number): void {
    if (this.endCode !== undefined) return
    this.endCode = code
    this.#handler.closed(this)
  }

  get types(): readonly string[] {
    return this.received.map(({ type }) => type)
  }
}

/** The open sockets, and the topics that they receive. */
export class TestSockets implements SocketPublisher {
  readonly open = new Set<TestSocket>()

  publish(topic: string, message: string | Uint8Array): void {
    for (const socket of this.open) if (socket.topics.has(topic)) socket.send(message)
  }

  add(handler: TestSocketHandler): TestSocket {
    const socket = new TestSocket({
      ponged: (ponging) => handler.ponged(ponging),
      closed: (ended) => {
        this.open.delete(ended)
        handler.closed(ended)
      },
    })
    this.open.add(socket)
    return socket
  }
}
